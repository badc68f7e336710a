"""What failed in the pods of a TrainJob is in its status and in events, though JobSet has replaced them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import msgspec
import pytest

from jobset_pods import SHAPES, Shape, jobset_of, pods_of
from rank_pods import MakeTrainJob, pod
from shunter.api.meta import Json
from shunter.api.trainer.trainjob import TrainJob
from shunter.kube.controllers.plan import Failure, Patch, Plan
from shunter.operator.trainer.plan import Observed, plan, plan_failure
from shunter.operator.trainer.views import LiveJobSet, RankPod

MakeRuntime = Callable[..., Json]


def planned(job: TrainJob, runtime: Json, now: datetime, *pods: RankPod, jobset: LiveJobSet | None = None) -> Plan:
    return plan(Observed(job=job, runtime=runtime, failed_pods=pods, jobset=jobset), now)


def test_a_failure_is_in_the_status_before_anything_is_written(
    make_trainjob: MakeTrainJob, make_runtime: MakeRuntime, now: datetime
) -> None:
    job = make_trainjob(metadata={"resourceVersion": "12"})
    made = planned(job, make_runtime(), now, pod())
    assert made.status is not None
    assert made.is_status_first
    assert not made.may_status_wait
    assert made.status.resource_version == "12"
    assert made.status.desired["rankFailures"] == {
        "count": 1,
        "last": [
            {
                "rank": 1,
                "pod": "mnist-node-0-1-x",
                "podUID": "mnist-node-0-1-x",
                "container": "node",
                "reason": "Error",
                "exitCode": 1,
            }
        ],
    }
    (event,) = made.events
    assert (event.reason, event.message) == ("RankFailed", "rank 1, pod mnist-node-0-1-x, container node: Error, exit code 1")
    assert event.last_words is not None


def test_what_is_recorded_costs_nothing_more(make_trainjob: MakeTrainJob, make_runtime: MakeRuntime, now: datetime) -> None:
    made = planned(make_trainjob(), make_runtime(), now, pod())
    assert made.status is not None
    job = make_trainjob(status=made.status.desired)
    assert planned(job, make_runtime(), now, pod()) == planned(job, make_runtime(), now)
    again = planned(job, make_runtime(), now).status
    assert again is not None
    assert again.desired == again.observed == made.status.desired


def test_pods_that_are_left_when_a_job_is_complete_have_not_failed(
    make_trainjob: MakeTrainJob, make_runtime: MakeRuntime, now: datetime
) -> None:
    complete = {"type": "Complete", "status": "True", "reason": "AllJobsCompleted", "lastTransitionTime": "2026-11-21T11:40:00Z"}
    made = planned(make_trainjob(status={"conditions": [complete]}), make_runtime(), now, pod())
    assert made.events == ()


@pytest.mark.parametrize(("finished", "is_recorded"), [("2026-11-21T11:39:59Z", True), ("2026-11-21T11:40:00Z", False)])
def test_what_failed_and_ran_again_just_before_a_job_was_complete_is_recorded(
    make_trainjob: MakeTrainJob, make_runtime: MakeRuntime, now: datetime, finished: str, is_recorded: bool
) -> None:
    """Pods are looked at once a second: the job may be complete before its last failure is seen."""
    complete = {"type": "Complete", "status": "True", "reason": "AllJobsCompleted", "lastTransitionTime": "2026-11-21T11:40:00Z"}
    made = planned(make_trainjob(status={"conditions": [complete]}), make_runtime(), now, pod(finished=finished))
    assert [event.reason for event in made.events] == ["RankFailed"] * is_recorded


def test_a_suspension_takes_no_failure_along(make_trainjob: MakeTrainJob, make_runtime: MakeRuntime, now: datetime) -> None:
    owner = {"apiVersion": "v1", "kind": "TrainJob", "name": "mnist", "uid": "u1", "controller": True}
    jobset = msgspec.convert(
        {"metadata": {"name": "mnist", "namespace": "team-a", "uid": "j1", "ownerReferences": [owner]}}, LiveJobSet
    )
    made = planned(make_trainjob(suspend=True), make_runtime(), now, pod(), jobset=jobset)
    assert any(isinstance(write, Patch) for write in made.writes)
    assert made.is_status_first


DELETED = "2026-11-21T12:00:30Z"
"""The deletionTimestamp of a pod that was deleted at 12:00:00, with a grace period of 30 seconds."""


@pytest.mark.parametrize("is_suspended", [False, True], ids=["runs", "suspended"])
@pytest.mark.parametrize(
    ("ended", "is_recorded"),
    [
        (pod(), True),
        (pod(finished="2026-11-21T11:59:59Z", deleted=DELETED), True),
        (pod(finished="2026-11-21T12:00:00Z", deleted=DELETED), False),
        (pod(finished="2026-11-21T12:00:05Z", deleted=DELETED), False),
        (pod(exit_code=137, finished="2026-11-21T12:00:05Z", deleted=DELETED), False),
    ],
    ids=["there", "before its deletion", "in its second", "after its deletion", "killed after its deletion"],
)
def test_a_job_that_a_finalizer_holds_has_the_failures_of_pods_that_did_not_end_by_their_deletion(
    make_trainjob: MakeTrainJob, make_runtime: MakeRuntime, now: datetime, ended: RankPod, is_recorded: bool, is_suspended: bool
) -> None:
    """Also if a write is refused: the suspension of its JobSet by a conflict."""
    held = {"deletionTimestamp": "2026-11-21T11:58:00Z", "finalizers": ["example.org/hold"]}
    owner = {"apiVersion": "v1", "kind": "TrainJob", "name": "mnist", "uid": "u1", "controller": True}
    jobset = msgspec.convert(
        {"metadata": {"name": "mnist", "namespace": "team-a", "uid": "j1", "ownerReferences": [owner]}}, LiveJobSet
    )
    observed = Observed(
        job=make_trainjob(metadata=held, suspend=is_suspended), runtime=make_runtime(), failed_pods=(ended,), jobset=jobset
    )
    made = plan(observed, now)
    assert len(made.writes) == is_suspended
    refused = [plan_failure(observed, Failure(write, 409, "Conflict", "it has changed"), now) for write in made.writes]
    for each in (made, *refused):
        assert each.status is not None
        assert ("rankFailures" in each.status.desired) == is_recorded
        assert [event.reason for event in each.events if event.reason == "RankFailed"] == ["RankFailed"] * is_recorded


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_the_recorded_rank_of_a_pod_is_that_of_its_log(
    make_trainjob: MakeTrainJob, make_runtime: MakeRuntime, now: datetime, shape: Shape
) -> None:
    """Though the operator keeps only pods that failed: one here."""
    owner = {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "name": "mnist", "uid": "u1", "controller": True}
    made = jobset_of(shape, "mnist")
    made["metadata"]["ownerReferences"] = [owner]
    jobset, recorded = msgspec.convert(made, LiveJobSet), []
    for one in pods_of(shape, "mnist"):
        failed = msgspec.json.decode(msgspec.json.encode(one), type=RankPod)
        status = planned(make_trainjob(), make_runtime(), now, failed, jobset=jobset).status
        assert status is not None
        recorded += [failure.get("rank") for failure in status.desired["rankFailures"]["last"]]
    assert [rank for rank in recorded if rank is not None] == [*range(len(shape.labels))]
