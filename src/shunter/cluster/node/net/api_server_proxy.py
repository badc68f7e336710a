"""A way to the API server, or to another service of this machine, for pods that reach nothing but each other: connections to one
address of their network are passed on, bytes as they are, so TLS is between the pod and the server."""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress
from logging import getLogger

log = getLogger(__name__)

_BLOCK = 64 * 1024
_CONNECT_SECONDS = 10.0


class ApiServerProxy:
    """Passes connections on to one host and port."""

    def __init__(self, host: str, port: int) -> None:
        self._host = host
        self._port = port
        self._server: asyncio.Server | None = None
        self._conversations: set[asyncio.Task[None]] = set()

    async def start(self, listener: socket.socket) -> None:
        """Accepts connections on a bound socket."""
        self._server = await asyncio.start_server(self._accept, sock=listener)

    async def stop(self) -> None:
        """Hangs up; pods connect again to the next one."""
        if self._server is not None:
            self._server.close()
        for conversation in self._conversations:
            conversation.cancel()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        conversation = asyncio.ensure_future(self._converse(reader, writer))
        self._conversations.add(conversation)
        conversation.add_done_callback(self._conversations.discard)

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(_CONNECT_SECONDS):
                server_reader, server_writer = await asyncio.open_connection(self._host, self._port)
        except OSError as error:
            log.warning("A pod could not be connected to %s:%d: %s", self._host, self._port, error)
            writer.close()
            return
        try:
            await asyncio.gather(_pass_on(reader, server_writer), _pass_on(server_reader, writer))
        finally:
            writer.close()
            server_writer.close()


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Until the reader's side ends; then the other side is closed, too."""
    with suppress(ConnectionError):
        while block := await reader.read(_BLOCK):
            writer.write(block)
            await writer.drain()
    if writer.can_write_eof() and not writer.is_closing():
        with suppress(OSError):
            writer.write_eof()
