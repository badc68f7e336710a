"""Transports around a transport: a rate is kept to, leases are not held up by it, and requests are counted as client-go does."""

from collections import Counter
from collections.abc import AsyncGenerator, Mapping
from types import SimpleNamespace

import pytest

from fault_transport import Disconnect, FaultTransport
from kube.peer import Peer
from shunter.api.resources import CONFIG_MAPS
from shunter.kube import measured_transport
from shunter.kube.client import Client
from shunter.kube.errors import ConnectionProblem, NotFound
from shunter.kube.measured_transport import CountingTransport, LimitedTransport, Rate
from shunter.kube.transport import Response


class Slept:
    """A clock that only sleeping moves, and an API server that answers in no time."""

    def __init__(self) -> None:
        self.now = 0.0
        self.sent_at: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.now += seconds

    async def request(
        self, method: str, path: str, *, params: Mapping[str, str] = {}, headers: Mapping[str, str] = {}, body: bytes = b""
    ) -> Response:
        self.sent_at.append(self.now)
        return Response(200, {}, b"")

    async def stream(
        self, method: str, path: str, *, params: Mapping[str, str] = {}, headers: Mapping[str, str] = {}
    ) -> AsyncGenerator[bytes]:
        self.sent_at.append(self.now)
        yield b""

    async def close(self) -> None: ...


@pytest.fixture
def slept(monkeypatch: pytest.MonkeyPatch) -> Slept:
    """Time passes by this module's sleeps alone, not by those of other tasks of the loop."""
    world = Slept()
    monkeypatch.setattr(measured_transport, "asyncio", SimpleNamespace(sleep=world.sleep))
    return world


async def test_a_rate_is_kept_to_and_a_pause_saves_up_a_burst(slept: Slept) -> None:
    limited = LimitedTransport(slept, Rate(qps=10, burst=5, clock=lambda: slept.now))
    slept.now = 100.0
    for _ in range(10):
        await limited.request("GET", "/api/v1/pods")
    assert slept.sent_at == pytest.approx([100.0] * 5 + [100.1, 100.2, 100.3, 100.4, 100.5])
    slept.now = 200.0
    async for _ in limited.stream("GET", "/api/v1/pods"):
        pass
    assert slept.sent_at[-1] == 200.0


async def test_transports_of_one_rate_keep_to_it_together(slept: Slept) -> None:
    rate = Rate(qps=10, burst=1, clock=lambda: slept.now)
    for transport in [LimitedTransport(slept, rate), LimitedTransport(slept, rate)] * 2:
        await transport.request("GET", "/api/v1/pods")
    assert slept.sent_at == pytest.approx([0.1, 0.2, 0.3, 0.4])


async def test_a_lease_is_renewed_at_once(slept: Slept) -> None:
    limited = LimitedTransport(slept, Rate(qps=1, burst=1, clock=lambda: slept.now))
    await limited.request("GET", "/api/v1/pods")
    before = slept.now
    await limited.request("PUT", "/apis/coordination.k8s.io/v1/namespaces/a/leases/b")
    assert slept.now == before


async def test_requests_are_counted_by_method_and_code(peer: Peer, faults: FaultTransport) -> None:
    counted: Counter[tuple[str, str]] = Counter()
    client = Client(CountingTransport(faults, lambda method, code: counted.update([(method, code)])))
    body = {"metadata": {"name": "a", "namespace": "default"}}
    await client.create(CONFIG_MAPS, body)
    with pytest.raises(NotFound):
        await client.get(CONFIG_MAPS, "b", "default")
    faults.inject(Disconnect(), method="POST")
    with pytest.raises(ConnectionProblem):
        await client.create(CONFIG_MAPS, body)
    async for _ in client.watch(CONFIG_MAPS, "default", send_initial_events=True):
        break
    assert counted == {("POST", "201"): 1, ("GET", "404"): 1, ("POST", "<error>"): 1, ("GET", "200"): 1}
