"""A control plane without nodes, of the kind that `--cluster` names, with our operator inside the test's process."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from faults.operators import Operator
from faults.planes import Plane, new_plane
from migrate.moving.moves import Moves
from shunter.kube import kubeconfig
from shunter.kube.client import Client, connect
from shunter.kube.kubeconfig import Connection


@pytest.fixture(scope="session")
def plane(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plane]:
    running = new_plane(request.config.getoption("--cluster"), tmp_path_factory.mktemp("plane") / "state")
    yield running
    running.close()


@pytest.fixture
def connection(plane: Plane) -> Connection:
    return kubeconfig.load(plane.kubeconfig)


@pytest.fixture
async def client(connection: Connection) -> AsyncIterator[Client]:
    async with connect(connection) as found:
        yield found


@pytest.fixture
async def operator(connection: Connection) -> AsyncIterator[Operator]:
    running = Operator(connection)
    running.start()
    yield running
    await running.stop()


@pytest.fixture
async def moves(client: Client, connection: Connection, operator: Operator, tmp_path: Path) -> Moves:
    """A namespace of its own, and what a test does there."""
    found = Moves(client, connection, f"m-{uuid.uuid4().hex[:8]}", tmp_path)
    await found.make_namespace()
    return found
