"""The node's server, and what it waits for."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from shunter.cluster.node.server import kubelet_api
from shunter.cluster.node.server.access import CredentialGuard, KubeletAccess
from shunter.cluster.node.server.kubelet_api import ContainerLog, KubeletServer
from shunter.kube.http.limits import Timeouts
from shunter.kube.tls.certificates import issue, new_authority

pytestmark = pytest.mark.integration

AUTHORITY = new_authority("tests")
DEADLINE = 20.0
TIMEOUTS = Timeouts(head=0.5, body=0.5, idle=0.5, answer=0.5, linger=0.5)


class Nothing:
    """What this server asks of a node, of which a test asks nothing."""

    async def stop(self) -> None:
        """There is nothing to stop."""

    def container_log(self, namespace: str, pod: str, container: str, *, previous: bool) -> ContainerLog:
        return ContainerLog(Path("/dev/null"), lambda: False)


@pytest.fixture
async def port(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[int]:
    monkeypatch.setattr(kubelet_api, "TIMEOUTS", TIMEOUTS)
    nothing: Any = Nothing()
    access = KubeletAccess(issue(AUTHORITY, "node", ["127.0.0.1"]), AUTHORITY.certificate, CredentialGuard(frozenset(("good",))))
    server = KubeletServer(access, nothing, nothing, nothing, tmp_path)
    yield await server.start("127.0.0.1")
    await server.stop()


def trusting() -> ssl.SSLContext:
    return ssl.create_default_context(cadata=AUTHORITY.certificate.decode())


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"GET /healthz HTTP/1.1\r\nHo", id="half a head"),
        pytest.param(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\nGET", id="a second request in part"),
    ],
)
async def test_who_asks_nothing_whole_is_cut(port: int, sent: bytes) -> None:
    async with asyncio.timeout(DEADLINE):
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=trusting())
        writer.write(sent)
        with contextlib.suppress(ConnectionError):
            await reader.read()
        writer.transport.abort()


async def test_who_does_not_agree_on_tls_is_cut(port: int) -> None:
    async with asyncio.timeout(DEADLINE):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        with contextlib.suppress(ConnectionError):
            assert await reader.read() == b""
        writer.close()


async def test_who_follows_a_log_is_not_cut(port: int) -> None:
    async with asyncio.timeout(DEADLINE):
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=trusting())
        writer.write(b"GET /containerLogs/a/b/c?follow=1 HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer good\r\n\r\n")
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200 ")
        more = asyncio.create_task(reader.read())
        await asyncio.wait([more], timeout=3 * max(TIMEOUTS))
        assert not more.done()
        more.cancel()
        writer.transport.abort()


async def test_body_of_nobody_is_not_awaited(port: int) -> None:
    async with asyncio.timeout(DEADLINE):
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=trusting())
        writer.write(b"POST /exec/a/b/c HTTP/1.1\r\nHost: a\r\nContent-Length: 3000000\r\n\r\nx")
        assert (await reader.readuntil(b"\r\n")).startswith(b"HTTP/1.1 401 ")
        writer.transport.abort()
