"""What becomes of v1 jobs that people suspend, scale, delete and create again, and whose pods are taken away."""

from __future__ import annotations

import pytest

from e2e.job_life import (
    EVICTED,
    EVICTION,
    LOST_RANK,
    Ends,
    Life,
    Stories,
    condition,
    created,
    job,
    pods,
    pytorch,
    ran,
    running,
    runs,
)
from shunter.api.resources import PODS, SERVICES

pytestmark = pytest.mark.timeout(300)

STORIES = Stories()
story = STORIES.add


# What people do to jobs


@story
async def a_suspended_job_has_no_pods_and_a_resumed_one_starts_anew(life: Life) -> None:
    names = ("j-master-0", "j-worker-0")
    await running(life, pytorch(), *names)
    start = life.status["startTime"]
    await life.patch({"runPolicy": {"suspend": True}})
    suspended = "PyTorchJob j is suspended."
    await life.comes_to_rest(
        conditions=[
            created(),
            condition("PyTorchJob", "Running", suspended, status="False", cause="Suspended"),
            condition("PyTorchJob", "Suspended", suspended),
        ],
        left=[],
        counts={"Master": {}, "Worker": {}},
        has_ended=False,
    )
    assert life.status["startTime"] == start
    await life.is_described("State    Suspended (PyTorchJobSuspended)")
    await life.patch({"runPolicy": {"suspend": False}})
    await life.runs("j-master-0", "j-worker-0")
    await life.comes_to_rest(
        conditions=[
            created(),
            condition("PyTorchJob", "Suspended", "PyTorchJob j is resumed.", status="False", cause="Resumed"),
            runs(),
        ],
        states=["Created", "Running", "Suspended", "Running"],
        events=[
            "PyTorchJobResumed: PyTorchJob j is resumed.",
            "PyTorchJobSuspended: PyTorchJob j is suspended.",
            *(f"SuccessfulDeletePod: Deleted pod: {name}" for name in names),
            *(f"SuccessfulDeleteService: Deleted service: {name}" for name in names),
        ],
        left=pods("j-master-0", "j-worker-0"),
        counts={"Master": {"active": 1}, "Worker": {"active": 1}},
    )
    assert life.status["startTime"] > start


@story
async def a_job_that_is_created_suspended_waits_for_its_user(life: Life) -> None:
    await life.begins(job("XGBoostJob", {"Master": (1, "Never"), "Worker": (1, "Never")}, suspend=True))
    suspended = condition("XGBoostJob", "Suspended", "XGBoostJob j is suspended.")
    await life.comes_to_rest(conditions=[created("XGBoostJob"), suspended], left=[], counts={})
    assert "startTime" not in life.status
    await life.patch({"runPolicy": {"suspend": False}})
    await life.runs("j-master-0", "j-worker-0")
    await life.comes_to_rest(states=["Suspended", "Running"], left=pods("j-master-0", "j-worker-0"))


@story
async def a_suspended_mpi_job_keeps_what_its_launcher_needs(life: Life) -> None:
    objects = ["ConfigMap j-config", "ServiceAccount j-launcher", "Role j-launcher"]
    await running(life, job("MPIJob", {"Launcher": (1, "Never"), "Worker": (1, "Never")}), "j-launcher", "j-worker-0")
    await life.patch({"runPolicy": {"suspend": True}})
    await life.comes_to_rest(states=["Created", "Running", "Suspended"], left=objects)
    await life.patch({"runPolicy": {"suspend": False}})
    await life.runs("j-launcher", "j-worker-0")
    await life.comes_to_rest(
        states=["Created", "Running", "Suspended", "Running"],
        left=["Pod j-launcher Running", "Pod j-worker-0 Running", *objects],
    )


@story
async def a_job_of_the_same_name_may_follow_at_once(life: Life) -> None:
    await running(life, pytorch(), "j-master-0", "j-worker-0")
    first = life.uid
    await life.client.delete(life.resource, "j", life.namespace, uid=first)
    await life.begins(pytorch())
    await life.until(lambda: life.is_owner("j-master-0", "j-worker-0"))
    await life.runs("j-master-0", "j-worker-0")
    await life.comes_to_rest(
        conditions=[created(), runs()],
        left=pods("j-master-0", "j-worker-0"),
        counts={"Master": {"active": 1}, "Worker": {"active": 1}},
    )
    assert life.uid != first
    assert life.incarnations("j-worker-0") == 2


@story
async def a_deleted_job_leaves_nothing(life: Life) -> None:
    await running(life, job("MPIJob", {"Launcher": (1, "Never"), "Worker": (1, "Never")}), "j-launcher", "j-worker-0")
    await life.client.delete(life.resource, "j", life.namespace)
    await life.comes_to_rest(left=[])
    assert life.is_gone


@story
async def a_deleted_pod_and_a_deleted_service_come_back(life: Life) -> None:
    await running(life, pytorch(), "j-master-0", "j-worker-0")
    service = life.history.get(SERVICES, life.namespace, "j-worker-0")
    await life.client.delete(SERVICES, "j-worker-0", life.namespace)
    await life.client.delete(PODS, "j-worker-0", life.namespace)
    await life.until(lambda: life.incarnations("j-worker-0") == 2)
    await life.runs("j-worker-0")
    await life.comes_to_rest(
        conditions=[created(), runs()],
        states=["Created", "Running", "Restarting", "Running"],
        events=["PyTorchJobRestarting: PyTorchJob j is restarting because 1 Worker replica(s) failed."],
        left=pods("j-master-0", "j-worker-0"),
    )
    again = life.history.get(SERVICES, life.namespace, "j-worker-0")
    assert service is not None
    assert again is not None
    assert again["metadata"]["uid"] != service["metadata"]["uid"]


@story
async def a_pod_that_is_forced_away_is_replaced(life: Life) -> None:
    """As an administrator does with those of a machine that is lost."""
    await running(life, pytorch("ExitCode"), "j-master-0", "j-worker-0")
    await life.client.delete(PODS, "j-worker-0", life.namespace, grace_period_seconds=0)
    await life.until(lambda: life.incarnations("j-worker-0") == 2)
    await life.runs("j-worker-0")
    await life.comes_to_rest(conditions=[created(), runs()], left=pods("j-master-0", "j-worker-0"))


@story
async def a_succeeded_pod_that_is_deleted_runs_again(life: Life) -> None:
    await running(life, job("JAXJob", {"Worker": (2, "OnFailure")}), "j-worker-0", "j-worker-1")
    await life.tell("j-worker-1", "exit 0")
    await life.until(lambda: life.shown()["counts"] == {"Worker": {"active": 1, "succeeded": 1}})
    await life.client.delete(PODS, "j-worker-1", life.namespace)
    await life.until(lambda: life.incarnations("j-worker-1") == 2)
    await life.runs("j-worker-1")
    await life.comes_to_rest(counts={"Worker": {"active": 2}}, states=["Created", "Running"])


@story
async def workers_come_and_go_as_the_job_is_scaled(life: Life) -> None:
    """The scale subresource asks no webhook: the job goes on without any worker."""
    await running(life, pytorch(), "j-master-0", "j-worker-0")
    await life.scale(2)
    await life.runs("j-worker-1")
    await life.comes_to_rest(
        left=pods("j-master-0", "j-worker-0", "j-worker-1"), counts={"Master": {"active": 1}, "Worker": {"active": 2}}
    )
    await life.scale(0)
    await life.comes_to_rest(
        conditions=[created(), runs()],
        states=["Created", "Running"],
        left=pods("j-master-0"),
        counts={"Master": {"active": 1}, "Worker": {}},
    )


@story
async def a_job_of_workers_alone_that_is_scaled_to_zero_is_over(life: Life) -> None:
    """None is left that has not succeeded."""
    await running(life, job("JAXJob", {"Worker": (1, "OnFailure")}), "j-worker-0")
    await life.scale(0)
    succeeded = condition("JAXJob", "Succeeded", f"JAXJob {life.namespace}/j successfully completed.")
    await life.comes_to_rest(
        conditions=[created("JAXJob"), ran("JAXJob", f"{life.namespace}/j"), succeeded], left=[], has_ended=True
    )


# Pods that are taken away


@story
async def a_pod_that_its_node_ends_is_replaced(life: Life) -> None:
    """By a deadline of its own here; a node short of memory or disk does the same."""
    await running(life, job("TFJob", {"Chief": (1, "Never"), "Worker": (1, "OnFailure")}), "j-chief-0", "j-worker-0")
    await life.client.patch(PODS, "j-worker-0", life.namespace, {"spec": {"activeDeadlineSeconds": 1}})
    await life.until(lambda: life.incarnations("j-worker-0") == 2)
    await life.runs("j-worker-0")
    await life.comes_to_rest(
        conditions=[created("TFJob"), runs("TFJob", f"{life.namespace}/j")],
        states=["Created", "Running", "Restarting", "Running"],
        events=[
            "RankFailed: rank 1, pod j-worker-0: DeadlineExceeded: Pod was active on the node longer than the specified deadline",
            "SuccessfulDeletePod: Deleted pod: j-worker-0",
            "TFJobRestarting: job j is restarting because Worker replica(s) failed.",
        ],
        counts={"Chief": {"active": 1}, "Worker": {"active": 1}},
    )
    await life.is_described("j-worker-0: DeadlineExceeded: Pod was active on the node longer than the specified deadline")


@story
async def a_pod_that_its_node_ends_fails_a_job_that_never_restarts(life: Life) -> None:
    await running(life, pytorch("Never"), "j-master-0", "j-worker-0")
    await life.client.patch(PODS, "j-worker-0", life.namespace, {"spec": {"activeDeadlineSeconds": 1}})
    message = "PyTorchJob j is failed because 1 Worker replica(s) failed."
    await life.comes_to_rest(
        conditions=[created(), ran(), condition("PyTorchJob", "Failed", message)],
        left=["Pod j-master-0 Running", "Pod j-worker-0 Failed", "Service j-master-0", "Service j-worker-0"],
    )
    await life.is_described(message, "DeadlineExceeded: Pod was active on the node longer than the specified deadline")


@story
async def a_failed_worker_fails_an_xgboost_job_that_would_restart_it(life: Life) -> None:
    """Where other kinds get a new pod."""
    await running(life, job("XGBoostJob", {"Master": (1, "OnFailure"), "Worker": (1, "OnFailure")}), "j-master-0", "j-worker-0")
    await life.evict("j-worker-0")
    message = "XGBoostJob j is failed because 1 Worker replica(s) failed."
    await life.comes_to_rest(
        conditions=[created("XGBoostJob"), ran("XGBoostJob"), condition("XGBoostJob", "Failed", message)],
        events=[EVICTED, LOST_RANK, f"XGBoostJobFailed: {message}"],
        left=["Pod j-master-0 Running", "Service j-master-0", "Service j-worker-0"],
        has_ended=True,
    )
    await life.is_described(message, EVICTION)


@story
async def an_evicted_pod_is_replaced(life: Life) -> None:
    await running(life, pytorch(), "j-master-0", "j-worker-0")
    await life.evict("j-worker-0")
    await life.until(lambda: life.incarnations("j-worker-0") == 2)
    await life.runs("j-worker-0")
    await life.comes_to_rest(
        conditions=[created(), runs()],
        states=["Created", "Running", "Restarting", "Running"],
        events=[EVICTED, "PyTorchJobRestarting: PyTorchJob j is restarting because 1 Worker replica(s) failed.", LOST_RANK],
        left=pods("j-master-0", "j-worker-0"),
    )


@story
async def an_evicted_pod_that_never_restarts_fails_the_job(life: Life) -> None:
    await running(life, pytorch("Never"), "j-master-0", "j-worker-0")
    await life.evict("j-worker-0")
    message = "PyTorchJob j is failed because 1 Worker replica(s) failed."
    await life.comes_to_rest(
        conditions=[created(), ran(), condition("PyTorchJob", "Failed", message)],
        events=[EVICTED, f"PyTorchJobFailed: {message}", LOST_RANK],
        left=["Pod j-master-0 Running", "Service j-master-0", "Service j-worker-0"],
        counts={"Master": {"active": 1}, "Worker": {"failed": 1}},
    )
    await life.is_described(message, EVICTION, "j-worker-0: Stopping container pytorch")


@pytest.mark.parametrize("told", STORIES.names)
def test_a_life_in_which(told: str, ends: Ends) -> None:
    ends.check(told)
