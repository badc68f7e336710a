"""A SPDY client for tests, on a byte stream in memory: small buffers, so that whoever is not read is soon held back."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

from shunter.cluster.node.streams import spdy_frames as frames


class MemoryStream:
    """One end of a connection in memory; `limit` bytes fit into it."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._chunks: deque[bytes] = deque()
        self._size = 0
        self._changed = asyncio.Condition()
        self.peer = self
        self.is_closed = False

    async def read(self) -> bytes:
        async with self._changed:
            await self._changed.wait_for(lambda: self._chunks or self.is_closed or self.peer.is_closed)
            if not self._chunks:
                return b""
            data = self._chunks.popleft()
            self._size -= len(data)
            self._changed.notify_all()
            return data

    async def write(self, data: bytes) -> None:
        target = self.peer
        async with target._changed:
            if self.is_closed or target.is_closed:
                raise ConnectionResetError("closed")
            target._chunks.append(data)
            target._size += len(data)
            target._changed.notify_all()
            await target._changed.wait_for(lambda: target._size <= target._limit or target.is_closed or self.is_closed)

    async def close(self) -> None:
        self.is_closed = True
        for end in (self, self.peer):
            async with end._changed:
                end._changed.notify_all()

    @property
    def waiting_bytes(self) -> int:
        """What was written to this end and not read yet."""
        return self._size


def connected(limit: int = 64 * 1024) -> tuple[MemoryStream, MemoryStream]:
    """Both ends of a connection."""
    one, other = MemoryStream(limit), MemoryStream(limit)
    one.peer, other.peer = other, one
    return one, other


class SpdyPeer:
    """The client's end: sends what a test says, and collects what comes."""

    def __init__(self, stream: MemoryStream) -> None:
        self.stream = stream
        self._reader = frames.FrameReader()
        self._writer = frames.FrameWriter()
        self.received: list[frames.Frame] = []

    async def send(self, *sent: frames.Frame) -> None:
        for frame in sent:
            await self.stream.write(self._writer.encode(frame))

    async def until(self, condition: Callable[[list[frames.Frame]], object]) -> list[frames.Frame]:
        """Everything that came, once it fulfils a condition; fails when the connection ends before."""
        async with asyncio.timeout(10):
            while not condition(self.received):
                data = await self.stream.read()
                assert data, f"the connection ended after {self.received}"
                self.received += self._reader.feed(data)
        return self.received

    async def end(self) -> list[frames.Frame]:
        """Everything that came, once the connection has ended."""
        async with asyncio.timeout(10):
            while data := await self.stream.read():
                self.received += self._reader.feed(data)
        return self.received
