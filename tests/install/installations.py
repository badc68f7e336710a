"""What is installed, and what of it a server has."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterable
from typing import Any

import pytest

from cluster.api_server import RunningApiServer
from fault_transport import FaultTransport, Killed
from shunter.api.meta import Json
from shunter.api.resources import (
    MUTATING_WEBHOOKS,
    VALIDATING_WEBHOOKS,
    Resource,
)
from shunter.install.changes import MADE_BY_US, RESOURCES
from shunter.install.installing import Installation
from shunter.install.values import checked
from shunter.kube import kubeconfig
from shunter.kube.client import Client
from shunter.kube.discovery import served_versions
from shunter.kube.errors import NotFound
from shunter.kube.transport import HttpTransport

NAMESPACE = "shunter-system"
CONTAINER = {"name": "main", "image": "python"}


def wanted(*, crds: Iterable[Json] = (), **values: Any) -> Installation:
    """Without CRDs, unless it is about them: the server brings them, and they are large."""
    return Installation(checked(values), namespace=NAMESPACE, crds=crds)


async def stored(client: Client) -> dict[str, Json]:
    """Everything that an installation of ours made, without what the server counts."""
    found = {}
    served = await served_versions(client)
    for resource in RESOURCES:
        if resource.api_version not in served:
            continue
        for obj in (await client.list(resource, label_selector=MADE_BY_US)).items:
            metadata = obj["metadata"]
            kept = {key: metadata[key] for key in ("labels", "annotations") if key in metadata}
            body = {key: value for key, value in obj.items() if key not in ("metadata", "status")}
            found[f"{resource.kind} {metadata.get('namespace', '')}/{metadata['name']}"] = {**body, **kept}
    return found


@contextlib.asynccontextmanager
async def killed_after(writes: int, server: RunningApiServer) -> AsyncIterator[Client]:
    """A client of a process that is killed after so many writes, which has to happen within the block."""
    faults = FaultTransport(HttpTransport(kubeconfig.load(server.kubeconfig)))
    faults.kill_after(writes)
    async with Client(faults) as dying:
        with pytest.raises(Killed):
            yield dying


async def remove_webhooks(client: Client) -> None:
    """Nobody answers them here."""
    for resource in (MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS):
        for obj in (await client.list(resource)).items:
            await client.delete(resource, obj["metadata"]["name"])


def pytorch_job(name: str, *, namespace: str = "default") -> Json:
    template = {"spec": {"containers": [{"name": "pytorch", "image": "python"}]}}
    spec = {"pytorchReplicaSpecs": {"Master": {"template": template}}}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": name, "namespace": namespace},
        "spec": spec,
    }


async def until_gone(client: Client, resource: Resource, name: str) -> None:
    async with asyncio.timeout(20):
        with contextlib.suppress(NotFound):
            while True:
                await client.get(resource, name)
                await asyncio.sleep(0.05)
