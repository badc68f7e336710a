"""Groups take turns, whatever one of them has waiting; nothing is lost, and a place that was given up goes to the next."""

import asyncio
import random
from collections import deque

import pytest

from shunter.kube.controllers.fair_queue import FairQueue, FairSemaphore


def taken(queue: FairQueue[int]) -> list[tuple[str, int]]:
    return [queue.take() for _ in range(len(queue))]


def test_a_thousand_of_one_group_delay_another_by_one() -> None:
    queue: FairQueue[int] = FairQueue()
    for number in range(1000):
        queue.add("flood", number)
    queue.add("other", 0)
    assert [queue.take() for _ in range(3)] == [("flood", 0), ("other", 0), ("flood", 1)]
    assert taken(queue) == [("flood", number) for number in range(2, 1000)]
    assert not queue.has_next


def test_a_held_group_has_no_turn_and_loses_nothing() -> None:
    queue: FairQueue[int] = FairQueue()
    queue.add("a", 0)
    queue.hold("a")
    queue.add("a", 1)
    assert (queue.has_next, len(queue)) == (False, 2)
    queue.add("b", 0)
    assert queue.take() == ("b", 0)
    queue.release("a")
    queue.release("b")
    assert taken(queue) == [("a", 0), ("a", 1)]


@pytest.mark.parametrize("seed", range(20))
def test_it_is_as_a_plain_model_of_turns(seed: int) -> None:
    """The model: a list of groups in the order of their turns, searched from its start."""
    chance = random.Random(seed)
    queue: FairQueue[int] = FairQueue()
    items: dict[str, deque[int]] = {group: deque() for group in "abcd"}
    turns: list[str] = []
    held: set[str] = set()
    for step in range(500):
        group = chance.choice("abcd")
        match chance.choice(("add", "add", "take", "take", "hold", "release")):
            case "add":
                queue.add(group, step)
                items[group].append(step)
            case "take" if turns:
                first = turns.pop(0)
                assert queue.take() == (first, items[first].popleft())
                turns += [first] if items[first] else []
            case "hold":
                queue.hold(group)
                held.add(group)
            case "release":
                queue.release(group)
                held.discard(group)
        turns = [one for one in turns if one not in held]
        turns += [group] if items[group] and group not in held and group not in turns else []
        assert (queue.has_next, len(queue)) == (bool(turns), sum(map(len, items.values())))


async def test_no_more_have_a_place_than_there_are_and_groups_take_turns() -> None:
    semaphore = FairSemaphore(2)
    inside: list[str] = []
    order: list[str] = []

    async def enter(group: str) -> None:
        async with semaphore.place(group):
            inside.append(group)
            order.append(group)
            assert len(inside) <= 2
            await asyncio.sleep(0)
            inside.remove(group)

    waiting = [asyncio.create_task(enter("flood")) for _ in range(100)]
    await asyncio.sleep(0)
    waiting.append(asyncio.create_task(enter("other")))
    await asyncio.wait_for(asyncio.gather(*waiting), 5)
    assert len(order) == 101
    assert order.index("other") < 10
    await asyncio.wait_for(asyncio.gather(enter("a"), enter("b")), 5)


@pytest.mark.parametrize("is_given", [False, True], ids=["before its turn", "as its turn comes"])
async def test_who_is_cancelled_keeps_no_place(is_given: bool) -> None:
    semaphore = FairSemaphore(1)
    leave = asyncio.Event()

    async def hold() -> None:
        async with semaphore.place("a"):
            await leave.wait()

    first, second, third = (asyncio.create_task(hold()) for _ in range(3))
    await asyncio.sleep(0)
    if is_given:
        leave.set()
        await asyncio.sleep(0)
        assert first.done(), "it passed its place on, and the second has not run since"
    second.cancel()
    leave.set()
    await asyncio.wait_for(asyncio.gather(first, third), 2)
    assert second.cancelled()
    await asyncio.wait_for(hold(), 2)
