"""The collector at work on an API server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress

import pytest

from fault_transport import Delay, FaultTransport
from shunter.api.meta import Json
from shunter.api.resources import CONFIG_MAPS, NAMESPACES, SECRETS
from shunter.cluster.controllers.garbage.collector import GarbageCollector
from shunter.kube import kubeconfig
from shunter.kube.client import Client, connect
from shunter.kube.errors import AlreadyExists, NotFound

pytestmark = pytest.mark.e2e

DEADLINE_SECONDS = 20.0
LAG_SECONDS = 0.5
NAMESPACE = "garbage"


@pytest.fixture
async def client(api_server: object) -> AsyncIterator[Client]:
    async with connect(kubeconfig.load(api_server.kubeconfig)) as connected:  # type: ignore[attr-defined]
        with suppress(AlreadyExists):
            await connected.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
        yield connected


@pytest.fixture
async def collector(client: Client) -> AsyncIterator[GarbageCollector]:
    """One that learns of ConfigMaps later than of other kinds."""
    transport = FaultTransport(client.transport)
    transport.inject(Delay(LAG_SECONDS), path="/configmaps", times=1000)
    collecting = GarbageCollector(Client(transport))
    running = asyncio.create_task(collecting.run())
    yield collecting
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running


async def eventually(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(DEADLINE_SECONDS):
        while not condition():  # noqa: ASYNC110 -- what the collector has seen sends no events
            await asyncio.sleep(0.02)


async def owned(client: Client, collector: GarbageCollector) -> Json:
    """A Secret that owns a ConfigMap, and of both the collector knows."""
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "owner", "namespace": NAMESPACE}}
    owner = await client.create(SECRETS, secret)
    reference = {"apiVersion": "v1", "kind": "Secret", "name": "owner", "uid": owner["metadata"]["uid"]}
    metadata = {"name": "dependent", "namespace": NAMESPACE, "ownerReferences": [reference]}
    await client.create(CONFIG_MAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
    await eventually(lambda: [*collector._graph.dependents(owner["metadata"]["uid"])])
    return owner


async def test_what_an_owner_let_go_of_stays_though_the_caches_do_not_know_yet(
    client: Client, collector: GarbageCollector
) -> None:
    owner = await owned(client, collector)
    await client.delete(SECRETS, "owner", NAMESPACE, propagation="Orphan")
    await eventually(lambda: owner["metadata"]["uid"] not in collector._graph._members)
    await eventually(lambda: not [*collector._graph.dependents(owner["metadata"]["uid"])])
    assert "ownerReferences" not in (await client.get(CONFIG_MAPS, "dependent", NAMESPACE))["metadata"]
    await client.delete(CONFIG_MAPS, "dependent", NAMESPACE)


async def test_what_an_owner_left_behind_goes(client: Client, collector: GarbageCollector) -> None:
    await owned(client, collector)
    await client.delete(SECRETS, "owner", NAMESPACE)
    async with asyncio.timeout(DEADLINE_SECONDS):
        with suppress(NotFound):
            while True:
                await client.get(CONFIG_MAPS, "dependent", NAMESPACE)
                await asyncio.sleep(0.02)
