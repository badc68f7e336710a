"""A migration that went to its end, v1's definition of the jobs included, is undone: killed or refused at any write."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from faults.disturbance import swept
from faults.operators import Operator
from migrate.moving import undo_lifecycles
from migrate.moving.moves import Moves
from migrate.moving.undo_lifecycles import DISTURBANCES, Disturbance, Way
from shunter.api.training.pytorch import PYTORCH_JOBS
from shunter.kube.client import Client, connect
from shunter.kube.kubeconfig import Connection

pytestmark = pytest.mark.timeout(600)

TO_THE_END = Way(cleans_up=True, finalizes=True)
NewMoves = Callable[[], Awaitable[Moves]]


@pytest.fixture
async def client(server: Connection) -> AsyncIterator[Client]:
    async with connect(server) as found:
        yield found


@pytest.fixture
async def new_moves(server: Connection, client: Client, tmp_path: Path) -> AsyncIterator[NewMoves]:
    """A namespace of its own for each life, on a plane that has no other jobs of v1: they would keep its definition."""
    operator = Operator(server)
    operator.start()
    lives = iter(range(1000))

    async def make() -> Moves:
        for job in (await client.list(PYTORCH_JOBS)).items:
            await client.delete(PYTORCH_JOBS, job["metadata"]["name"], job["metadata"]["namespace"])
        found = Moves(client, server, f"m-{uuid.uuid4().hex[:8]}", tmp_path / str(next(lives)))
        await found.make_namespace()
        return found

    yield make
    await operator.stop()


@pytest.mark.parametrize("disturbance", DISTURBANCES)
async def test_forward(disturbance: Disturbance, new_moves: NewMoves) -> None:
    writes = await undo_lifecycles.writes_forward(await new_moves(), TO_THE_END)
    for write in swept(range(1, writes + 1)):
        await undo_lifecycles.disturbed_forward(await new_moves(), TO_THE_END, disturbance, write)


@pytest.mark.parametrize("disturbance", DISTURBANCES)
async def test_back(disturbance: Disturbance, new_moves: NewMoves) -> None:
    writes = await undo_lifecycles.writes_back(await new_moves(), TO_THE_END)
    for write in swept(range(1, writes + 1)):
        await undo_lifecycles.disturbed_back(await new_moves(), TO_THE_END, disturbance, write)
