"""Users delete and edit what belongs to jobs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from functools import partial

import pytest

from faults import invariants
from faults.history import History
from faults.operators import Operator, running
from faults.scenarios import Stage, mpi_job, pytorch_job, train_job, training_runtime
from shunter.api.resources import (
    CONFIG_MAPS,
    CORE_EVENTS,
    JOBSETS,
    PODS,
    ROLE_BINDINGS,
    ROLES,
    SERVICE_ACCOUNTS,
    SERVICES,
    TRAIN_JOBS,
    TRAINING_RUNTIMES,
    Resource,
)
from shunter.api.training.mpi import MPI_JOBS
from shunter.api.training.pytorch import PYTORCH_JOBS
from shunter.kube.errors import NotFound
from shunter.kube.kubeconfig import Connection
from shunter.operator.training.names import JOB_NAME, REPLICA_INDEX

pytestmark = pytest.mark.timeout(180)

A_WHILE = 1.5


@pytest.fixture
async def operator(server: Connection, history: History, stage: Stage) -> AsyncIterator[Operator]:
    """With a PyTorchJob of three pods and a TrainJob of two, both running."""
    operator = Operator(server, namespaces=[stage.namespace])
    await stage.create(TRAINING_RUNTIMES, training_runtime())
    async with running(operator):
        await stage.create(PYTORCH_JOBS, pytorch_job("one"))
        await stage.create(TRAIN_JOBS, train_job("two"))
        await history.until(lambda: stage.count(PODS) == 5 and stage.count(SERVICES) >= 3)
        await stage.pods("*", "Running")
        await history.until(lambda: "Running" in stage.conditions(PYTORCH_JOBS, "one"))
        await history.quiet(stage.namespace, seconds=0.3)
        yield operator
    invariants.check(history, stage.namespace)


@pytest.mark.parametrize(
    ("resource", "name"),
    [
        (PODS, "one-worker-1"),
        (PODS, "one-master-0"),
        (SERVICES, "one-worker-0"),
        (JOBSETS, "two"),
        (CONFIG_MAPS, "two-runtime-snapshot"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
@pytest.mark.usefixtures("operator")
async def test_what_somebody_deletes_is_made_again_once(resource: Resource, name: str, history: History, stage: Stage) -> None:
    before = dict(invariants.incarnations(history, stage.namespace))
    await stage.client.delete(resource, name, stage.namespace, propagation="Background")
    key = f"{resource.kind}/{name}"
    await history.until(lambda: invariants.incarnations(history, stage.namespace)[key] == 2 and stage.get(resource, name))
    await history.quiet(stage.namespace, seconds=0.5)
    after = dict(invariants.incarnations(history, stage.namespace))
    assert {again for again in before if again in after and after[again] != before[again]} == {key}


async def test_a_pod_without_its_index_is_not_doubled_and_found_again(operator: Operator, history: History, stage: Stage) -> None:
    await stage.patch(PODS, "one-worker-1", {"metadata": {"labels": {REPLICA_INDEX: None}}})
    await asyncio.sleep(A_WHILE)
    invariants.writes_are_bounded(operator.sent.writes, each=20)
    await stage.patch(PODS, "one-worker-1", {"metadata": {"labels": {REPLICA_INDEX: "1"}}})
    await stage.pods("one-worker-*", "Succeeded")
    await stage.pods("one-master-0", "Succeeded")
    await history.until(lambda: "Succeeded" in stage.conditions(PYTORCH_JOBS, "one"))
    assert invariants.incarnations(history, stage.namespace)["Pod/one-worker-1"] == 1


@pytest.mark.parametrize("label", [JOB_NAME, "training.kubeflow.org/replica-type"])
async def test_a_pod_that_lost_a_label_is_not_doubled(label: str, operator: Operator, history: History, stage: Stage) -> None:
    present = stage.get(PODS, "one-worker-1")
    assert present is not None
    await stage.patch(PODS, "one-worker-1", {"metadata": {"labels": {label: None}}})
    await history.until(lambda: _failed_creations(history, stage) == 1)
    await asyncio.sleep(A_WHILE)
    assert _failed_creations(history, stage) == 1, "told once"
    invariants.writes_are_bounded(operator.sent.writes, each=20)
    await stage.patch(PODS, "one-worker-1", {"metadata": {"labels": {label: present["metadata"]["labels"][label]}}})
    await stage.pods("one-master-0", "Succeeded")
    await history.until(lambda: "Succeeded" in stage.conditions(PYTORCH_JOBS, "one"))
    assert invariants.incarnations(history, stage.namespace)["Pod/one-worker-1"] == 1


async def test_a_pod_that_lost_its_owner_is_nobodys_and_makes_room_when_it_goes(
    operator: Operator, history: History, stage: Stage
) -> None:
    await stage.patch(PODS, "one-worker-1", {"metadata": {"ownerReferences": None}})
    await history.until(lambda: _failed_creations(history, stage) == 1)
    await asyncio.sleep(A_WHILE)
    invariants.writes_are_bounded(operator.sent.writes, each=20)
    await stage.client.delete(PODS, "one-worker-1", stage.namespace)
    await history.until(lambda: invariants.incarnations(history, stage.namespace)["Pod/one-worker-1"] == 2)
    await stage.pods("*", "Running")
    await history.until(lambda: stage.count(PODS, "Running") == 5)


async def test_a_service_that_lost_its_owner_is_still_the_jobs(operator: Operator, history: History, stage: Stage) -> None:
    sent = len(operator.sent.writes)
    await stage.patch(SERVICES, "one-worker-1", {"metadata": {"ownerReferences": None}})
    await asyncio.sleep(A_WHILE)
    assert not [request for request in operator.sent.writes[sent:] if "/services" in request.path]


@pytest.mark.parametrize("kind", [CONFIG_MAPS, SERVICE_ACCOUNTS, ROLES, ROLE_BINDINGS], ids=lambda kind: kind.kind)
async def test_what_an_mpi_job_keeps_is_made_again_at_once(
    kind: Resource, server: Connection, history: History, stage: Stage
) -> None:
    """Upstream's come back with the job's next event."""
    async with running(Operator(server, namespaces=[stage.namespace])):
        await stage.create(MPI_JOBS, mpi_job("ring"))
        await history.until(lambda: stage.count(PODS) == 3)
        name = "ring-config" if kind == CONFIG_MAPS else "ring-launcher"
        before = await stage.client.get(kind, name, stage.namespace)
        await stage.client.delete(kind, name, stage.namespace)
        async with asyncio.timeout(10):
            while (await _uid(stage, kind, name)) in ("", before["metadata"]["uid"]):
                await history.quiet(stage.namespace, seconds=0.05)


async def _uid(stage: Stage, kind: Resource, name: str) -> str:
    try:
        return str((await stage.client.get(kind, name, stage.namespace))["metadata"]["uid"])
    except NotFound:
        return ""


@pytest.mark.usefixtures("operator")
async def test_a_service_that_a_user_made_stands_in_and_is_missed_at_once(history: History, stage: Stage) -> None:
    """It has the labels of the job's, another name and no owner. It is never deleted; when it goes, the job's is made."""
    labels = (stage.get(SERVICES, "one-worker-1") or {})["metadata"]["labels"]
    metadata = {"name": "mine", "labels": {**labels, **invariants.A_USERS}}
    mine = {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {"clusterIP": "None", "selector": labels}}
    await stage.create(SERVICES, mine)
    await stage.client.delete(SERVICES, "one-worker-1", stage.namespace)
    await history.quiet(stage.namespace, seconds=0.5)
    assert stage.get(SERVICES, "one-worker-1") is None, "mine stands in"
    await stage.client.delete(SERVICES, "mine", stage.namespace)
    await history.until(lambda: stage.get(SERVICES, "one-worker-1"), seconds=5)
    await stage.create(SERVICES, mine)

    def is_suspended(wanted: bool) -> bool:
        return ("Suspended" in stage.conditions(PYTORCH_JOBS, "one")) is wanted

    for suspend in (True, False):
        await stage.patch(PYTORCH_JOBS, "one", {"spec": {"runPolicy": {"suspend": suspend, "cleanPodPolicy": "All"}}})
        await history.until(partial(is_suspended, suspend))
    await history.until(lambda: stage.count(PODS, "Pending") == 3)
    await stage.pods("one-*", "Running")
    await stage.pods("one-*", "Succeeded")
    await history.until(lambda: not [pod for pod in history.present(PODS, stage.namespace) if "one-" in pod["metadata"]["name"]])
    await history.quiet(stage.namespace, seconds=0.3)
    assert stage.get(SERVICES, "mine") is not None
    assert stage.get(SERVICES, "one-worker-1") is None


async def test_edits_of_a_running_jobset_stay(operator: Operator, history: History, stage: Stage) -> None:
    """As upstream's."""
    sent = len(operator.sent.writes)
    await stage.patch(JOBSETS, "two", {"metadata": {"labels": {"mine": "yes"}}})
    await asyncio.sleep(A_WHILE)
    assert not [request for request in operator.sent.writes[sent:] if "/jobsets" in request.path]


@pytest.mark.usefixtures("operator")
async def test_all_pods_of_a_job_deleted_at_once_come_back(history: History, stage: Stage) -> None:
    await stage.client.raw("DELETE", PODS.path(stage.namespace), params={"labelSelector": f"{JOB_NAME}=one"})
    await history.until(lambda: stage.count(PODS, "Pending") == 3)
    await stage.pods("*", "Running")
    await history.until(lambda: stage.count(PODS, "Running") == 5)


def _failed_creations(history: History, stage: Stage) -> int:
    return sum(1 for event in history.present(CORE_EVENTS, stage.namespace) if event["reason"] == "FailedCreatePod")
