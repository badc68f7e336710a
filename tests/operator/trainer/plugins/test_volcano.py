"""Volcano: the PodGroup, what pods carry, and what admission refuses."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import msgspec
import pytest

from shunter.api.meta import Json
from shunter.api.scheduling.podgroups import PodGroup
from shunter.kube.controllers.plan import Apply
from shunter.operator.trainer.plan import Observed, plan
from shunter.operator.trainer.plugins.volcano import TIER_NAME, Volcano
from shunter.operator.trainer.render import rendered, trainjob_warnings

Make = Callable[..., Any]
QUEUE = "scheduling.volcano.sh/queue-name"


@pytest.mark.parametrize(
    ("policy", "annotations", "pods", "wanted"),
    [
        pytest.param({}, {}, {}, {}, id="nothing said"),
        pytest.param({}, {QUEUE: "research"}, {}, {"queue": "research"}, id="queue of the template"),
        pytest.param(
            {},
            {},
            {"a": {"priorityClassName": "low"}, "node": {"priorityClassName": "high"}, "z": {}},
            {"priorityClassName": "high"},
            id="the last class",
        ),
        pytest.param(
            {"networkTopology": {"mode": "soft", "highestTierAllowed": 3}},
            {},
            {},
            {"networkTopology": {"mode": "soft", "highestTierAllowed": 3}},
            id="topology",
        ),
        pytest.param(
            {"networkTopology": {"mode": "hard", "highestTierAllowed": 1, "highestTierName": "rack"}},
            {},
            {},
            {"networkTopology": {"mode": "hard", "highestTierName": "rack"}},
            id="a tier by its name, which goes before the default number",
        ),
    ],
)
def test_a_volcano_group(
    make_trainjob: Make, runtime_of: Make, policy: Json, annotations: Json, pods: Json, wanted: Json
) -> None:
    runtime = runtime_of({"torch": {}}, groups={"volcano": policy}, annotations=annotations, **(pods or {"node": {}}))
    made = rendered(make_trainjob(), runtime)
    (group,) = made.objects
    assert group["apiVersion"] == "scheduling.volcano.sh/v1beta1"
    assert group["spec"] == {"minMember": len(pods) or 1, "minResources": {}, **wanted}
    template = made.jobset["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]
    assert template["metadata"]["annotations"] == {"scheduling.k8s.io/group-name": "mnist"}
    assert "schedulerName" not in template["spec"], "the runtime names the scheduler"


def test_a_patch_chooses_the_queue(make_trainjob: Make, runtime_of: Make) -> None:
    patch = {"template": {"metadata": {"annotations": {QUEUE: "mine"}}}}
    job = make_trainjob(runtimePatches=[{"manager": "a.io/b", "trainingRuntimeSpec": patch}])
    (group,) = rendered(job, runtime_of(None, groups={"volcano": {}}, annotations={QUEUE: "base"})).objects
    assert group["spec"]["queue"] == "mine"


def test_both_policies_make_both_groups(make_trainjob: Make, runtime_of: Make) -> None:
    made = rendered(make_trainjob(), runtime_of(None, groups={"volcano": {}, "coscheduling": {}}))
    assert [group["apiVersion"].partition("/")[0] for group in made.objects] == ["scheduling.x-k8s.io", "scheduling.volcano.sh"]


def test_what_the_pod_template_has_already_stays(make_trainjob: Make, runtime_of: Make) -> None:
    runtime = runtime_of(None, groups={"volcano": {}})
    runtime["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["metadata"] = {
        "labels": {"a": "1"},
        "annotations": {"b": "2"},
    }
    template = rendered(make_trainjob(), runtime).jobset["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]
    assert template["metadata"] == {"labels": {"a": "1"}, "annotations": {"b": "2", "scheduling.k8s.io/group-name": "mnist"}}


@pytest.mark.parametrize(
    ("change", "suspend", "is_written"),
    [
        pytest.param({}, True, False, id="as it should be"),
        pytest.param({"minMember": 9}, True, True, id="edited, suspended: put right"),
        pytest.param({"minMember": 9}, False, False, id="edited, running: left alone"),
        pytest.param({"queue": "old"}, True, True, id="a queue that the job has no more"),
        pytest.param({"minTaskMember": {"x": 1}}, True, False, id="what the scheduler adds"),
    ],
)
def test_a_group_is_kept_right_only_while_the_job_is_suspended(
    make_trainjob: Make, runtime_of: Make, now: datetime, change: Json, suspend: bool, is_written: bool
) -> None:
    job, runtime = make_trainjob(suspend=suspend), runtime_of(None, groups={"volcano": {}})
    (group,) = rendered(job, runtime).objects
    present = msgspec.convert({"metadata": group["metadata"], "spec": {**group["spec"], **change}}, PodGroup)
    made = plan(Observed(job=job, runtime=runtime, companions={Volcano.companions[0]: present}), now)
    assert ("PodGroup" in [write.body["kind"] for write in made.writes if isinstance(write, Apply)]) == is_written


MISSING = {name: f'PriorityClass.scheduling.k8s.io "{name}" not found' for name in ("ghost", "ghost2")}


@pytest.mark.parametrize(
    ("classes", "wanted"),
    [
        (["ghost"], ["ghost"]),
        (["ghost", "ghost2"], ["ghost", "ghost2"]),
        (["there"], []),
        (["", "ghost"], ["ghost"]),
        (["system-node-critical", "ghost"], []),
        (["ghost", "system-cluster-critical", "ghost2"], ["ghost"]),
    ],
    ids=["missing", "two", "there", "none and missing", "a system class ends the search", "in the middle"],
)
def test_priority_classes_must_be_there(
    make_trainjob: Make, runtime_of: Make, refusals: Make, classes: list[str], wanted: list[str]
) -> None:
    jobs = {f"job-{place}": {"priorityClassName": name} for place, name in enumerate(classes)}
    found = refusals(make_trainjob(), runtime_of(None, groups={"volcano": {}}, trainer="job-0", **jobs), MISSING)
    assert found == [
        f'spec.templateSpec.priorityClassName: Invalid value: "{name}": PriorityClass "{name}" doesn\'t exist: '
        f'PriorityClass.scheduling.k8s.io "{name}" not found'
        for name in wanted
    ]
    assert refusals(make_trainjob(), runtime_of(None, groups={"coscheduling": {}}, trainer="job-0", **jobs), MISSING) == []


@pytest.mark.parametrize(("annotations", "count"), [({QUEUE: ""}, 1), ({QUEUE: "q"}, 0), ({}, 0)], ids=["empty", "named", "none"])
def test_a_queue_has_a_name(make_trainjob: Make, runtime_of: Make, refusals: Make, annotations: Json, count: int) -> None:
    wanted = f'spec.annotations[{QUEUE}]: Invalid value: "": Volcano queue name must not be empty'
    assert refusals(make_trainjob(), runtime_of(None, groups={"volcano": {}}, annotations=annotations)) == [wanted] * count


TIER = 'spec.podGroupPolicy.volcano.networkTopology.highestTierName: Invalid value: "rack": '
NO_TIER = (
    f"{TIER}PodGroups of the cluster's Volcano have no such field; set highestTierAllowed in the runtime, or upgrade Volcano"
)
BOTH_TIERS = f"{TIER}Volcano accepts either this or highestTierAllowed; remove one of them from the runtime"


@pytest.mark.parametrize(
    ("allowed", "missing", "faults"),
    [
        pytest.param(1, (), [], id="the cluster has it, or it is not known"),
        pytest.param(
            1,
            (TIER_NAME,),
            [NO_TIER],
            id="the cluster does not have it",
        ),
        pytest.param(
            2,
            (),
            [BOTH_TIERS],
            id="both",
        ),
    ],
)
def test_a_tier_by_name_is_refused_where_it_would_have_no_effect(
    make_trainjob: Make, runtime_of: Make, refusals: Make, allowed: int, missing: Any, faults: list[str]
) -> None:
    topology = {"mode": "hard", "highestTierAllowed": allowed, "highestTierName": "rack"}
    assert refusals(make_trainjob(), runtime_of(None, groups={"volcano": {"networkTopology": topology}}), {}, missing) == faults


@pytest.mark.parametrize(
    ("groups", "scheduler", "is_warned"),
    [
        pytest.param({"volcano": {}}, None, True, id="none"),
        pytest.param({"volcano": {}}, "default-scheduler", True, id="the default one"),
        pytest.param({"volcano": {}}, "volcano", False, id="Volcano"),
        pytest.param({"volcano": {}}, "my-volcano", False, id="one that may be Volcano under another name"),
        pytest.param({"coscheduling": {}}, None, False, id="coscheduling may be a plugin of the default one"),
    ],
)
def test_a_gang_that_the_default_scheduler_would_place_is_warned_of(
    make_trainjob: Make, runtime_of: Make, groups: Json, scheduler: str | None, is_warned: bool
) -> None:
    runtime = runtime_of(None, groups=groups, node={"schedulerName": scheduler} if scheduler else {})
    warnings = trainjob_warnings(make_trainjob(), runtime)
    assert ["pods of node have no schedulerName of Volcano" in text for text in warnings] == [True] * is_warned
