"""An HTTP/1.1 server for many small requests: one task a connection, one write an answer, nothing built that is not read.

A request reaches the handler with its whole body. The handler returns a `Response`, or answers by itself, with `Request.stream`
or `Request.take_over`, and returns None. Know before changing it: every request of the embedded cluster passes here. It stands in
the place of aiohttp's server because that took a quarter of the API server's time (docs/architecture.md). Heads are read by
`http_head`, chunks by `http_chunks`; what clients may, and for how long, is in `http_limits`.
"""

from __future__ import annotations

import asyncio
import socket
import ssl

from shunter.kube.http.limits import ConnectionUsage, Limits, Timeouts
from shunter.kube.http.server_connection import Accepts, Connection, Handler, Service

_BACKLOG = 1024
_LOOKS = 2
"""At overdue connections, within the shortest time that any may take."""


class HttpServer:
    """Listens, and is the protocol factory of its connections. A handler is cancelled when its client goes away."""

    def __init__(
        self, handler: Handler, limits: Limits, *, timeouts: Timeouts | None = None, accepts: Accepts | None = None
    ) -> None:
        self._service = Service(handler, limits, timeouts or Timeouts(), accepts)
        self._usage: ConnectionUsage[Connection] = ConnectionUsage(limits)
        self._watch: asyncio.Task[None] | None = None
        self._listener: asyncio.Server | None = None

    def __call__(self) -> Connection:
        """The protocol of one new connection, as asyncio asks a protocol factory for it."""
        return Connection(self._service, self._usage)

    @property
    def held(self) -> int:
        """Bytes of requests that have come and are not answered, of all connections."""
        return self._usage.held

    @property
    def connections(self) -> int:
        """How many there are."""
        return len(self._usage.connections)

    async def start(self, host: str, port: int, tls: ssl.SSLContext | None = None) -> int:
        """Listens, with an empty host on all interfaces, and returns the port, which is a free one for 0. Raises OSError."""
        listener = await asyncio.get_running_loop().create_server(
            self, host or None, port, ssl=tls, backlog=_BACKLOG, ssl_handshake_timeout=self._handshake_seconds(tls)
        )
        self._serve(listener)
        return int(listener.sockets[0].getsockname()[1])

    async def start_on(self, listener: socket.socket, tls: ssl.SSLContext | None = None) -> None:
        """Serves on a socket that is bound, and whose clients may be connected already. It is closed with the server."""
        self._serve(
            await asyncio.get_running_loop().create_server(
                self, sock=listener, ssl=tls, backlog=_BACKLOG, ssl_handshake_timeout=self._handshake_seconds(tls)
            )
        )

    def _handshake_seconds(self, tls: ssl.SSLContext | None) -> float | None:
        return self._service.timeouts.head if tls else None

    def _serve(self, listener: asyncio.Server) -> None:
        self._listener = listener
        self._watch = asyncio.get_running_loop().create_task(self._cut_overdue())

    async def stop(self, seconds: float) -> None:
        """Accepts no more connections, waits that long for requests in progress, and closes the connections."""
        if self._listener is not None:
            self._listener.close()
        if self._watch is not None:
            self._watch.cancel()
        connections = tuple(self._usage.connections)
        tasks = [connection.task for connection in connections if connection.task is not None]
        for connection in connections:
            connection.close_when_answered()
        if tasks:
            await asyncio.wait(tasks, timeout=seconds)
        for connection in tuple(self._usage.connections):
            connection.abort()

    async def _cut_overdue(self) -> None:
        loop = asyncio.get_running_loop()
        pause = min(self._service.timeouts) / _LOOKS
        while True:
            await asyncio.sleep(pause)
            now = loop.time()
            for connection in tuple(self._usage.connections):
                if now > connection.deadline:
                    connection.give_up()
