"""Suspending and resuming, and scaling in and out: pods that the operator took away are no evidence about the job."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from itertools import count

import msgspec
import pytest

from job_world import World
from plan_texts import created, deleted, states
from running_job import RunningJob
from shunter.api.meta import Json
from shunter.api.resources import PODS
from shunter.operator.training.children import Children
from shunter.operator.training.framework import AnyFramework
from shunter.operator.training.frameworks import FRAMEWORKS, framework_of
from shunter.operator.training.job import AnyJob
from shunter.operator.training.observed import Observed
from shunter.operator.training.plan import plan

PYTORCH = framework_of("PyTorchJob")
MakeJob = Callable[..., AnyJob]
Observe = Callable[..., Observed]
ENDS = {"is killed": ("Failed", 137), "fails": ("Failed", 1), "exits with 0": ("Succeeded", 0), "says nothing": ("Running", 0)}
"""What becomes of a running pod that is deleted, before it goes."""

each_kind = pytest.mark.parametrize("framework", FRAMEWORKS, ids=[framework.info.resource.kind for framework in FRAMEWORKS])
each_policy = pytest.mark.parametrize("restart_policy", ["Never", "OnFailure", "ExitCode"])
each_end = pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)


def test_a_job_that_is_created_suspended_has_no_pods_and_no_start(make_job: MakeJob, now: datetime) -> None:
    made = plan(PYTORCH, Observed(job=make_job(policy={"suspend": True})), now)
    assert (made.writes, states(made)) == ((), ["Created=True", "Suspended=True"])
    assert made.status is not None
    assert "startTime" not in made.status.desired


RUNNING: Json = {
    "conditions": [{"type": "Created", "status": "True"}, {"type": "Running", "status": "True", "reason": "PyTorchJobRunning"}],
    "startTime": "2026-11-21T11:00:00Z",
    "replicaStatuses": {"Worker": {"active": 1, "succeeded": 2}},
}
SUSPENDED: Json = {
    "conditions": [
        {"type": "Created", "status": "True"},
        {"type": "Suspended", "status": "True", "reason": "PyTorchJobSuspended"},
    ],
    "startTime": "2026-11-21T11:00:00Z",
    "replicaStatuses": {"Worker": {"active": 1, "succeeded": 2}},
}


def test_the_status_says_suspended_before_anything_goes(make_job: MakeJob, observe: Observe, now: datetime) -> None:
    """Pods count as long as they are there: Kueue's quota waits for that."""
    made = plan(PYTORCH, observe(make_job(policy={"suspend": True, "cleanPodPolicy": "None"}, status=RUNNING)), now)
    assert made.writes == ()
    assert states(made) == ["Created=True", "Running=False", "Suspended=True"]
    assert made.status is not None
    assert made.status.desired["replicaStatuses"] == {"Worker": {"active": 1, "succeeded": 2}}


def test_suspending_deletes_all_pods_and_services_and_keeps_the_start(make_job: MakeJob, observe: Observe, now: datetime) -> None:
    made = plan(PYTORCH, observe(make_job(policy={"suspend": True, "cleanPodPolicy": "None"}, status=SUSPENDED)), now)
    assert len(deleted(made)) == 4
    assert states(made) == ["Created=True", "Suspended=True"]
    assert made.status is not None
    assert made.status.desired["startTime"] == "2026-11-21T11:00:00Z"
    assert made.status.desired["replicaStatuses"] == {"Worker": {"succeeded": 2}}
    assert made.events == (), "told already"


def test_the_status_says_resumed_before_anything_is_made(make_job: MakeJob, now: datetime) -> None:
    """And the clock starts anew."""
    made = plan(PYTORCH, Observed(job=make_job(status=SUSPENDED)), now)
    assert (made.writes, states(made)) == ((), ["Created=True", "Suspended=False"])
    assert made.status is not None
    assert made.status.desired["startTime"] == "2026-11-21T12:00:00Z"
    after = plan(PYTORCH, Observed(job=make_job(status=made.status.desired)), now)
    assert created(after) == ["Pod/bert-master-0", "Pod/bert-worker-0", "Service/bert-master-0", "Service/bert-worker-0"]


@pytest.mark.parametrize("is_leaving", [False, True], ids=["not deleted yet", "on its way out"])
@pytest.mark.parametrize("phase", ["Running", "Succeeded", "Failed"])
def test_a_job_is_resumed_when_no_pod_of_before_is_left(
    make_job: MakeJob, observe: Observe, now: datetime, phase: str, *, is_leaving: bool
) -> None:
    """A Master that saves its work on SIGTERM and exits with 0 has not finished the job, nor has one that is killed failed it."""
    job = make_job(role={"restartPolicy": "Never"}, status=SUSPENDED)
    master, worker = observe(job, {"*": phase}).children.pods
    leaving = now if is_leaving else None
    master = msgspec.structs.replace(master, metadata=msgspec.structs.replace(master.metadata, deletion_timestamp=leaving))
    made = plan(PYTORCH, Observed(job=job, children=Children((master, worker))), now)
    wanted = ["Pod/bert-worker-0"] if is_leaving else ["Pod/bert-master-0", "Pod/bert-worker-0"]
    assert (deleted(made), created(made), made.events) == (wanted, [], ())
    assert states(made) == ["Created=True", "Suspended=True"]


@pytest.mark.parametrize(
    ("restart_policy", "phases", "end"),
    [
        ("Never", {"bert-worker-0": "Failed"}, "Failed=True"),
        ("ExitCode", {"bert-worker-0": "Failed"}, "Failed=True"),
        ("OnFailure", {"bert-master-0": "Succeeded"}, "Succeeded=True"),
    ],
)
def test_what_ended_before_it_was_suspended_has_ended(
    make_job: MakeJob, observe: Observe, now: datetime, restart_policy: str, phases: dict[str, str], end: str
) -> None:
    """Though nobody had looked at it: else a failure would be lost, and a job that is done would train again."""
    job = make_job(role={"restartPolicy": restart_policy}, policy={"suspend": True}, status={**RUNNING, "replicaStatuses": {}})
    made = plan(PYTORCH, observe(job, phases), now)
    assert (made.writes, states(made)[-1]) == ((), end)
    assert "ExitedWithCode" in [event.reason for event in made.events]


def test_a_pod_that_is_to_be_restarted_does_not_hold_up_a_suspension(make_job: MakeJob, observe: Observe, now: datetime) -> None:
    job = make_job(role={"restartPolicy": "OnFailure"}, policy={"suspend": True}, status=RUNNING)
    assert states(plan(PYTORCH, observe(job, {"bert-worker-0": "Failed"}), now))[-1] == "Suspended=True"


@each_kind
@each_policy
@each_end
def test_a_suspension_that_is_taken_back_at_any_write_is_no_failure(
    framework: AnyFramework, restart_policy: str, end: tuple[str, int]
) -> None:
    """Kueue takes back at once what somebody suspends by hand. Even with a backoffLimit of 0 nothing has failed."""
    for number in count(1):
        job = RunningJob(framework, restart_policy)
        world, taken_back = job.world, job.world.writes + number

        def take_back(write: int, world: World = world, taken_back: int = taken_back) -> None:
            if write == taken_back:
                world.set_suspended(False)

        world.before_write = take_back
        world.set_suspended(True)
        job.settle(end)
        was_last = world.is_suspended
        world.set_suspended(False)
        job.settle(end)
        job.run_all()
        assert job.is_running, world.status
        is_same = job.uids == job.before
        assert is_same or not job.uids & job.before, "a pod of before trains beside pods of after"
        assert (world.status["startTime"] == job.start) is is_same
        if was_last:
            assert number > 2
            return


@each_kind
@each_policy
@each_end
def test_scaling_in_that_is_taken_back_at_any_write_is_no_failure(
    framework: AnyFramework, restart_policy: str, end: tuple[str, int]
) -> None:
    for number in count(1):
        job = RunningJob(framework, restart_policy, workers=3)
        world, taken_back = job.world, job.world.writes + number

        def take_back(write: int, world: World = world, taken_back: int = taken_back) -> None:
            if write == taken_back:
                world.set_replicas("Worker", 3)

        world.before_write = take_back
        world.set_replicas("Worker", 1)
        job.settle(end)
        was_last = world.writes < taken_back
        world.set_replicas("Worker", 3)
        job.settle(end)
        job.run_all()
        assert job.is_running, world.status
        assert len(job.uids) == len(job.before)
        assert world.status["startTime"] == job.start
        if was_last:
            assert number > 2
            return


@each_policy
def test_a_running_pod_that_somebody_else_deletes_has_failed(restart_policy: str) -> None:
    """S8, as recorded: also one that was scaled in once, as long as it has not been deleted for it."""
    job = RunningJob(PYTORCH, restart_policy)
    name = "job-worker-0"
    body = job.world.objects[PODS, name]
    job.world.objects[PODS, name] = {**body, "metadata": {**body["metadata"], "deletionTimestamp": "2026-11-21T12:00:00Z"}}
    job.world.look()
    wanted = "Failed" if restart_policy == "Never" else "Restarting"
    assert job.world.status["conditions"][-1]["type"] == wanted


def test_a_template_cannot_say_that_its_pods_were_scaled_in() -> None:
    job = RunningJob(PYTORCH, "Never")
    for name, body in job.world.all(PODS).items():
        metadata = {**body["metadata"], "annotations": {"shunter.dev/scaled-in": "true"}}
        job.world.objects[PODS, name] = {**body, "metadata": metadata}
    assert not job.world.look()
    assert job.world.leaving == []
