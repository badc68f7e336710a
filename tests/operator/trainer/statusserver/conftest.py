"""A TrainJob at an embedded API server, in a namespace of its own."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import AsyncIterator, Iterator

import pytest

from cluster.api_server import RunningApiServer, start_api_server
from fault_transport import FaultTransport, RecordingTransport
from shunter.api.resources import NAMESPACES, SERVICE_ACCOUNTS, TRAIN_JOBS
from shunter.kube import kubeconfig
from shunter.kube.client import connect
from shunter.kube.errors import AlreadyExists
from status_stage import JOB, Stage


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningApiServer]:
    running = start_api_server(tmp_path_factory.mktemp("statusserver") / "state")
    yield running
    running.stop()


@pytest.fixture
async def stage(server: RunningApiServer) -> AsyncIterator[Stage]:
    connection = kubeconfig.load(server.kubeconfig)
    async with connect(connection) as client:
        namespace = f"t-{uuid.uuid4().hex[:8]}"
        await client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
        with contextlib.suppress(AlreadyExists):
            await client.create(SERVICE_ACCOUNTS, account, namespace)
        head = {"apiVersion": TRAIN_JOBS.api_version, "kind": TRAIN_JOBS.kind, "metadata": {"name": JOB}}
        await client.create(TRAIN_JOBS, {**head, "spec": {"runtimeRef": {"name": "torch-distributed"}}}, namespace)
        faults = FaultTransport(client.transport)
        sent = RecordingTransport(faults)
        yield Stage(namespace, client.through(sent), sent, faults, {})
