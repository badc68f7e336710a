"""Bytes between a pod and the API server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from shunter.cluster.node.launch.sockets import listener
from shunter.cluster.node.net.api_server_proxy import ApiServerProxy

pytestmark = pytest.mark.integration

HOST = "127.0.0.1"


async def _echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answers with all it got, once the other side has said all."""
    writer.write(await reader.read())
    writer.close()


@pytest.fixture
async def server() -> AsyncIterator[asyncio.Server]:
    started = await asyncio.start_server(_echo, HOST, 0)
    yield started
    started.close()


async def conversation(port: int, sent: bytes) -> bytes:
    reader, writer = await asyncio.open_connection(HOST, port)
    writer.write(sent)
    writer.write_eof()
    received = await reader.read()
    writer.close()
    return received


async def test_bytes_pass_both_ways_and_each_end_is_told_of_the_others(server: asyncio.Server) -> None:
    bound = listener(HOST, 0)
    port = bound.getsockname()[1]
    proxy = ApiServerProxy(HOST, server.sockets[0].getsockname()[1])
    await proxy.start(bound)
    sent = bytes(range(256)) * 4096
    assert await asyncio.gather(*(conversation(port, sent + bytes([n])) for n in range(5))) == [
        sent + bytes([n]) for n in range(5)
    ]
    await proxy.stop()


async def test_without_a_server_the_pod_is_hung_up_on() -> None:
    bound, nobody = listener(HOST, 0), listener(HOST, 0)
    port = bound.getsockname()[1]
    proxy = ApiServerProxy(HOST, nobody.getsockname()[1])
    await proxy.start(bound)
    assert await conversation(port, b"hello") == b""
    await proxy.stop()
    nobody.close()
