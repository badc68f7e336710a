"""A client of exec or attach that speaks SPDY/3.1: streams for stdin, stdout, stderr, the terminal's sizes, and how it ended."""

from __future__ import annotations

import asyncio
import json
from collections import deque

from shunter.api.meta import Json
from shunter.cluster.node.streams.byte_stream import ByteStream
from shunter.cluster.node.streams.remote_command import CommandOptions, Size, SizeReader
from shunter.cluster.node.streams.spdy import SpdyConnection, SpdyStream

PROTOCOLS = ("v4.channel.k8s.io",)
"""Every client since Kubernetes 1.4 offers it."""
_CREATION_SECONDS = 30.0


class SpdyCommandClient:
    """See CommandClient. `start` must have returned before anything else is used."""

    def __init__(self, transport: ByteStream, options: CommandOptions) -> None:
        self._connection = SpdyConnection(transport, self._admit)
        self._expected = {"error", *options.streams, *(("resize",) if options.tty else ())}
        self._streams: dict[str, SpdyStream] = {}
        self._complete = asyncio.Event()
        self._sizes: deque[Size] = deque()
        self._size_reader = SizeReader()
        self._running: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Returns when the client has opened its streams. Raises TimeoutError, or ConnectionError when it went away."""
        self._running = asyncio.create_task(self._connection.run())
        complete = asyncio.create_task(self._complete.wait())
        try:
            await asyncio.wait((self._running, complete), timeout=_CREATION_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        finally:
            complete.cancel()
        if not self._complete.is_set():
            if self._running.done():
                raise ConnectionResetError("the client went away")
            raise TimeoutError("timed out waiting for client to create streams")

    async def stop(self) -> None:
        """Hangs up."""
        await self._connection.close()
        if self._running is not None:
            self._running.cancel()

    async def read_input(self) -> bytes:
        """From the stream stdin, whose end the client can tell."""
        return await self._streams["stdin"].read()

    def ignore_input(self) -> None:
        """Drops what comes on the stream stdin, so that it keeps nothing else from being read; without one there is nothing to
        drop."""
        if stdin := self._streams.get("stdin"):
            stdin.inbox.ignore()

    async def write_output(self, stream: str, data: bytes) -> None:
        """On the stream of that name. Raises ConnectionError when it or the connection is over."""
        await self._streams[stream].write(data)

    async def next_size(self) -> Size | None:
        """From the stream `resize`; None also once something came on it that is no JSON."""
        while not self._sizes:
            data = await self._streams["resize"].read()
            if not data:
                return None
            try:
                self._sizes.extend(self._size_reader.feed(data))
            except ValueError:
                self._streams["resize"].inbox.ignore()
                return None
        return self._sizes.popleft()

    async def wait_disconnected(self) -> None:
        """Until the connection has ended, by either side."""
        assert self._running is not None, "started"
        await asyncio.wait((self._running,))

    async def finish(self, status: Json) -> None:
        """On the stream `error`, after which all streams end. Raises ConnectionError when the client is gone."""
        await self._streams["error"].write(json.dumps(status).encode())
        for stream in self._streams.values():
            await stream.finish()

    def _admit(self, stream: SpdyStream) -> bool:
        kind = stream.headers.get("streamtype", "")
        if kind not in self._expected or kind in self._streams:
            return False
        self._streams[kind] = stream
        if self._streams.keys() == self._expected:
            self._complete.set()
        return True
