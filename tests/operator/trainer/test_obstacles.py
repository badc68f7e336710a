"""What a TrainJob says in a condition when its objects cannot be made: always what to do, and only as long as it is so."""

from __future__ import annotations

import copy
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import msgspec
import pytest
import yaml

from player.operator_replay import NoObjects, served_kinds
from shunter.api.meta import Json
from shunter.api.resources import CONFIG_MAPS, Resource
from shunter.api.scheduling.podgroups import COSCHEDULING_POD_GROUPS, VOLCANO_POD_GROUPS
from shunter.api.trainer.trainjob import TrainJob
from shunter.cluster.apiserver.kinds import RejectedError
from shunter.kube.controllers.plan import Apply, Failure, Plan
from shunter.operator.trainer.obstacles import LONGEST_MESSAGE
from shunter.operator.trainer.plan import Observed, plan, plan_failure
from shunter.operator.trainer.render import jobset_for
from shunter.operator.trainer.snapshot import snapshot_of
from shunter.operator.trainer.views import ConfigMap, LiveJobSet

MakeTrainJob = Callable[..., TrainJob]
MakeRuntime = Callable[..., Json]


def condition(made: Plan) -> Json:
    assert made.status is not None
    (found,) = [one for one in made.status.desired["conditions"] if one["type"] == "Created"]
    assert found["status"] == "False"
    return {field: found[field] for field in ("reason", "message")}


def snapshot(job: TrainJob, runtime: Json) -> ConfigMap:
    owner = {"apiVersion": "v1", "kind": "TrainJob", "name": "mnist", "uid": "u1", "controller": True}
    body = snapshot_of(job, runtime)
    return msgspec.convert({**body, "metadata": {**body["metadata"], "ownerReferences": [owner]}}, ConfigMap)


def test_a_missing_runtime(make_trainjob: MakeTrainJob, now: datetime) -> None:
    made = plan(Observed(job=make_trainjob()), now)
    assert condition(made) == {
        "reason": "RuntimeNotFound",
        "message": 'TrainingRuntime specified in TrainJob is not found: TrainingRuntime.trainer.kubeflow.org "torch" not found. '
        "Create the TrainingRuntime torch; the TrainJob then continues.",
    }
    assert made.requeue_after is None, "the runtime's arrival brings the job back"


def test_a_runtime_that_is_deleted_while_the_job_runs_is_not_missed(
    make_trainjob: MakeTrainJob, make_runtime: MakeRuntime, now: datetime
) -> None:
    job = make_trainjob(trainer={})
    running = msgspec.convert({"metadata": {"name": "mnist"}, "spec": {"suspend": False}}, LiveJobSet)
    assert plan(Observed(job=job, snapshot=snapshot(job, make_runtime()), jobset=running), now).events == ()


def pod(**fields: Any) -> Json:
    return {"spec": {"replicatedJobs": [{"name": "node", "template": {"spec": {"template": {"spec": fields}}}}]}}


@pytest.mark.parametrize(
    ("spec", "fault"),
    [
        pytest.param("text", "spec of TrainingRuntime torch: must be an object, not a string", id="spec"),
        pytest.param({"template": 5}, "spec.template of TrainingRuntime torch: must be an object, not an integer", id="template"),
        pytest.param({"mlPolicy": []}, "spec.mlPolicy of TrainingRuntime torch: must be an object, not a list", id="policy"),
        pytest.param(
            {"mlPolicy": {"numNodes": "two"}},
            "spec.mlPolicy.numNodes of TrainingRuntime torch: must be an integer, not a string",
            id="number",
        ),
        pytest.param(
            {"podGroupPolicy": {"coscheduling": {"scheduleTimeoutSeconds": "x"}}},
            "spec.podGroupPolicy.coscheduling.scheduleTimeoutSeconds of TrainingRuntime torch: must be an integer, not a string",
            id="gang",
        ),
        pytest.param(
            {"template": {"spec": {"replicatedJobs": "node"}}},
            "spec.template.spec.replicatedJobs of TrainingRuntime torch: must be a list, not a string",
            id="jobs",
        ),
        pytest.param(
            {"template": pod(containers=[{"name": "node", "env": [{"value": "1"}]}])},
            "spec.template.spec.replicatedJobs[0].template.spec.template.spec.containers[0].env[0] of TrainingRuntime torch: "
            "object missing required field `name`",
            id="a variable without a name",
        ),
        pytest.param(
            {"template": pod(containers=[{"name": "node", "resources": {"limits": {"cpu": "many"}}}])},
            "spec.template of TrainingRuntime torch: cpu in the resources of container node of the replicated job node is "
            "'many': quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
            id="a quantity",
        ),
        pytest.param(
            {"template": {"spec": {"replicatedJobs": [None]}}},
            "spec.template.spec.replicatedJobs[0] of TrainingRuntime torch: must be an object, not null",
            id="a null among jobs",
        ),
    ],
)
def test_a_malformed_runtime_is_named_with_its_field(
    make_trainjob: MakeTrainJob, make_runtime: MakeRuntime, now: datetime, spec: Any, fault: str
) -> None:
    runtime = {**make_runtime(), "spec": spec}
    made = plan(Observed(job=make_trainjob(trainer={"numNodes": 2}), runtime=runtime), now)
    assert (made.writes, len(made.events)) == ((), 1)
    assert condition(made) == {
        "reason": "RuntimeInvalid",
        "message": f"{fault}. Correct the runtime; the TrainJob then continues.",
    }


def test_a_malformed_snapshot_says_that_it_can_be_deleted(
    make_trainjob: MakeTrainJob, make_runtime: MakeRuntime, now: datetime
) -> None:
    job = make_trainjob()
    runtime = {**make_runtime(), "spec": {"template": pod(containers="x")}}
    broken = msgspec.structs.replace(snapshot(job, make_runtime()), data={"runtime": yaml.safe_dump(runtime)})
    found = condition(plan(Observed(job=job, runtime=make_runtime(), snapshot=broken), now))
    assert found["reason"] == "RuntimeInvalid"
    assert found["message"].endswith(
        "Correct data.runtime of the ConfigMap mnist-runtime-snapshot, or delete it to use the current runtime; "
        "the TrainJob then continues."
    )


@pytest.mark.parametrize(
    ("resource", "groups", "scheduler"),
    [
        (VOLCANO_POD_GROUPS, {"volcano": {}}, "Volcano"),
        (COSCHEDULING_POD_GROUPS, {"coscheduling": {}}, "the coscheduling plugin of scheduler-plugins"),
    ],
    ids=["volcano", "coscheduling"],
)
def test_a_cluster_without_the_gang_scheduler(
    make_trainjob: MakeTrainJob, make_runtime: MakeRuntime, now: datetime, resource: Resource, groups: Json, scheduler: str
) -> None:
    runtime = make_runtime()
    runtime["spec"]["podGroupPolicy"] = groups
    missing = frozenset({VOLCANO_POD_GROUPS, COSCHEDULING_POD_GROUPS})
    made = plan(Observed(job=make_trainjob(), runtime=runtime, uninstalled=missing), now)
    assert made.writes == (), "pods that are no gang would take what another gang waits for"
    assert condition(made) == {
        "reason": "PodGroupNotInstalled",
        "message": (
            f"The cluster does not serve podgroups.{resource.group} ({resource.api_version}), which "
            f"spec.podGroupPolicy of its runtime requires. Install {scheduler}, or remove podGroupPolicy from the "
            f"runtime; the TrainJob then continues."
        ),
    }
    again = make_trainjob(status=made.status.desired if made.status else {})
    assert plan(Observed(job=again, runtime=runtime, uninstalled=missing), now).events == (), "told once"
    assert plan(Observed(job=again, runtime=make_runtime(), uninstalled=missing), now).writes, "others do not need it"


@pytest.mark.parametrize(
    "replicated",
    [
        pytest.param([("node", 1, 1)], id="one pod"),
        pytest.param([("node", 1, 1000)], id="many pods"),
        pytest.param([("node", 12, 3), ("a-much-longer-launcher", 1, 1)], id="several jobs"),
    ],
)
def test_a_name_that_is_too_long_is_told_how_long_it_may_be(
    make_trainjob: MakeTrainJob, make_runtime: MakeRuntime, now: datetime, replicated: list[tuple[str, int, int]]
) -> None:
    """The number is the one that JobSet's webhook goes by."""
    runtime = make_runtime(policy={})
    (job,) = runtime["spec"]["template"]["spec"]["replicatedJobs"]
    runtime["spec"]["template"]["spec"]["replicatedJobs"] = [
        {
            **copy.deepcopy(job),
            "name": name,
            "replicas": replicas,
            "template": {"spec": {**job["template"]["spec"], "parallelism": pods}},
        }
        for name, replicas, pods in replicated
    ]

    def refusal(length: int) -> str:
        wanted = jobset_for(make_trainjob(metadata={"name": "n" * length}), runtime)
        kind = served_kinds()["JobSet"].kind
        kind.admit(wanted, None, NoObjects())
        kind.schema().default(wanted)
        try:
            kind.review(wanted, None, NoObjects())
        except RejectedError as error:
            return str(error)
        return ""

    longest = max(length for length in range(1, 64) if not refusal(length))
    observed = Observed(job=make_trainjob(metadata={"name": "n" * (longest + 1)}), runtime=runtime)
    write = plan(observed, now).writes[-1]
    found = condition(plan_failure(observed, Failure(write, 403, "Forbidden", refusal(longest + 1)), now))
    assert found["reason"] == "ObjectRefused"
    assert found["message"].endswith(
        f"Names of its pods are made from metadata.name: with this runtime it may have at most {longest} characters. "
        "Create the TrainJob again with a shorter name."
    )


def test_a_refused_object_is_quoted_and_forgotten_once_it_is_made(
    make_trainjob: MakeTrainJob, make_runtime: MakeRuntime, now: datetime
) -> None:
    observed = Observed(job=make_trainjob(), runtime=make_runtime())
    write = plan(observed, now).writes[0]
    assert isinstance(write, Apply)
    assert write.resource == CONFIG_MAPS
    made = plan_failure(observed, Failure(write, 403, "Forbidden", "exceeded quota"), now)
    assert condition(made) == {
        "reason": "ObjectRefused",
        "message": "ConfigMap mnist-runtime-snapshot was rejected: exceeded quota. Change the TrainJob, its runtime or what "
        "else the message names; the TrainJob then continues.",
    }
    assert made.status is not None
    again = Observed(job=make_trainjob(status=made.status.desired), runtime=make_runtime())
    later = plan_failure(again, Failure(write, 403, "Forbidden", "exceeded quota"), now + timedelta(minutes=5))
    assert later.status is not None
    assert later.status.desired == later.status.observed, "nothing is written while nothing has changed"
    good = plan(again, now)
    assert good.status is not None
    assert good.status.desired == {}


def test_a_long_refusal_is_shortened_in_its_middle(make_trainjob: MakeTrainJob, make_runtime: MakeRuntime, now: datetime) -> None:
    observed = Observed(job=make_trainjob(), runtime=make_runtime())
    failure = Failure(plan(observed, now).writes[0], 422, "Invalid", f"a{'x' * 100_000}z")
    message = condition(plan_failure(observed, failure, now))["message"]
    assert len(message) <= LONGEST_MESSAGE + len(" ... ")
    assert message.startswith("ConfigMap mnist-runtime-snapshot was rejected: ax")
    assert "xz. Change the TrainJob" in message
