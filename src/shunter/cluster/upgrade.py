"""Connections after an upgrade (`101 Switching Protocols`), on both sides of the wire between API server and node."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from aiohttp import web
from aiohttp.abc import AbstractStreamWriter

BUFFER_BYTES = 128 * 1024
"""Twice this may lie unread on a connection before the peer is held back."""


class TakenOver(web.StreamResponse):
    """What an aiohttp handler returns for a connection that it took over and is done with: nothing more is sent."""

    async def prepare(self, request: web.BaseRequest) -> AbstractStreamWriter | None:
        return None

    async def write_eof(self, data: bytes = b"") -> None:
        self.force_close()

    @property
    def keep_alive(self) -> bool:
        return False


def wants_upgrade(headers: Mapping[str, str]) -> bool:
    """Whether a request asks for another protocol."""
    return "upgrade" in headers.get("Connection", "").lower()


def take_over(request: web.BaseRequest) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """The connection of an aiohttp request: aiohttp itself upgrades to WebSocket only. The server still closes the connection
    once the handler has returned `TakenOver`. Raises ConnectionResetError when the client is gone."""
    transport = request.transport
    if transport is None:
        raise ConnectionResetError("the client went away")
    former = transport.get_protocol()
    return connection_streams(transport, former=former)


def connection_streams(
    transport: asyncio.Transport, *, received: bytes = b"", former: asyncio.BaseProtocol | None = None
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Streams on a transport that had another protocol so far. `received` is what came for them already; `former` is told when
    the connection is lost."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=BUFFER_BYTES, loop=loop)
    if received:
        reader.feed_data(received)
    protocol = _Successor(reader, former)
    transport.set_protocol(protocol)
    protocol.connection_made(transport)
    # Whoever had it may have held the client back.
    transport.resume_reading()
    return reader, asyncio.StreamWriter(transport, protocol, reader, loop)


class _Successor(asyncio.StreamReaderProtocol):
    def __init__(self, reader: asyncio.StreamReader, former: asyncio.BaseProtocol | None) -> None:
        super().__init__(reader)
        self._former = former

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if self._former is not None:
            # Later: the handler shall see the end of its streams first, not be cancelled for a lost client.
            asyncio.get_running_loop().call_soon(self._former.connection_lost, exc)
