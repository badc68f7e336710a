"""Controllers: what becomes of a key after each kind of reconcile."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

import msgspec
import pytest

from fault_transport import Disconnect, FaultTransport, Refuse
from kube.peer import Peer
from shunter.api.resources import PODS
from shunter.kube.cache.expectations import Expectations
from shunter.kube.client import Client
from shunter.kube.controllers.controller import Controller
from shunter.kube.controllers.executor import Executor
from shunter.kube.controllers.plan import NOTHING, Create, Failure, Key, Note, Plan, Ref, StatusWrite
from shunter.kube.controllers.workqueue import POSTPONED_SECONDS
from shunter.kube.events import EventRecorder

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


B = Key("n", "b")
STATUS = StatusWrite(ref=Ref(PODS, "n", "a"), observed={}, desired={"phase": "Running"})


def note(reason: str) -> Note:
    return Note(regarding=Ref(PODS, "n", "a"), type="Normal", reason=reason, message="of a")


def first(**fields: object) -> Plan:
    """What a job needs, and the status and event that tell of it."""
    return msgspec.structs.replace(creation(), status=STATUS, events=(note("Made"),), may_status_wait=True, **fields)


def has_status(peer: Peer) -> bool:
    return any(path.endswith("/status") for _, path, _ in peer.requests)


class Busy:
    """A controller of which one worker has `a` while `b` waits."""

    def __init__(self, client: Client, plan: Plan) -> None:
        self.reconciler = Scripted(plan)
        self.recorder = EventRecorder(client, "test")
        self.controller = Controller(
            "test", self.reconciler, Executor(client, self.recorder), Expectations({}), workers=0, now=lambda: NOW
        )

    async def reconcile(self) -> str:
        for key in (A, B):
            self.controller.add(key)
        assert await self.controller.queue.get() == A
        return await self.controller.reconcile(A)

    async def next_key(self) -> Key | None:
        self.controller.queue.done(A)
        return await self.controller.queue.get()

    async def events(self, peer: Peer) -> list[str]:
        await self.recorder.flush()
        return [event["reason"] for (path, _, _), event in peer.objects.items() if path.endswith("/events")]


async def test_a_first_status_waits_until_others_have_what_they_need(peer: Peer, client: Client) -> None:
    busy = Busy(client, first())
    assert await busy.reconcile() == "requeue_after"
    assert ("/api/v1/pods", "n", "a") in peer.objects
    assert not has_status(peer)
    assert await busy.next_key() == B
    busy.reconciler.wanted = Plan(status=STATUS, events=(note("Made"), note("Later")), may_status_wait=True)
    assert await busy.controller.queue.get() == A
    assert await busy.controller.reconcile(A) == "success"
    assert has_status(peer)
    assert await busy.events(peer) == ["Made", "Later"], "each once"


async def test_a_first_status_waits_only_once(peer: Peer, client: Client) -> None:
    busy = Busy(client, first())
    await busy.reconcile()
    del peer.objects["/api/v1/pods", "n", "a"]
    assert await busy.controller.reconcile(A) == "success"
    assert has_status(peer)


async def test_a_first_status_waits_a_few_seconds_at_most(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    busy = Busy(client, first())
    await busy.reconcile()
    monkeypatch.setattr("shunter.kube.controllers.workqueue.POSTPONED_SECONDS", 0.0)
    assert await busy.next_key() == A
    assert 0 < POSTPONED_SECONDS <= 5


async def test_events_that_only_the_first_plan_has_are_recorded_also_when_the_job_goes(peer: Peer, client: Client) -> None:
    busy = Busy(client, first())
    await busy.reconcile()
    busy.reconciler.wanted = None
    assert await busy.controller.reconcile(A) == "success"
    assert await busy.events(peer) == ["Made"]


async def test_events_that_wait_are_recorded_when_the_controller_stops(peer: Peer, client: Client) -> None:
    busy = Busy(client, first())
    await busy.reconcile()
    busy.controller.stop()
    await busy.controller.run()
    assert await busy.events(peer) == ["Made"]


async def test_events_wait_for_a_status_that_is_refused(peer: Peer, client: Client, faults: FaultTransport) -> None:
    busy = Busy(client, first())
    await busy.reconcile()
    busy.reconciler.wanted = Plan(status=STATUS)
    faults.inject(Refuse(409, "Conflict"), method="PATCH")
    assert await busy.controller.reconcile(A) == "requeue"
    assert await busy.events(peer) == []
    assert await busy.controller.reconcile(A) == "success"
    assert await busy.events(peer) == ["Made"]


@pytest.mark.parametrize("allowed", [True, False], ids=["no other waits", "not allowed"])
async def test_other_statuses_do_not_wait(peer: Peer, client: Client, allowed: bool) -> None:
    busy = Busy(client, msgspec.structs.replace(first(), may_status_wait=allowed))
    if allowed:
        assert await busy.controller.reconcile(A) == "success"
    else:
        assert await busy.reconcile() == "success"
    assert has_status(peer)


async def test_a_status_that_comes_after_what_it_tells_of_is_of_the_moment_of_its_plan(
    peer: Peer, client: Client, eventually: Eventually
) -> None:
    reconciler = Scripted(msgspec.structs.replace(creation(), status=STATUS, status_after=0.1))
    reconciling = asyncio.create_task(new_controller(client, reconciler).reconcile(A))
    await eventually(lambda: ("/api/v1/pods", "n", "a") in peer.objects)
    assert not has_status(peer)
    assert await reconciling == "success"
    assert has_status(peer)
    assert len(reconciler.seen) == 1


async def test_a_status_does_not_come_later_while_another_key_waits_for_a_worker(peer: Peer, client: Client) -> None:
    busy = Busy(client, msgspec.structs.replace(creation(), status=STATUS, status_after=3600.0))
    assert await busy.reconcile() == "success"
    assert has_status(peer)
    assert await busy.next_key() == B


async def test_a_status_whose_write_was_refused_is_not_waited_for(peer: Peer, client: Client, faults: FaultTransport) -> None:
    faults.inject(Refuse(403, "Forbidden"), method="POST")
    controller = new_controller(client, Scripted(msgspec.structs.replace(creation(), status=STATUS, status_after=3600.0)))
    assert await controller.reconcile(A) == "error"
    assert not has_status(peer)


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
