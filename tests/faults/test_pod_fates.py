"""Everything that can become of a pod, under every restart policy: replaced, the end of the job, or waited for and told."""

from __future__ import annotations

import asyncio
from typing import Any, NamedTuple

import pytest

from faults import invariants
from faults.history import History
from faults.operators import Operator, running
from faults.scenarios import Stage, pytorch_job, train_job, training_runtime
from player.shape import Json
from shunter.api.resources import CORE_EVENTS, PODS, TRAIN_JOBS, TRAINING_RUNTIMES
from shunter.api.training.pytorch import PYTORCH_JOBS
from shunter.kube.kubeconfig import Connection

pytestmark = pytest.mark.timeout(180)

NOW = "2026-11-21T12:00:00Z"


def ended(code: int, reason: str = "Error") -> Json:
    """The status of a pod whose training container ended so."""
    terminated = {"exitCode": code, "reason": reason, "startedAt": NOW, "finishedAt": NOW}
    return {"phase": "Failed", "containerStatuses": [_container(state={"terminated": terminated})]}


def gone(reason: str) -> Json:
    """The status of a pod that its node, or the loss of it, ended: no container has said anything."""
    return {"phase": "Failed", "reason": reason, "message": f"The pod was {reason}"}


def waiting(reason: str, message: str) -> Json:
    return {"phase": "Pending", "containerStatuses": [_container(state={"waiting": {"reason": reason, "message": message}})]}


def init_container(phase: str, **state: Any) -> Json:
    return {"phase": phase, "initContainerStatuses": [_container("init-pytorch", state=state, restartCount=1)]}


def _container(name: str = "pytorch", **status: Any) -> Json:
    return {"name": name, "image": "any:1", "imageID": "", "ready": False, "restartCount": 0, "lastState": {}, **status}


class Fate(NamedTuple):
    status: Json
    outcomes: dict[str, str]
    """By restart policy: `replaced`, `failed`, or `waits`."""


ALL_REPLACED = {"ExitCode": "replaced", "OnFailure": "replaced", "Always": "replaced", "Never": "failed"}
PERMANENT = {"ExitCode": "failed", "OnFailure": "replaced", "Always": "replaced", "Never": "failed"}
NO_END = {"ExitCode": "waits", "OnFailure": "waits", "Always": "waits", "Never": "waits"}

FATES = {
    "the node is lost": Fate(gone("NodeLost"), ALL_REPLACED),
    "the pod is evicted for disk pressure": Fate(gone("Evicted"), ALL_REPLACED),
    "the pod is preempted": Fate(gone("Preempting"), ALL_REPLACED),
    "the node shuts down": Fate(gone("Terminated"), ALL_REPLACED),
    "admission on the node fails": Fate(gone("OutOfcpu"), ALL_REPLACED),
    "the kernel kills it for memory": Fate(ended(137, "OOMKilled"), ALL_REPLACED),
    "it ends by SIGTERM": Fate(ended(143), ALL_REPLACED),
    "it ends by SIGSEGV": Fate(ended(139), ALL_REPLACED),
    "the script fails": Fate(ended(1), PERMANENT),
    "the command is not there": Fate(ended(127, "ContainerCannotRun"), PERMANENT),
    "its init container fails for good": Fate(
        init_container("Failed", terminated={"exitCode": 1, "reason": "Error", "startedAt": NOW, "finishedAt": NOW}), ALL_REPLACED
    ),
    "its init container is waited for": Fate(init_container("Pending", waiting={"reason": "CrashLoopBackOff"}), NO_END),
    "its image cannot be pulled": Fate(waiting("ImagePullBackOff", 'Back-off pulling image "any:1"'), NO_END),
    "its image has no valid name": Fate(waiting("InvalidImageName", "couldn't parse image"), NO_END),
    "its configuration is missing": Fate(waiting("CreateContainerConfigError", 'secret "s" not found'), NO_END),
    "its node does not answer": Fate({"phase": "Unknown", "reason": "NodeLost"}, NO_END),
}


@pytest.mark.parametrize("fate", FATES)
async def test_a_worker_of_which_this_becomes(fate: str, server: Connection, history: History, stage: Stage) -> None:
    status, outcomes = FATES[fate]
    operator = Operator(server, namespaces=[stage.namespace])
    async with running(operator), asyncio.TaskGroup() as group:
        for policy, outcome in outcomes.items():
            group.create_task(_meets(stage, policy, status, outcome))
    invariants.check(history, stage.namespace)
    invariants.writes_are_bounded(operator.sent.writes, each=12)
    again = {name for name, count in invariants.incarnations(history, stage.namespace).items() if count != 1}
    assert again == {f"Pod/{policy.lower()}-worker-1" for policy, outcome in outcomes.items() if outcome == "replaced"}


async def _meets(stage: Stage, policy: str, status: Json, outcome: str) -> None:
    """Leads a job of this restart policy until one worker meets its fate, and on to its end."""
    history, name = stage.history, policy.lower()
    pods = [f"{name}-{role}" for role in ("master-0", "worker-0", "worker-1")]
    await stage.create(PYTORCH_JOBS, pytorch_job(name, restart_policy=policy))
    await history.until(lambda: all(stage.get(PODS, pod) for pod in pods))
    for pod in pods[:2]:
        await stage.pod(pod, "Running")
    await history.until(lambda: "Running" in stage.conditions(PYTORCH_JOBS, name))
    await stage.client.patch(PODS, pods[2], stage.namespace, {"status": status}, subresource="status")
    match outcome:
        case "replaced":
            await history.until(lambda: invariants.incarnations(history, stage.namespace)[f"Pod/{pods[2]}"] == 2)
        case "failed":
            await history.until(lambda: "Failed" in stage.conditions(PYTORCH_JOBS, name))
            return
        case "waits":
            await history.quiet(stage.namespace, seconds=0.3)
    await stage.pod(pods[2], "Running")
    await stage.pod(pods[0], "Succeeded")
    await history.until(lambda: "Succeeded" in stage.conditions(PYTORCH_JOBS, name))


async def test_a_pod_that_does_not_get_on_is_told_once_however_often_it_tries(
    server: Connection, history: History, stage: Stage
) -> None:
    operator = Operator(server, namespaces=[stage.namespace])
    async with running(operator):
        await stage.create(PYTORCH_JOBS, pytorch_job(workers=0))
        await history.until(lambda: stage.count(PODS) == 1)
        for attempt in range(10):
            status = waiting("ImagePullBackOff", "Back-off pulling image")
            status["message"] = f"attempt {attempt}"
            await stage.client.patch(PODS, "j-master-0", stage.namespace, {"status": status}, subresource="status")
            await asyncio.sleep(0.02)
        await history.until(lambda: _about_images(history, stage))
        await history.quiet(stage.namespace, seconds=0.3)
        assert len(_about_images(history, stage)) == 1


async def test_every_worker_lost_at_once_comes_back_once(server: Connection, history: History, stage: Stage) -> None:
    """A node with eight pods is lost."""
    async with running(Operator(server, namespaces=[stage.namespace])):
        await stage.create(PYTORCH_JOBS, pytorch_job(workers=8))
        await history.until(lambda: stage.count(PODS) == 9)
        await stage.pods("*", "Running")
        await history.until(lambda: stage.count(PODS, "Running") == 9)
        for number in range(8):
            await stage.client.patch(
                PODS, f"j-worker-{number}", stage.namespace, {"status": gone("NodeLost")}, subresource="status"
            )
        await history.until(lambda: stage.count(PODS, "Pending") == 8)
        await stage.pods("*", "Running")
        await history.until(lambda: stage.count(PODS, "Running") == 9)
    invariants.check(history, stage.namespace)
    counts = invariants.incarnations(history, stage.namespace)
    assert {counts[f"Pod/j-worker-{number}"] for number in range(8)} == {2}
    assert counts["Pod/j-master-0"] == 1


async def test_a_train_jobs_pod_that_dies_is_the_jobs_matter(server: Connection, history: History, stage: Stage) -> None:
    """With backoffLimit 0 its Job fails, and so does the TrainJob; the operator writes nothing but the status."""
    operator = Operator(server, namespaces=[stage.namespace])
    await stage.create(TRAINING_RUNTIMES, training_runtime())
    async with running(operator):
        await stage.create(TRAIN_JOBS, train_job())
        await history.until(lambda: stage.count(PODS) == 2)
        await stage.pods("*", "Running")
        await stage.pods("*-0-0-*", "Failed", exitCode=137, reason="OOMKilled")
        await history.until(lambda: "Failed" in stage.conditions(TRAIN_JOBS, "j"))
    writes = {request.path.rpartition("/")[2] for request in operator.sent.writes if "/events" not in request.path}
    assert writes == {"j-runtime-snapshot", "j", "status"}
    invariants.check(history, stage.namespace)


def _about_images(history: History, stage: Stage) -> list[Json]:
    return [event for event in history.present(CORE_EVENTS, stage.namespace) if event["reason"] == "ImagePullBackOff"]
