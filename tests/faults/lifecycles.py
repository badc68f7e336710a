"""The lives that the kill sweep leads: every kind of write that the operator does occurs in one of them."""

from __future__ import annotations

from typing import Any

from faults.scenarios import Scenario, Stage, Step, mpi_job, mpi_runtime, pytorch_job, train_job, training_runtime
from player.pod_status import END, START
from player.shape import Json
from shunter.api.resources import (
    CONFIG_MAPS,
    JOBS,
    JOBSETS,
    PODS,
    ROLE_BINDINGS,
    ROLES,
    SECRETS,
    SERVICES,
    TRAIN_JOBS,
    TRAINING_RUNTIMES,
)
from shunter.api.training.mpi import MPI_JOBS
from shunter.api.training.pytorch import PYTORCH_JOBS

HOUR = 3600


def _v1(stage: Stage) -> list[str]:
    return stage.conditions(PYTORCH_JOBS, "j")


def _v2(stage: Stage) -> list[str]:
    return stage.conditions(TRAIN_JOBS, "j")


def _active(stage: Stage) -> int:
    """Pods that the PyTorchJob counts as running."""
    return _counted(stage, "active")


def _succeeded(stage: Stage) -> int:
    return _counted(stage, "succeeded")


def _counted(stage: Stage, counter: str) -> int:
    job = stage.get(PYTORCH_JOBS, "j") or {}
    return sum(role.get(counter, 0) for role in job.get("status", {}).get("replicaStatuses", {}).values())


def _has_all(stage: Stage, pods: int) -> bool:
    return stage.count(PODS) == stage.count(SERVICES) == pods and "Created" in _v1(stage)


def _has_jobset(stage: Stage) -> bool:
    return stage.count(JOBSETS) == 1 and stage.count(PODS) == 2 and stage.count(CONFIG_MAPS) > 0


TO_THE_END = Scenario(
    "a PyTorchJob runs, succeeds, is cleaned up and deleted",
    (
        Step(
            "created",
            lambda stage: stage.create(PYTORCH_JOBS, pytorch_job(cleanPodPolicy="All", ttlSecondsAfterFinished=HOUR)),
            lambda stage: _has_all(stage, 3),
        ),
        Step("running", lambda stage: stage.pods("*", "Running"), lambda stage: _active(stage) == 3),
        Step(
            "succeeded",
            lambda stage: stage.pods("j-master-0", "Succeeded"),
            lambda stage: "Succeeded" in _v1(stage) and stage.count(PODS) == stage.count(SERVICES) == 0,
        ),
        Step(
            "deleted",
            lambda stage: stage.pass_time(PYTORCH_JOBS, "j", hours=2),
            lambda stage: stage.count(PYTORCH_JOBS) == 0,
        ),
    ),
)

RESTARTED = Scenario(
    "a PyTorchJob whose worker is killed gets a new one, and fails by its deadline",
    (
        Step(
            "created",
            lambda stage: stage.create(PYTORCH_JOBS, pytorch_job(cleanPodPolicy="Running", activeDeadlineSeconds=HOUR)),
            lambda stage: _has_all(stage, 3),
        ),
        Step("running", lambda stage: stage.pods("*", "Running"), lambda stage: _active(stage) == 3),
        Step(
            "replaced",
            lambda stage: stage.pods("j-worker-1", "Failed", exitCode=137),
            lambda stage: _active(stage) == 2 and stage.count(PODS, "Pending") == 1,
        ),
        Step("running again", lambda stage: stage.pods("j-worker-1", "Running"), lambda stage: _active(stage) == 3),
        Step(
            "failed",
            lambda stage: stage.pass_time(PYTORCH_JOBS, "j", hours=2),
            lambda stage: "Failed" in _v1(stage) and stage.count(PODS) == 0,
        ),
    ),
)


async def _restarts_in_place(stage: Stage) -> None:
    """The node has started the container of a worker again, in its pod."""
    pod = stage.get(PODS, "j-worker-1")
    assert pod is not None
    (container,) = pod["status"]["containerStatuses"]
    ended = {"exitCode": 137, "reason": "OOMKilled", "startedAt": START, "finishedAt": END}
    status = {"containerStatuses": [{**container, "restartCount": 1, "lastState": {"terminated": ended}}]}
    await stage.client.patch(PODS, "j-worker-1", stage.namespace, {"status": status}, subresource="status")


def _failures(stage: Stage) -> int:
    job = stage.get(PYTORCH_JOBS, "j") or {}
    return int(job.get("status", {}).get("rankFailures", {}).get("count", 0))


RESTARTED_IN_PLACE = Scenario(
    "a PyTorchJob whose worker restarts in its pod goes on, and its node then ends the pod",
    (
        Step(
            "created",
            lambda stage: stage.create(PYTORCH_JOBS, pytorch_job(cleanPodPolicy="Running")),
            lambda stage: _has_all(stage, 3),
        ),
        Step("running", lambda stage: stage.pods("*", "Running"), lambda stage: _active(stage) == 3),
        Step("restarted", _restarts_in_place, lambda stage: _failures(stage) == 1),
        Step(
            "evicted",
            lambda stage: stage.pods("j-worker-1", "Failed", reason="Evicted", exitCode=137, restartCount=1),
            lambda stage: _failures(stage) == 2 and stage.count(PODS, "Pending") == 1,
        ),
        Step("running again", lambda stage: stage.pods("j-worker-1", "Running"), lambda stage: _active(stage) == 3),
    ),
)

SUSPENDED = Scenario(
    "a PyTorchJob is suspended and resumed",
    (
        Step(
            "created",
            lambda stage: stage.create(PYTORCH_JOBS, pytorch_job(workers=1, cleanPodPolicy="None")),
            lambda stage: _has_all(stage, 2),
        ),
        Step("running", lambda stage: stage.pods("*", "Running"), lambda stage: _active(stage) == 2),
        Step(
            "suspended",
            lambda stage: stage.patch(PYTORCH_JOBS, "j", {"spec": {"runPolicy": {"suspend": True}}}),
            lambda stage: "Suspended" in _v1(stage) and stage.count(PODS) == 0,
        ),
        Step(
            "resumed",
            lambda stage: stage.patch(PYTORCH_JOBS, "j", {"spec": {"runPolicy": {"suspend": False}}}),
            lambda stage: "Suspended" not in _v1(stage) and _has_all(stage, 2),
        ),
        Step("a worker ended", lambda stage: stage.pods("*-worker-*", "Succeeded"), lambda stage: _succeeded(stage) == 1),
        Step("succeeded", lambda stage: stage.pods("*-master-*", "Succeeded"), lambda stage: "Succeeded" in _v1(stage)),
    ),
)

ELASTIC = Scenario(
    "a PyTorchJob of workers is scaled down and up",
    (
        Step(
            "created",
            lambda stage: stage.create(PYTORCH_JOBS, pytorch_job(workers=3, cleanPodPolicy="None")),
            lambda stage: _has_all(stage, 4),
        ),
        Step("running", lambda stage: stage.pods("*", "Running"), lambda stage: _active(stage) == 4),
        Step(
            "smaller",
            lambda stage: stage.patch(PYTORCH_JOBS, "j", {"spec": {"pytorchReplicaSpecs": {"Worker": {"replicas": 1}}}}),
            lambda stage: _has_all(stage, 2) and _active(stage) == 2,
        ),
        Step(
            "larger",
            lambda stage: stage.patch(PYTORCH_JOBS, "j", {"spec": {"pytorchReplicaSpecs": {"Worker": {"replicas": 2}}}}),
            lambda stage: _has_all(stage, 3),
        ),
    ),
)


async def _create_train_job(stage: Stage, **spec: Any) -> None:
    await stage.create(TRAINING_RUNTIMES, training_runtime())
    await stage.create(TRAIN_JOBS, train_job(**spec))


def _trains(stage: Stage) -> bool:
    return _has_jobset(stage) and stage.jobs_status("j", "active") == 1


COMPLETED = Scenario(
    "a TrainJob runs and completes",
    (
        Step("created", _create_train_job, _trains),
        Step("running", lambda stage: stage.pods("*", "Running"), lambda stage: stage.jobs_status("j", "ready") == 1),
        Step("completed", lambda stage: stage.pods("*", "Succeeded"), lambda stage: "Complete" in _v2(stage)),
    ),
)


async def _create_mpi_train_job(stage: Stage) -> None:
    await stage.create(TRAINING_RUNTIMES, mpi_runtime())
    await stage.create(TRAIN_JOBS, train_job(runtime="mpi"))


WITH_KEYS = Scenario(
    "a TrainJob of MPI gets keys and a list of hosts, and completes",
    (
        Step(
            "created",
            _create_mpi_train_job,
            lambda stage: _has_jobset(stage) and stage.count(SECRETS) == 1 and stage.jobs_status("j", "active") == 2,
        ),
        Step("running", lambda stage: stage.pods("*", "Running"), lambda stage: stage.jobs_status("j", "ready") == 2),
        Step("completed", lambda stage: stage.pods("*", "Succeeded"), lambda stage: "Complete" in _v2(stage)),
    ),
)

FAILED = Scenario(
    "a TrainJob fails for good",
    (
        Step("created", _create_train_job, _trains),
        Step("running", lambda stage: stage.pods("*", "Running"), lambda stage: stage.jobs_status("j", "ready") == 1),
        Step("failed", lambda stage: stage.pods("*-0-0-*", "Failed", exitCode=1), lambda stage: "Failed" in _v2(stage)),
    ),
)

RESUMED = Scenario(
    "a TrainJob starts suspended, is resumed, and misses its deadline",
    (
        Step(
            "created",
            lambda stage: _create_train_job(stage, suspend=True, activeDeadlineSeconds=HOUR),
            lambda stage: "Suspended" in _v2(stage) and stage.jobs_status("j", "suspended") == 1,
        ),
        Step(
            "resumed",
            lambda stage: stage.patch(TRAIN_JOBS, "j", {"spec": {"suspend": False}}),
            lambda stage: "Suspended" not in _v2(stage) and _trains(stage),
        ),
        Step("running", lambda stage: stage.pods("*", "Running"), lambda stage: stage.jobs_status("j", "ready") == 1),
        Step(
            "suspended",
            lambda stage: stage.patch(TRAIN_JOBS, "j", {"spec": {"suspend": True}}),
            lambda stage: "Suspended" in _v2(stage) and stage.count(PODS) == 0 and stage.jobs_status("j", "suspended") == 1,
        ),
        Step(
            "resumed again",
            lambda stage: stage.patch(TRAIN_JOBS, "j", {"spec": {"suspend": False}}),
            lambda stage: "Suspended" not in _v2(stage) and _trains(stage),
        ),
        Step(
            "failed",
            lambda stage: stage.pass_time(TRAIN_JOBS, "j", hours=2),
            lambda stage: "Failed" in _v2(stage) and stage.count(JOBSETS) == stage.count(JOBS) == 0,
        ),
    ),
)


def _placed(value: str) -> Json:
    """The patch with which a queue binds the pods of a job to its nodes; each value has a label of its own."""
    pods = {"spec": {"nodeSelector": {f"example.com/{value}": "yes"}}}
    node = {"name": "node", "template": {"spec": {"template": pods}}}
    return {"manager": "example.com/queue", "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [node]}}}}


def _runs_on(stage: Stage, value: str) -> bool:
    pods = stage.history.present(PODS, stage.namespace)
    return len(pods) == 2 and all([*pod["spec"].get("nodeSelector", {})] == [f"example.com/{value}"] for pod in pods)


MOVED = Scenario(
    "a TrainJob comes back on other nodes, and completes",
    (
        Step(
            "created",
            lambda stage: _create_train_job(stage, runtimePatches=[_placed("old")]),
            lambda stage: _trains(stage) and _runs_on(stage, "old"),
        ),
        Step("running", lambda stage: stage.pods("*", "Running"), lambda stage: stage.jobs_status("j", "ready") == 1),
        Step(
            "suspended",
            lambda stage: stage.patch(TRAIN_JOBS, "j", {"spec": {"suspend": True}}),
            lambda stage: "Suspended" in _v2(stage) and stage.count(PODS) == 0 and stage.jobs_status("j", "suspended") == 1,
        ),
        Step(
            "resumed elsewhere",
            lambda stage: stage.patch(TRAIN_JOBS, "j", {"spec": {"suspend": False, "runtimePatches": [_placed("new")]}}),
            lambda stage: "Suspended" not in _v2(stage) and _trains(stage) and _runs_on(stage, "new"),
        ),
        Step("running there", lambda stage: stage.pods("*", "Running"), lambda stage: stage.jobs_status("j", "ready") == 1),
        Step("completed", lambda stage: stage.pods("*", "Succeeded"), lambda stage: "Complete" in _v2(stage)),
    ),
)


def _has_all_of_mpi(stage: Stage, workers: int) -> bool:
    return stage.count(PODS) == workers + 1 and stage.count(ROLES) == stage.count(ROLE_BINDINGS) == 1


def _mpi_active(stage: Stage, workers: int) -> bool:
    counted = (stage.get(MPI_JOBS, "j") or {}).get("status", {}).get("replicaStatuses", {})
    return [counted.get(role, {}).get("active", 0) for role in ("Launcher", "Worker")] == [1, workers]


LAUNCHED = Scenario(
    "an MPIJob gets a worker more, loses its launcher to a signal, and succeeds",
    (
        Step(
            "created",
            lambda stage: stage.create(MPI_JOBS, mpi_job(workers=1, cleanPodPolicy="All")),
            lambda stage: _has_all_of_mpi(stage, 1),
        ),
        Step("running", lambda stage: stage.pods("*", "Running"), lambda stage: _mpi_active(stage, 1)),
        Step(
            "larger",
            lambda stage: stage.patch(MPI_JOBS, "j", {"spec": {"mpiReplicaSpecs": {"Worker": {"replicas": 2}}}}),
            lambda stage: _has_all_of_mpi(stage, 2),
        ),
        Step("all running", lambda stage: stage.pods("*", "Running"), lambda stage: _mpi_active(stage, 2)),
        Step(
            "launched again",
            lambda stage: stage.pods("j-launcher", "Failed", exitCode=137),
            lambda stage: stage.count(PODS, "Pending") == 1,
        ),
        Step("running again", lambda stage: stage.pods("j-launcher", "Running"), lambda stage: _mpi_active(stage, 2)),
        Step(
            "succeeded",
            lambda stage: stage.pods("j-launcher", "Succeeded"),
            lambda stage: "Succeeded" in stage.conditions(MPI_JOBS, "j") and stage.count(PODS) == 0,
        ),
    ),
)

LIVES = (TO_THE_END, RESTARTED, RESTARTED_IN_PLACE, SUSPENDED, ELASTIC, LAUNCHED, COMPLETED, WITH_KEYS, FAILED, RESUMED, MOVED)
