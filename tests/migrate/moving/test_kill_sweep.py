"""Killed after any write and run again, a plan ends as if it had not been, by the same objects; so does its rollback."""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections.abc import Awaitable, Callable

import pytest

from fault_transport import Killed
from migrate.moving.moves import Moves, shape
from shunter.migrate.moving.plan import Plan
from shunter.migrate.moving.planning import PlanOptions

pytestmark = [pytest.mark.timeout(300), pytest.mark.integration]

AT_ONCE = 6
"""Lives that are led at the same time, each in its own namespace."""

NewMoves = Callable[[], Awaitable[tuple[Moves, Plan]]]


@pytest.fixture
def new_moves(moves: Moves) -> NewMoves:
    """A namespace with a job that runs and one that waits, and the plan that moves both."""
    lives = iter(range(1000))

    async def make() -> tuple[Moves, Plan]:
        found = Moves(moves.client, moves.connection, f"m-{uuid.uuid4().hex[:8]}", moves.directory / str(next(lives)))
        await found.make_namespace()
        await found.submit("runs", args=["--name", "runs"])
        await found.submit("waits", suspend=True, args=["--name", "waits"])
        await found.until_state("waits", "Suspended")
        return found, await found.plan(PlanOptions(running="move"))

    return make


async def swept(writes: int, life: Callable[[int], Awaitable[None]]) -> None:
    """Leads a life for each write after which it is killed."""
    gate = asyncio.Semaphore(AT_ONCE)

    async def lead(killed_after: int) -> None:
        async with gate:
            await life(killed_after)

    async with asyncio.TaskGroup() as group:
        for killed_after in range(1, writes + 1):
            group.create_task(lead(killed_after))


async def test_a_plan_that_is_killed_after_any_write_ends_as_if_it_had_not_been(new_moves: NewMoves) -> None:
    undisturbed, plan = await new_moves()
    async with undisturbed.counting() as (client, count):
        assert (await undisturbed.apply(plan, client=client)).is_complete
    wanted, steps = await undisturbed.state(), shape(await undisturbed.read_journal(plan), plan, undisturbed.namespace)

    async def life(killed_after: int) -> None:
        moves, plan = await new_moves()
        async with moves.dying(killed_after) as client:
            await until_killed(moves.apply(plan, client=client))
        before = await moves.uids()
        assert (await moves.apply(plan)).is_complete, f"killed after {killed_after} writes"
        assert await moves.state() == wanted, f"killed after {killed_after} writes"
        assert before.items() <= (await moves.uids()).items(), f"killed after {killed_after} writes: made anew"
        assert shape(await moves.read_journal(plan), plan, moves.namespace) == steps

    await swept(count(), life)


async def test_a_move_that_was_killed_is_gone_on_with_by_a_plan_that_is_made_again(new_moves: NewMoves) -> None:
    undisturbed, plan = await new_moves()
    async with undisturbed.counting() as (client, count):
        assert (await undisturbed.apply(plan, client=client)).is_complete
    wanted = await undisturbed.state()
    half_done: list[int] = []

    async def life(killed_after: int) -> None:
        moves, plan = await new_moves()
        async with moves.dying(killed_after) as client:
            await until_killed(moves.apply(plan, client=client))
        if not (train_job := await moves.train_job("runs")):
            return
        if train_job["spec"]["suspend"] and (await moves.v1("runs"))["spec"]["runPolicy"]["suspend"]:
            half_done.append(killed_after)
        again = await moves.plan()
        assert again.id == plan.id
        assert (await moves.apply(again)).is_complete, f"killed after {killed_after} writes"
        assert await moves.state() == wanted, f"killed after {killed_after} writes"

    await swept(count(), life)
    assert half_done


async def test_a_rollback_of_a_plan_that_was_killed_ends_where_all_began(new_moves: NewMoves) -> None:
    undisturbed, plan = await new_moves()
    async with undisturbed.counting() as (client, count):
        assert (await undisturbed.apply(plan, client=client)).is_complete

    async def life(killed_after: int) -> None:
        moves, plan = await new_moves()
        before = await moves.state()
        async with moves.dying(killed_after) as client:
            await until_killed(moves.apply(plan, client=client))
        undone = await moves.roll_back(plan)
        assert {undo.verdict for undo, _ in undone} <= {"delete", "patch", "nothing"}, f"killed after {killed_after} writes"
        assert await moves.state() == before, f"killed after {killed_after} writes"

    await swept(count(), life)


async def test_a_rollback_that_is_killed_after_any_write_ends_where_all_began(new_moves: NewMoves) -> None:
    undisturbed, plan = await new_moves()
    assert (await undisturbed.apply(plan)).is_complete
    async with undisturbed.counting() as (client, count):
        await undisturbed.roll_back(plan, client=client)

    async def life(killed_after: int) -> None:
        moves, plan = await new_moves()
        before = await moves.state()
        assert (await moves.apply(plan)).is_complete
        async with moves.dying(killed_after) as client:
            await until_killed(moves.roll_back(plan, client=client))
        await moves.roll_back(plan)
        assert await moves.state() == before, f"killed after {killed_after} writes"

    await swept(count(), life)


async def until_killed(work: Awaitable[object]) -> None:
    """Returns when `work` is dead; or at its end, as a conflict more or less makes a life longer or shorter."""
    with contextlib.suppress(Killed):
        await work
