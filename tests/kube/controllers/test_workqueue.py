"""The work queue: once per key, never two workers on one key, nothing lost, everybody's turn."""

import asyncio
from collections.abc import Awaitable, Callable
from types import SimpleNamespace

import pytest

from shunter.kube.controllers import workqueue
from shunter.kube.controllers.plan import Key
from shunter.kube.controllers.workqueue import WorkQueue

A, B = Key("n", "a"), Key("n", "b")


async def taken(queue: WorkQueue) -> Key:
    key = await asyncio.wait_for(queue.get(), 2)
    assert key is not None
    return key


async def test_a_key_added_twice_is_handed_out_once() -> None:
    queue = WorkQueue()
    queue.add(A)
    queue.add(A)
    queue.add(B)
    assert len(queue) == 2
    assert [await taken(queue), await taken(queue)] == [A, B]
    assert len(queue) == 0


async def test_a_key_under_work_is_handed_out_again_only_when_done() -> None:
    queue = WorkQueue()
    queue.add(A)
    await taken(queue)
    queue.add(A)
    queue.add(A)
    assert len(queue) == 0
    queue.done(A)
    assert len(queue) == 1
    assert await taken(queue) == A


async def test_namespaces_take_turns() -> None:
    queue = WorkQueue()
    for number in range(5):
        queue.add(Key("big", str(number)))
    queue.add(Key("small", "x"))
    assert [(await taken(queue)).namespace for _ in range(6)] == ["big", "small", "big", "big", "big", "big"]


async def test_one_namespace_never_has_all_workers() -> None:
    queue = WorkQueue(max_per_namespace=2)
    for number in range(4):
        queue.add(Key("big", str(number)))
    first, second = await taken(queue), await taken(queue)
    third = asyncio.create_task(queue.get())
    await asyncio.sleep(0)
    assert (third.done(), len(queue), queue.waiting()) == (False, 2, 2)
    queue.add(Key("small", "x"))
    assert await asyncio.wait_for(third, 2) == Key("small", "x"), "it is another namespace's turn"
    queue.add(first)
    queue.done(first)
    assert await taken(queue) == Key("big", "2"), "a worker that is through makes room"
    queue.done(second)
    assert await taken(queue) == Key("big", "3")
    queue.done(Key("big", "2"))
    assert await taken(queue) == first, "what was added while it was worked on comes back"
    assert len(queue) == 0


async def test_a_postponed_key_lets_all_others_go_first() -> None:
    queue = WorkQueue()
    queue.add(A)
    await taken(queue)
    queue.postpone(A)
    queue.done(A)
    queue.add(B)
    queue.add(A)
    assert (len(queue), queue.waiting(), queue.is_busy, queue.has_postponed) == (2, 2, True, True)
    assert await taken(queue) == B
    assert (queue.is_busy, queue.has_postponed, queue.is_in_burst) == (False, True, True)
    assert await taken(queue) == A
    assert (len(queue), queue.has_postponed, queue.is_in_burst) == (0, False, False)
    queue.done(A)
    queue.add(A)
    assert queue.is_busy, "once it had its turn it is a key like others"


async def test_a_postponed_key_waits_for_those_that_follow_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a burst the queue is empty for moments; a status that is written then would hold up the next job's pods."""
    monkeypatch.setattr(workqueue, "LULL_SECONDS", 3600.0)
    queue = WorkQueue()
    queue.add(A)
    await taken(queue)
    queue.postpone(A)
    queue.done(A)
    worker = asyncio.create_task(queue.get())
    await asyncio.sleep(0)
    assert not worker.done(), "no other key waits, but one may follow"
    queue.add(B)
    assert await asyncio.wait_for(worker, 2) == B
    monkeypatch.setattr(workqueue, "LULL_SECONDS", 0.01)
    assert await taken(queue) == A, "the burst is over"


async def test_a_postponed_key_waits_for_its_time_and_no_key_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker wakes by itself: nothing else may ever be added."""
    monkeypatch.setattr(workqueue, "LULL_SECONDS", 0.05)
    queue = WorkQueue()
    queue.add(A)
    await taken(queue)
    queue.postpone(A)
    queue.done(A)
    assert await asyncio.wait_for(queue.get(), 5) == A


async def test_a_postponed_key_waits_a_few_seconds_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workqueue, "POSTPONED_SECONDS", 0.0)
    queue = WorkQueue()
    queue.add(A)
    await taken(queue)
    queue.postpone(A)
    queue.done(A)
    queue.add(B)
    assert await taken(queue) == A


async def test_postponed_keys_of_one_namespace_have_not_all_workers_either() -> None:
    queue = WorkQueue(max_per_namespace=1)
    for key in (A, B):
        queue.add(key)
        await taken(queue)
        queue.postpone(key)
        queue.done(key)
    assert await taken(queue) == A
    second = asyncio.create_task(queue.get())
    await asyncio.sleep(0)
    assert not second.done()
    queue.done(A)
    assert await asyncio.wait_for(second, 2) == B


async def test_keys_of_no_namespace_may_have_all_workers() -> None:
    queue = WorkQueue(max_per_namespace=1)
    queue.add(Key("", "a"))
    queue.add(Key("", "b"))
    assert [await taken(queue), await taken(queue)] == [Key("", "a"), Key("", "b")]


async def test_a_worker_that_is_cancelled_takes_no_key_with_it() -> None:
    queue = WorkQueue()
    workers = [asyncio.create_task(queue.get()) for _ in range(2)]
    await asyncio.sleep(0)
    queue.add(A)
    workers[0].cancel()
    assert await asyncio.wait_for(workers[1], 2) == A


async def test_an_earlier_appointment_wins() -> None:
    queue = WorkQueue()
    queue.add_after(A, 60)
    queue.add_after(A, 0.01)
    queue.add_after(A, 60)
    assert await taken(queue) == A


async def test_an_appointment_of_no_time_is_now() -> None:
    queue = WorkQueue()
    queue.add_after(A, 0)
    assert len(queue) == 1


async def test_failures_wait_longer_each_time_until_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    queue = WorkQueue(first_wait=0.005, longest_wait=60)
    waits: list[float] = []
    monkeypatch.setattr(queue, "add_after", lambda key, seconds: waits.append(seconds))
    for _ in range(16):
        queue.add_rate_limited(A)
    assert waits[:4] == [0.005, 0.01, 0.02, 0.04]
    assert waits[-1] == 60
    assert queue.failures(A) == 16
    queue.forget(A)
    queue.add_rate_limited(A)
    assert waits[-1] == 0.005


async def test_no_key_is_late_before_a_worker_serves_the_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a replica that does not lead, informers fill the queue and nobody takes a key, for days."""
    seconds, waits = 1000.0, list[float]()

    class Waits:
        def added(self) -> None: ...

        def dequeued(self, waited: float) -> None:
            waits.append(waited)

        def finished(self, worked: float) -> None: ...

        def retried(self) -> None: ...

    monkeypatch.setattr(workqueue, "time", SimpleNamespace(monotonic=lambda: seconds))
    queue = WorkQueue(metrics=Waits())
    queue.add(A)
    queue.add(B)
    seconds += 3600
    assert (queue.waiting(), queue.oldest_waiting()) == (0, 0.0)
    await taken(queue)
    assert waits == [0.0]
    seconds += 5
    assert (queue.waiting(), queue.oldest_waiting()) == (1, 5.0)
    await taken(queue)
    assert waits == [0.0, 5.0]
    queue.done(A)
    queue.add(A)
    seconds += 7
    assert (queue.waiting(), queue.oldest_waiting()) == (1, 7.0)
    queue.close()
    assert (queue.waiting(), queue.oldest_waiting()) == (0, 0.0)


async def test_closing_wakes_all_workers_and_takes_nothing_more() -> None:
    queue = WorkQueue()
    workers = [asyncio.create_task(queue.get()) for _ in range(3)]
    queue.add_after(A, 0.01)
    await asyncio.sleep(0)
    queue.close()
    queue.add(B)
    assert await asyncio.wait_for(asyncio.gather(*workers), 2) == [None, None, None]


async def test_no_key_is_lost_or_shared_under_load(eventually: Callable[[Callable[[], object]], Awaitable[object]]) -> None:
    queue = WorkQueue(max_per_namespace=3)
    under_work: set[Key] = set()
    wanted = {Key(str(number % 3), str(number)): 0 for number in range(50)}
    done = dict.fromkeys(wanted, 0)

    async def work() -> None:
        while (key := await queue.get()) is not None:
            assert key not in under_work
            under_work.add(key)
            assert sum(one.namespace == key.namespace for one in under_work) <= 3
            version = wanted[key]
            await asyncio.sleep(0)
            done[key] = version
            under_work.discard(key)
            queue.done(key)

    workers = [asyncio.create_task(work()) for _ in range(8)]
    for step in range(2000):
        key = Key(str(step % 50 % 3), str(step % 50))
        wanted[key] = step
        queue.add(key)
        if step % 7 == 0:
            await asyncio.sleep(0)
    await eventually(lambda: done == wanted)
    queue.close()
    await asyncio.gather(*workers)
