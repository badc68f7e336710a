"""Controllers: what becomes of a key after each kind of reconcile."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

import pytest

from kube.peer import Peer
from shunter.api.resources import PODS
from shunter.kube.cache.expectations import Expectations
from shunter.kube.client import Client
from shunter.kube.controllers.controller import Controller
from shunter.kube.controllers.executor import Executor
from shunter.kube.controllers.plan import NOTHING, Create, Delete, Failure, Key, Plan, Ref, StatusWrite
from shunter.kube.transports.faults import Disconnect, FaultTransport, Refuse

A = Key("n", "a")
NOW = datetime(2026, 11, 21, tzinfo=UTC)

Eventually = Callable[[Callable[[], object]], Awaitable[object]]


class Scripted:
    """Answers each reconcile with the plan it was given."""

    def __init__(self, plan: Plan | Exception | None) -> None:
        self.wanted = plan
        self.seen: list[tuple[Key, datetime]] = []
        self.failures: list[Failure] = []

    def observe(self, key: Key) -> Key | None:
        return None if self.wanted is None else key

    def plan(self, observed: Key, now: datetime) -> Plan:
        self.seen.append((observed, now))
        if isinstance(self.wanted, Exception):
            raise self.wanted
        assert self.wanted is not None
        return self.wanted

    def plan_failure(self, observed: Key, failure: Failure, now: datetime) -> Plan:
        self.failures.append(failure)
        return NOTHING


def new_controller(client: Client, reconciler: Scripted, workers: int = 2) -> Controller[Key]:
    return Controller("test", reconciler, Executor(client), Expectations({}), workers=workers, now=lambda: NOW)


def creation() -> Plan:
    return Plan(writes=(Create(resource=PODS, body={"metadata": {"name": "a", "namespace": "n"}}),))


async def test_an_object_that_is_gone_is_forgotten(client: Client) -> None:
    controller = new_controller(client, Scripted(None))
    controller.queue.add_rate_limited(A)
    assert await controller.reconcile(A) == "success"
    assert controller.queue.failures(A) == 0


async def test_the_clock_is_handed_to_the_plan(client: Client) -> None:
    reconciler = Scripted(NOTHING)
    assert await new_controller(client, reconciler).reconcile(A) == "success"
    assert reconciler.seen == [(A, NOW)]


async def test_a_plan_may_ask_to_be_made_again_later(client: Client, eventually: Eventually) -> None:
    controller = new_controller(client, Scripted(Plan(requeue_after=0.01)))
    assert await controller.reconcile(A) == "requeue_after"
    await eventually(lambda: len(controller.queue) == 1)


@pytest.mark.parametrize(
    ("fault", "result", "told"),
    [(Refuse(403, "Forbidden"), "error", 1), (Refuse(409, "Conflict"), "requeue", 0), (Disconnect(), "error", 0)],
    ids=["refused", "conflict", "no answer"],
)
async def test_a_failed_write_brings_the_key_back_and_is_told_when_it_matters(
    peer: Peer, client: Client, faults: FaultTransport, fault: Refuse | Disconnect, result: str, told: int
) -> None:
    faults.inject(fault, method="POST")
    reconciler = Scripted(creation())
    controller = new_controller(client, reconciler)
    assert await controller.reconcile(A) == result
    assert controller.queue.failures(A) == 1
    assert len(reconciler.failures) == told
    assert await controller.reconcile(A) == "success"
    assert controller.queue.failures(A) == 0


A_POD = {"metadata": {"name": "a", "namespace": "n"}}
STATUS = StatusWrite(ref=Ref(PODS, "n", "a"), observed={}, wanted={"phase": "Running"})


def is_told(peer: Peer) -> bool:
    return any(path.endswith("/status") for _, path, _ in peer.requests)


async def with_one_waiting(client: Client, reconciler: Scripted, *, makes_first: bool = True) -> Controller[Key]:
    """A controller whose worker has one key while another waits."""
    controller = Controller("test", reconciler, Executor(client), Expectations({}), makes_first=makes_first, now=lambda: NOW)
    for key in (A, Key("n", "b")):
        controller.add(key)
    assert await controller.queue.get() == A
    return controller


async def test_a_status_waits_until_what_others_need_is_made(peer: Peer, client: Client, eventually: Eventually) -> None:
    controller = await with_one_waiting(client, reconciler := Scripted(Plan(writes=creation().writes, status=STATUS)))
    assert await controller.reconcile(A) == "requeue_after"
    assert ("/api/v1/pods", "n", "a") in peer.objects
    reconciler.wanted = Plan(status=STATUS)
    assert await controller.reconcile(A) == "requeue_after"
    assert not is_told(peer)
    controller.queue.done(A)
    assert await controller.queue.get() == Key("n", "b")
    await eventually(lambda: len(controller.queue) == 1)
    assert await controller.queue.get() == A
    assert await controller.reconcile(A) == "success"
    assert is_told(peer)


async def test_a_status_waits_for_others_but_not_for_ever(peer: Peer, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    controller = await with_one_waiting(client, reconciler := Scripted(Plan(writes=creation().writes, status=STATUS)))
    await controller.reconcile(A)
    assert not is_told(peer)
    monkeypatch.setattr("shunter.kube.controllers.controller.STATUS_PATIENCE", 0.0)
    reconciler.wanted = Plan(status=STATUS)
    assert await controller.reconcile(A) == "success"
    assert is_told(peer)


@pytest.mark.parametrize(
    ("plan", "makes_first"),
    [
        (Plan(writes=creation().writes, status=STATUS), False),
        (Plan(status=STATUS), True),
        (Plan(writes=creation().writes, status=STATUS, is_status_first=True), True),
        (Plan(writes=(Delete(ref=Ref(PODS, "n", "x")),), status=STATUS), True),
    ],
    ids=["other controllers", "nothing made", "status first", "deletes"],
)
async def test_no_other_status_waits(peer: Peer, client: Client, plan: Plan, makes_first: bool) -> None:
    if not any(isinstance(write, Create) for write in plan.writes):
        await peer.put("/api/v1/pods", A_POD)
    controller = await with_one_waiting(client, Scripted(plan), makes_first=makes_first)
    await controller.reconcile(A)
    assert is_told(peer)


async def test_a_bug_brings_the_key_back(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    controller = new_controller(client, Scripted(ZeroDivisionError("oops")))
    assert await controller.reconcile(A) == "error"
    assert controller.queue.failures(A) == 1
    assert "oops" in caplog.text


async def test_a_full_queue_leaves_the_event_loop_to_others(client: Client) -> None:
    controller = new_controller(client, reconciler := Scripted(NOTHING), workers=4)
    for number in range(1000):
        controller.add(Key("n", str(number)))
    work = asyncio.create_task(controller.run())
    turns = 0
    while len(reconciler.seen) < 1000:
        await asyncio.sleep(0)
        turns += 1
    assert turns >= 1000 / 4
    controller.stop()
    await work
