"""An API server of its own for each test, and a screen that remembers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from cluster.api_server import RunningApiServer, start_api_server
from install.screen import Remembered
from shunter.cluster.controllers import namespaces
from shunter.kube import kubeconfig
from shunter.kube.client import Client, connect
from shunter.kube.controllers.manager import Manager


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RunningApiServer]:
    running = start_api_server(tmp_path / "state")
    yield running
    running.stop()


@pytest.fixture
async def client(server: RunningApiServer) -> AsyncIterator[Client]:
    """While it is there, deleted namespaces go."""
    async with connect(kubeconfig.load(server.kubeconfig)) as found:
        manager, stop = Manager(found, component="controllers", owns_process=False), asyncio.Event()
        namespaces.register(manager, found, root_ca="")
        controllers = asyncio.create_task(manager.run(stop))
        yield found
        stop.set()
        await controllers


@pytest.fixture
def screen() -> Remembered:
    return Remembered()
