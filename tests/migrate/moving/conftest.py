"""Our operator inside the test's process, and a namespace in which jobs are moved."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from faults.operators import Operator
from migrate.moving.moves import Moves
from shunter.kube.client import Client
from shunter.kube.kubeconfig import Connection


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
