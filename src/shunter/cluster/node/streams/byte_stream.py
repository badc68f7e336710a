"""A connection as SPDY and port-forward see it: bytes both ways, over TCP or in the messages of a WebSocket."""

from __future__ import annotations

import asyncio
from typing import Protocol

from shunter.kube.http.websocket import WebSocket

_CHUNK = 64 * 1024


class ByteStream(Protocol):
    """Bytes both ways. Several tasks may write; what one call writes stays in one piece."""

    async def read(self) -> bytes:
        """What has come; empty at the end."""

    async def write(self, data: bytes) -> None:
        """Returns when the peer keeps up. Raises ConnectionError when it is gone."""

    async def close(self) -> None:
        """Sends what was written and ends the connection."""


class SocketStream:
    """A TCP connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def read(self) -> bytes:
        """At most 64 KiB at a time; a connection that was reset has ended."""
        try:
            return await self._reader.read(_CHUNK)
        except ConnectionError:
            return b""

    async def write(self, data: bytes) -> None:
        """Raises ConnectionError also when we have closed it."""
        if self._writer.is_closing():
            raise ConnectionResetError("the connection is closed")
        self._writer.write(data)
        await self._writer.drain()

    async def close(self) -> None:
        """Returns at once; what was written is still sent."""
        self._writer.close()


class MessageStream:
    """A WebSocket whose messages, one after the other, are the bytes (`SPDY/3.1+...` subprotocols)."""

    def __init__(self, socket: WebSocket) -> None:
        self._socket = socket

    async def read(self) -> bytes:
        """The next message as a whole."""
        return await self._socket.receive()

    async def write(self, data: bytes) -> None:
        """One binary message for each call. Raises ConnectionError when the peer is gone."""
        await self._socket.send(data)

    async def close(self) -> None:
        """With the closing handshake of WebSocket; a peer that does not answer it in time is cut off."""
        await self._socket.close()
