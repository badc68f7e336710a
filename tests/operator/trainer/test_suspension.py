"""A suspended job gives its nodes back, whatever else fails."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import msgspec
import pytest

from shunter.api.meta import Json
from shunter.api.podgroups import COSCHEDULING_POD_GROUPS
from shunter.api.resources import CONFIG_MAPS, JOBSETS
from shunter.api.trainer.trainjob import TrainJob
from shunter.kube.plan import Apply, Failure, Patch, Plan, Ref
from shunter.operator.trainer.plan import Observed, plan, plan_failure
from shunter.operator.trainer.snapshot import snapshot_of
from shunter.operator.trainer.statusserver.place import StatusServerPlace
from shunter.operator.trainer.views import ConfigMap, LiveJobSet

MakeTrainJob = Callable[..., TrainJob]
MakeRuntime = Callable[..., Json]

SUSPENSION = Patch(ref=Ref(JOBSETS, "team-a", "mnist", "j1"), patch={"spec": {"suspend": True}})


def jobset(
    *, suspend: bool = True, active: int = 0, deleted: bool = False, status: Json | None = None, **spec: Any
) -> LiveJobSet:
    owner = {"apiVersion": "v1", "kind": "TrainJob", "name": "mnist", "uid": "u1", "controller": True}
    metadata: Json = {"name": "mnist", "namespace": "team-a", "uid": "j1", "ownerReferences": [owner]}
    if deleted:
        metadata["deletionTimestamp"] = "2026-11-21T11:59:00Z"
    counts = [{"name": "node", "ready": 0, "succeeded": 0, "failed": 0, "active": active, "suspended": 0}]
    body = {
        "metadata": metadata,
        "spec": {"suspend": suspend, **spec},
        "status": {"replicatedJobsStatus": counts, **(status or {})},
    }
    return msgspec.convert(body, LiveJobSet)


def observed(job: TrainJob, runtime: Json, live: LiveJobSet | None, **more: Any) -> Observed:
    body = snapshot_of(job, runtime)
    owner = {"apiVersion": "v1", "kind": "TrainJob", "name": "mnist", "uid": "u1", "controller": True}
    kept = msgspec.convert({**body, "metadata": {**body["metadata"], "ownerReferences": [owner]}}, ConfigMap)
    return Observed(job=job, jobset=live, **{"snapshot": kept, **more})


def conditions(made: Plan) -> dict[str, tuple[str, str]]:
    """Status and message by type."""
    assert made.status is not None
    return {item["type"]: (item["status"], item["message"]) for item in made.status.wanted.get("conditions", [])}


def test_the_jobset_is_suspended_by_the_first_write(
    make_trainjob: MakeTrainJob, make_runtime: MakeRuntime, now: datetime
) -> None:
    runtime = make_runtime()
    runtime["spec"]["podGroupPolicy"] = {"coscheduling": {}}
    made = plan(observed(make_trainjob(suspend=True), runtime, jobset(suspend=False, active=1)), now)
    assert made.writes[0] == SUSPENSION
    assert [write.resource for write in made.writes[1:] if isinstance(write, Apply)] == [COSCHEDULING_POD_GROUPS, JOBSETS]


@pytest.mark.parametrize(
    "obstacle",
    [
        pytest.param({"snapshot": None}, id="the runtime is gone, and the snapshot with it"),
        pytest.param({"uninstalled": frozenset({COSCHEDULING_POD_GROUPS})}, id="the gang scheduler is gone"),
        pytest.param({"status_server": StatusServerPlace("https://a", "")}, id="nobody knows the status server's authority yet"),
    ],
)
def test_a_job_of_which_nothing_can_be_made_any_more_is_suspended_all_the_same(
    make_trainjob: MakeTrainJob, make_runtime: MakeRuntime, now: datetime, obstacle: Json
) -> None:
    runtime = make_runtime()
    runtime["spec"]["podGroupPolicy"] = {"coscheduling": {}}
    made = plan(observed(make_trainjob(suspend=True), runtime, jobset(suspend=False, active=1), **obstacle), now)
    assert made.writes == (SUSPENSION,)
    assert conditions(made)["Suspended"][0] == "True"


def test_a_suspended_jobset_is_not_suspended_again(make_trainjob: MakeTrainJob, make_runtime: MakeRuntime, now: datetime) -> None:
    made = plan(observed(make_trainjob(suspend=True), make_runtime(), jobset()), now)
    assert [type(write) for write in made.writes] == [Apply]


def test_a_job_whose_jobset_could_not_be_suspended_does_not_say_that_it_is(
    make_trainjob: MakeTrainJob, make_runtime: MakeRuntime, now: datetime
) -> None:
    seen = observed(make_trainjob(suspend=True), make_runtime(), jobset(suspend=False, active=1))
    made = plan_failure(seen, Failure(SUSPENSION, 403, "Forbidden", "not by you"), now)
    found = conditions(made)
    assert "Suspended" not in found
    assert found["Created"][0] == "False"
    assert found["Created"][1].startswith("JobSet mnist could not be suspended, and its pods run on: not by you.")


def test_what_else_was_refused_does_not_hide_that_it_is_suspended(
    make_trainjob: MakeTrainJob, make_runtime: MakeRuntime, now: datetime
) -> None:
    seen = observed(make_trainjob(suspend=True), make_runtime(), jobset(suspend=False, active=1))
    refused = Apply(resource=CONFIG_MAPS, body={"metadata": {"name": "x"}}, field_manager="trainer")
    made = plan_failure(seen, Failure(refused, 403, "Forbidden", "quota"), now)
    assert conditions(made)["Suspended"][0] == "True"
