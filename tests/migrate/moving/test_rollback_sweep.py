"""Killed or refused at any write, forward or back, a plan loses no training, and its next rollback ends where all began."""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable

import pytest

from migrate.moving import undo_lifecycles
from migrate.moving.moves import Moves
from migrate.moving.test_kill_sweep import swept
from migrate.moving.undo_lifecycles import DISTURBANCES, Disturbance, Way
from shunter.migrate.moving.planning import PlanOptions

pytestmark = [pytest.mark.timeout(300), pytest.mark.integration]

WAYS = {
    "moved": Way(),
    "made beside": Way(PlanOptions(running="leave")),
    "deleted at the end": Way(cleans_up=True),
}
LIVES = [
    pytest.param(
        way, disturbance, id=f"{name}-{disturbance}", marks=[pytest.mark.long] * (disturbance == "refused" and not way.cleans_up)
    )
    for name, way in WAYS.items()
    for disturbance in DISTURBANCES
]
NewMoves = Callable[[], Awaitable[Moves]]


@pytest.fixture
def new_moves(moves: Moves) -> NewMoves:
    """A namespace of its own for each life."""
    lives = iter(range(1000))

    async def make() -> Moves:
        found = Moves(moves.client, moves.connection, f"m-{uuid.uuid4().hex[:8]}", moves.directory / str(next(lives)))
        await found.make_namespace()
        return found

    return make


@pytest.mark.parametrize(("way", "disturbance"), LIVES)
async def test_forward(way: Way, disturbance: Disturbance, new_moves: NewMoves) -> None:
    async def life(write: int) -> None:
        await undo_lifecycles.disturbed_forward(await new_moves(), way, disturbance, write)

    await swept(await undo_lifecycles.writes_forward(await new_moves(), way), life)


@pytest.mark.parametrize(("way", "disturbance"), LIVES)
async def test_back(way: Way, disturbance: Disturbance, new_moves: NewMoves) -> None:
    async def life(write: int) -> None:
        await undo_lifecycles.disturbed_back(await new_moves(), way, disturbance, write)

    await swept(await undo_lifecycles.writes_back(await new_moves(), way), life)
