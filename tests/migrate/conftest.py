"""A control plane without nodes, of the kind that `--cluster` names."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from faults.planes import Plane, new_plane
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
