"""Embedded servers to ask, and the answers of every case file, played once."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache

import aiohttp
import pytest

from cluster.api_server import RunningApiServer, start_api_server
from vectors.case import CaseFile, Json, load
from vectors.hooks import serving
from vectors.play import Server, play

Played = Callable[[str], dict[str, list[Json]]]


@pytest.fixture(scope="session")
def quiet_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningApiServer]:
    """An API server that nobody but the cases writes to."""
    server = start_api_server(tmp_path_factory.mktemp("quiet"))
    yield server
    server.stop()


@pytest.fixture(scope="session")
def controlled_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningApiServer]:
    """An API server with all controllers, but no scheduler and no node."""
    server = start_api_server(tmp_path_factory.mktemp("controlled"))
    command = [sys.executable, "-m", "shunter.cluster.agent", "--state-dir", str(server.state.root), "--no-node"]
    with open(server.state.logs / "agent.log", "ab") as log:
        agent = subprocess.Popen(command, stdout=log, stderr=log)
    yield server
    agent.terminate()
    agent.wait(timeout=15)
    server.stop()


@pytest.fixture(scope="session")
def played(request: pytest.FixtureRequest) -> Played:
    """`played(FILE)`: the embedded server's answers to the cases of a file."""

    @cache
    def answers(name: str) -> dict[str, list[Json]]:
        file = load(name)
        server = request.getfixturevalue("controlled_server" if file.controllers else "quiet_server")
        return asyncio.run(_played(server, file))

    return answers


async def _played(server: RunningApiServer, file: CaseFile) -> dict[str, list[Json]]:
    connector = aiohttp.TCPConnector(ssl=server.tls, limit=0)
    headers = {"Authorization": f"Bearer {server.token}"}
    async with (
        aiohttp.ClientSession(server.url, connector=connector, headers=headers, read_bufsize=2**22) as session,
        aiohttp.ClientSession(server.url, connector=aiohttp.TCPConnector(ssl=server.tls)) as stranger,
        serving() as hooks,
    ):
        return await play(Server(session, hooks, stranger), file)
