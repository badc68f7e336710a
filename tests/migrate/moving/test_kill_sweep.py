"""Killed after any write and run again, a plan ends as if it had not been, by the same objects; so does its rollback."""

from __future__ import annotations

import uuid
from collections.abc import Callable

import pytest

from migrate.moving.moves import Moves, shape
from shunter.kube.faults import Killed
from shunter.migrate.moving.planning import Wishes

pytestmark = pytest.mark.timeout(300)

MOST_WRITES = 40


@pytest.fixture
def new_moves(moves: Moves) -> Callable[[], Moves]:
    """Another namespace for each life."""
    lives = iter(range(1000))

    def make() -> Moves:
        directory = moves.directory / str(next(lives))
        return Moves(moves.client, moves.connection, f"m-{uuid.uuid4().hex[:8]}", directory)

    return make


async def submitted(moves: Moves) -> Moves:
    await moves.make_namespace()
    await moves.submit("runs")
    await moves.submit("waits", suspend=True)
    await moves.until_state("waits", "Suspended")
    return moves


async def test_a_plan_that_is_killed_after_any_write_ends_as_if_it_had_not_been(new_moves: Callable[[], Moves]) -> None:
    moves = await submitted(new_moves())
    plan = await moves.plan(Wishes(running="move"))
    assert (await moves.apply(plan)).is_complete
    wanted, steps = await moves.state(), shape(await moves.read_journal(plan), plan, moves.namespace)
    for writes in range(1, MOST_WRITES):
        moves = await submitted(new_moves())
        plan = await moves.plan(Wishes(running="move"))
        async with moves.dying(writes) as client:
            try:
                finished = await moves.apply(plan, client=client)
            except* Killed:
                finished = None
        before = await moves.uids()
        assert (await moves.apply(plan)).is_complete, f"killed after {writes} writes"
        assert await moves.state() == wanted, f"killed after {writes} writes"
        assert before.items() <= (await moves.uids()).items(), f"killed after {writes} writes: an object was made anew"
        assert shape(await moves.read_journal(plan), plan, moves.namespace) == steps
        if finished is not None:
            return
    pytest.fail(f"after {MOST_WRITES} writes it is not at its end")


async def test_a_rollback_that_is_killed_after_any_write_ends_where_all_began(new_moves: Callable[[], Moves]) -> None:
    for writes in range(1, MOST_WRITES):
        moves = await submitted(new_moves())
        before = await moves.state()
        plan = await moves.plan(Wishes(running="move"))
        assert (await moves.apply(plan)).is_complete
        async with moves.dying(writes) as client:
            try:
                finished = await moves.roll_back(plan, client=client)
            except* Killed:
                finished = None
        await moves.roll_back(plan)
        assert await moves.state() == before, f"killed after {writes} writes"
        if finished is not None:
            return
    pytest.fail(f"after {MOST_WRITES} writes it is not at its end")


async def test_a_rollback_of_a_plan_that_was_killed_ends_where_all_began(new_moves: Callable[[], Moves]) -> None:
    for writes in range(1, MOST_WRITES):
        moves = await submitted(new_moves())
        before = await moves.state()
        plan = await moves.plan(Wishes(running="move"))
        async with moves.dying(writes) as client:
            try:
                finished = await moves.apply(plan, client=client)
            except* Killed:
                finished = None
        undone = await moves.roll_back(plan)
        assert {undo.verdict for undo, _ in undone} <= {"delete", "patch", "nothing"}, f"killed after {writes} writes"
        assert await moves.state() == before, f"killed after {writes} writes"
        if finished is not None:
            return
    pytest.fail(f"after {MOST_WRITES} writes it is not at its end")
