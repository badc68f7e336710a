"""A small API server per test, a client of it, and waiting for conditions."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from fault_transport import FaultTransport, RecordingTransport
from kube.peer import Peer
from shunter.kube.client import Client
from shunter.kube.kubeconfig import Connection
from shunter.kube.retry import RetryPolicy
from shunter.kube.transport import HttpTransport

Eventually = Callable[[Callable[[], object]], Awaitable[object]]


@pytest.fixture
async def peer() -> AsyncIterator[Peer]:
    server = Peer()
    await server.start()
    yield server
    await server.stop()


@pytest.fixture
async def faults(peer: Peer) -> AsyncIterator[FaultTransport]:
    transport = FaultTransport(HttpTransport(Connection(server=peer.url)))
    yield transport
    await transport.close()


@pytest.fixture
def recorded(faults: FaultTransport) -> RecordingTransport:
    return RecordingTransport(faults)


@pytest.fixture
def client(recorded: RecordingTransport) -> Client:
    return Client(recorded, retry=RetryPolicy(attempts=4, first_wait=0.001, longest_wait=0.05))


@pytest.fixture
def eventually() -> Eventually:
    """Waits until a condition holds, for at most five seconds."""

    async def wait(condition: Callable[[], object], seconds: float = 5.0) -> object:
        async with asyncio.timeout(seconds):
            while True:
                if value := condition():
                    return value
                await asyncio.sleep(0.002)

    return wait
