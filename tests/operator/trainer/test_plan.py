"""What is written about a TrainJob: snapshot and JobSet, status, deadline, and what is said when it cannot be made."""

from __future__ import annotations

from datetime import datetime

import msgspec
import pytest

from shunter.api.resources import JOBSETS
from shunter.api.scheduling.podgroups import PodGroup
from shunter.kube.controllers.plan import NOTHING, Failure
from shunter.operator.trainer.plan import LONGEST_CAUSE, Observed, plan, plan_failure
from shunter.operator.trainer.plugins.coscheduling import Coscheduling
from trainer_plans import MakeRuntime, MakeTrainJob, applied, conditions, jobset, snapshot


def test_a_new_job_gets_its_snapshot_before_its_jobset(
    make_trainjob: MakeTrainJob, make_runtime: MakeRuntime, now: datetime
) -> None:
    made = plan(Observed(job=make_trainjob(trainer={}), runtime=make_runtime()), now)
    assert applied(made) == ["ConfigMap/mnist-runtime-snapshot", "JobSet/mnist"]
    assert made.may_status_wait


def test_a_status_that_tells_more_than_what_was_made_does_not_wait(
    make_trainjob: MakeTrainJob, make_runtime: MakeRuntime, now: datetime
) -> None:
    job = make_trainjob(trainer={})
    assert not plan(Observed(job=job, runtime=make_runtime(), jobset=jobset()), now).may_status_wait
    assert not plan(Observed(job=job, runtime=None), now).may_status_wait


@pytest.mark.parametrize(
    ("job_suspended", "jobset_suspended", "is_applied"),
    [(False, False, False), (True, False, True), (False, True, True), (True, True, True)],
)
def test_a_running_jobset_is_never_touched(
    make_trainjob: MakeTrainJob,
    make_runtime: MakeRuntime,
    now: datetime,
    job_suspended: bool,
    jobset_suspended: bool,
    is_applied: bool,
) -> None:
    job = make_trainjob(suspend=job_suspended)
    observed = Observed(job=job, snapshot=snapshot(job, make_runtime()), jobset=jobset(suspend=jobset_suspended))
    assert bool(plan(observed, now).writes) is is_applied


def test_the_end_of_the_jobset_is_the_end_of_the_job(
    make_trainjob: MakeTrainJob, make_runtime: MakeRuntime, now: datetime
) -> None:
    """Reason, message and time are the JobSet's."""
    end = {
        "type": "Completed",
        "status": "True",
        "reason": "AllJobsCompleted",
        "message": "done",
        "lastTransitionTime": "2026-11-21T11:30:00Z",
    }
    job = make_trainjob()
    made = plan(Observed(job=job, snapshot=snapshot(job, make_runtime()), jobset=jobset(conditions=[end])), now)
    assert made.status is not None
    assert made.status.desired["conditions"] == [{**end, "type": "Complete"}]
    assert made.status.desired["jobsStatus"][0] == {
        "name": "node", "ready": 1, "succeeded": 0, "failed": 0, "active": 1, "suspended": 0,
    }  # fmt: skip


@pytest.mark.parametrize("end", ["Completed", "Failed"])
def test_the_jobset_of_an_earlier_job_of_the_name_is_waited_out(
    make_trainjob: MakeTrainJob, make_runtime: MakeRuntime, now: datetime, end: str
) -> None:
    """`kubectl replace --force`: garbage collection has not come round yet."""
    over = {"type": end, "status": "True", "reason": "x", "lastTransitionTime": "2026-11-21T11:30:00Z"}
    made = plan(Observed(job=make_trainjob(), runtime=make_runtime(), jobset=jobset(uid="earlier", conditions=[over])), now)
    assert (made.writes, made.events, conditions(made)) == ((), (), [])
    assert made.status is not None
    assert "jobsStatus" not in made.status.desired


def test_a_jobset_of_another_kind_of_owner_is_asked_for_so_that_the_refusal_is_told(
    make_trainjob: MakeTrainJob, make_runtime: MakeRuntime, now: datetime
) -> None:
    job = make_trainjob()
    theirs = jobset(uid="theirs", kind="Workflow")
    made = plan(Observed(job=job, snapshot=snapshot(job, make_runtime()), jobset=theirs), now)
    assert applied(made) == ["JobSet/mnist"]
    assert made.status is not None
    assert "jobsStatus" not in made.status.desired


@pytest.mark.parametrize(("kind", "is_applied"), [("PyTorchJob", True), ("TrainJob", False)])
def test_a_pod_group_of_a_v1_job_is_not_taken_for_ones_own(
    make_trainjob: MakeTrainJob, make_runtime: MakeRuntime, now: datetime, kind: str, is_applied: bool
) -> None:
    job, runtime = make_trainjob(), make_runtime()
    runtime["spec"]["podGroupPolicy"] = {"coscheduling": {}}
    owner = {
        "apiVersion": "v1",
        "kind": kind,
        "name": "mnist",
        "uid": "u1" if kind == "TrainJob" else "theirs",
        "controller": True,
    }
    group = msgspec.convert({"metadata": {"name": "mnist", "ownerReferences": [owner]}, "spec": {"minMember": 9}}, PodGroup)
    (companion,) = Coscheduling.companions
    observed = Observed(job=job, snapshot=snapshot(job, runtime), jobset=jobset(), companions={companion: group})
    assert applied(plan(observed, now)) == (["PodGroup/mnist"] if is_applied else [])


def test_a_complete_job_is_not_made_again(make_trainjob: MakeTrainJob, make_runtime: MakeRuntime, now: datetime) -> None:
    job = make_trainjob(status={"conditions": [{"type": "Complete", "status": "True", "reason": "AllJobsCompleted"}]})
    assert plan(Observed(job=job, runtime=make_runtime()), now).writes == ()


def test_suspending_and_resuming_are_told_once_each(
    make_trainjob: MakeTrainJob, make_runtime: MakeRuntime, now: datetime
) -> None:
    suspended = plan(Observed(job=make_trainjob(suspend=True), runtime=make_runtime()), now)
    assert conditions(suspended) == [("Suspended", "True", "Suspended")]
    assert suspended.status is not None
    resumed = plan(Observed(job=make_trainjob(status=suspended.status.desired), runtime=make_runtime()), now)
    assert conditions(resumed) == [("Suspended", "False", "Resumed")]
    assert conditions(plan(Observed(job=make_trainjob(), runtime=make_runtime()), now)) == []


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (
            "TrainingRuntime",
            'TrainingRuntime specified in TrainJob is not found: TrainingRuntime.trainer.kubeflow.org "torch" not found',
        ),
        (
            "ClusterTrainingRuntime",
            (
                "not found ClusterTrainingRuntime specified in TrainJob: "
                'ClusterTrainingRuntime.trainer.kubeflow.org "torch" not found'
            ),
        ),
    ],
)
def test_a_missing_runtime_is_told_as_an_event(make_trainjob: MakeTrainJob, now: datetime, kind: str, message: str) -> None:
    made = plan(Observed(job=make_trainjob(runtimeRef={"kind": kind, "name": "torch"})), now)
    assert [event.message for event in made.events] == [f"TrainJob resources reconciliation failed: {message}"]
    assert made.events[0].reason == "TrainJobResourcesCreationFailed"


def test_an_unsupported_runtime_kind_fails_the_job(make_trainjob: MakeTrainJob, now: datetime) -> None:
    """The condition is there, and nothing is retried."""
    made = plan(Observed(job=make_trainjob(runtimeRef={"kind": "Job", "name": "x"})), now)
    assert conditions(made) == [("Failed", "True", "TrainingRuntimeNotSupported")]
    assert (made.writes, made.requeue_after) == ((), None)


def test_jobs_of_kueue_are_left_alone(make_trainjob: MakeTrainJob, make_runtime: MakeRuntime, now: datetime) -> None:
    assert plan(Observed(job=make_trainjob(managedBy="kueue.x-k8s.io/multikueue"), runtime=make_runtime()), now) == NOTHING


STAMP = "2026-11-21T11:30:00Z"
GOING = {"deletionTimestamp": "2026-11-21T11:59:00Z", "finalizers": ["example.org/hold"]}


@pytest.mark.parametrize("there", [None, "suspended", "going"])
def test_nothing_is_created_or_resumed_for_a_job_that_is_being_deleted(
    make_trainjob: MakeTrainJob, make_runtime: MakeRuntime, now: datetime, there: str | None
) -> None:
    suspended = [{"type": "Suspended", "status": "True", "reason": "Suspended", "message": "", "lastTransitionTime": STAMP}]
    job = make_trainjob(metadata=GOING, status={"conditions": suspended})
    existing = jobset(suspend=there == "suspended")
    if there == "going":
        existing = msgspec.structs.replace(existing, metadata=msgspec.structs.replace(existing.metadata, deletion_timestamp=now))
    made = plan(Observed(job=job, runtime=make_runtime(), jobset=existing if there else None), now)
    assert made.writes == ()
    assert conditions(made) == [("Suspended", "True", "Suspended")]


def test_what_holds_a_job_that_is_being_deleted_sees_its_end(make_trainjob: MakeTrainJob, now: datetime) -> None:
    job = make_trainjob(metadata=GOING)
    ended = [{"type": "Completed", "status": "True", "reason": "AllJobsCompleted", "message": "", "lastTransitionTime": STAMP}]
    made = plan(Observed(job=job, jobset=jobset(conditions=ended)), now)
    assert conditions(made) == [("Complete", "True", "AllJobsCompleted")]
    assert made.writes == ()


def test_a_job_that_is_being_deleted_can_be_stopped(make_trainjob: MakeTrainJob, now: datetime) -> None:
    job = make_trainjob(metadata=GOING, suspend=True)
    made = plan(Observed(job=job, jobset=jobset()), now)
    assert [(type(write).__name__, getattr(write, "patch", None)) for write in made.writes] == [
        ("Patch", {"spec": {"suspend": True}})
    ]
    assert conditions(made) == [("Suspended", "True", "Suspended")]


def test_a_refused_object_is_told_shortened_and_the_status_goes_on(
    make_trainjob: MakeTrainJob, make_runtime: MakeRuntime, now: datetime
) -> None:
    observed = Observed(job=make_trainjob(suspend=True), runtime=make_runtime())
    failure = Failure(plan(observed, now).writes[0], 403, "Forbidden", "x" * 2000)
    made = plan_failure(observed, failure, now)
    assert made.events[0].message == f"TrainJob resources reconciliation failed: {'x' * LONGEST_CAUSE} ..."
    assert conditions(made) == [("Suspended", "True", "Suspended"), ("Created", "False", "ObjectRefused")]


def test_a_cluster_without_jobset_is_said_in_a_condition_and_once_in_an_event(
    make_trainjob: MakeTrainJob, make_runtime: MakeRuntime, now: datetime
) -> None:
    made = plan(Observed(job=make_trainjob(trainer={}), runtime=make_runtime(), uninstalled=frozenset({JOBSETS})), now)
    assert (made.writes, conditions(made)) == ((), [("Created", "False", "JobSetNotInstalled")])
    assert "jobsets.jobset.x-k8s.io" in made.events[0].message
    assert made.status is not None
    again = make_trainjob(trainer={}, status=made.status.desired)
    made = plan(Observed(job=again, runtime=make_runtime(), uninstalled=frozenset({JOBSETS})), now)
    assert made.events == ()
    made = plan(Observed(job=again, runtime=make_runtime()), now)
    assert (len(made.writes), conditions(made)) == (2, [])
