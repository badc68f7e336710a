"""A client of exec or attach that speaks WebSocket: the first byte of a message says which stream it belongs to.

`v5.channel.k8s.io` (kubectl) can end its input with a message 255; `v4.channel.k8s.io` (the Python client) cannot.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque

from shunter.api.meta import Json
from shunter.cluster.node.streams.inbox import Budget, Inbox
from shunter.cluster.node.streams.remote_command import CommandOptions, Size, SizeReader
from shunter.kube.http.websocket import WebSocket

PROTOCOLS = ("v5.channel.k8s.io", "v4.channel.k8s.io")
_STDIN, _STDOUT, _STDERR, _ERROR, _RESIZE, _CLOSE = 0, 1, 2, 3, 4, 255
_OUTPUTS = {"stdout": _STDOUT, "stderr": _STDERR}
_HELD_BYTES = 1024 * 1024
_PIECE = 64 * 1024
_MAX_SIZES = 100


class WebSocketCommandClient:
    """See CommandClient. `start` must have returned before anything else is used."""

    def __init__(self, socket: WebSocket, options: CommandOptions) -> None:
        self._socket = socket
        self._can_close = socket.protocol == PROTOCOLS[0]
        self._options = options
        self._budget = Budget(_HELD_BYTES)
        self._input = Inbox(self._budget)
        self._sizes: deque[Size] = deque(maxlen=_MAX_SIZES)
        self._size_reader = SizeReader()
        self._news = asyncio.Event()
        self._running: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Tells the client that we are ready, with an empty message on the first channel it reads, as kubelet does."""
        first = next((_OUTPUTS[name] for name in self._options.streams if name in _OUTPUTS), _ERROR)
        await self._socket.send(bytes([first]))
        self._running = asyncio.create_task(self._receive())

    async def stop(self) -> None:
        """Hangs up."""
        if self._running is not None:
            self._running.cancel()
            await asyncio.wait((self._running,))
        await self._socket.close()

    async def read_input(self) -> bytes:
        """A client of v4 cannot end it: then it is empty only when the client is gone."""
        return await self._input.get()

    def ignore_input(self) -> None:
        """Drops what comes, so that it keeps nothing else from being read."""
        self._input.ignore()

    async def write_output(self, stream: str, data: bytes) -> None:
        """In messages with at most 64 KiB of output. Raises ConnectionError when the client is gone."""
        channel = bytes([_OUTPUTS[stream]])
        for start in range(0, len(data), _PIECE):
            await self._socket.send(channel + data[start : start + _PIECE])

    async def next_size(self) -> Size | None:
        """The oldest of the last 100 that came; None once the client is gone."""
        assert self._running is not None, "started"
        while not self._sizes:
            if self._running.done():
                return None
            self._news.clear()
            await self._news.wait()
        return self._sizes.popleft()

    async def wait_disconnected(self) -> None:
        """Until the client has closed the connection or is gone."""
        assert self._running is not None, "started"
        await asyncio.wait((self._running,))

    async def finish(self, status: Json) -> None:
        """In a message on channel 3; the connection stays until `stop`. Raises ConnectionError when the client is gone."""
        await self._socket.send(bytes([_ERROR]) + json.dumps(status).encode())

    async def _receive(self) -> None:
        try:
            while message := await self._socket.receive():
                self._take(message)
                await self._budget.room()
        finally:
            self._input.end()
            self._news.set()

    def _take(self, data: bytes) -> None:
        channel = data[0]
        if channel == _CLOSE and self._can_close:
            if data[1:] == bytes([_STDIN]):
                self._input.end()
        elif channel == _STDIN and self._options.stdin:
            self._input.put(data[1:])
        elif channel == _RESIZE and self._options.tty:
            try:
                self._sizes.extend(self._size_reader.feed(data[1:]))
            except ValueError:
                # The next message begins a new value.
                self._size_reader = SizeReader()
            self._news.set()
