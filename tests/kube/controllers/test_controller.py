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
from shunter.kube.controllers.plan import NOTHING, Create, Failure, Key, Plan
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
