"""The server's end of a SPDY/3.1 connection: streams that the client opens.

There are no windows: the peer neither keeps to them nor grants any. What holds a sender back is the connection itself, which is
read no further while `HELD_BYTES` lie here untaken.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from shunter.cluster.node.streams import spdy_frames as frames
from shunter.cluster.node.streams.byte_stream import ByteStream
from shunter.cluster.node.streams.inbox import Budget, Inbox

HELD_BYTES = 1024 * 1024
MAX_STREAMS = 2000
"""Open at the same time: a port-forward has two for each connection."""
_PIECE = 64 * 1024


class SpdyStream:
    """One stream, both ways."""

    def __init__(self, connection: SpdyConnection, number: int, headers: dict[str, str], inbox: Inbox) -> None:
        self._connection = connection
        self.number = number
        self.headers = headers
        self.inbox = inbox
        self._write_ended = False

    @property
    def is_over(self) -> bool:
        """Whether neither side writes any more; what came may still wait to be read."""
        return self._write_ended and self.inbox.has_ended

    async def read(self) -> bytes:
        """What has come; empty at the end."""
        return await self.inbox.get()

    async def write(self, data: bytes) -> None:
        """Sends data. Raises ConnectionError when the stream or the connection is over."""
        view = memoryview(data)
        for start in range(0, len(view), _PIECE):
            if self._write_ended:
                raise ConnectionResetError("the stream is over")
            await self._connection.send(frames.Data(self.number, bytes(view[start : start + _PIECE])))

    async def finish(self) -> None:
        """Says that nothing more will be written."""
        if not self._write_ended:
            self._write_ended = True
            with suppress(ConnectionError):
                await self._connection.send(frames.Data(self.number, b"", fin=True))
            self._connection.forget_if_over(self)

    def end(self) -> None:
        """The client reset the stream, or the connection is lost. What came before can still be read."""
        self._write_ended = True
        self.inbox.end()


class SpdyConnection:
    """Serves the streams of one client; `admit` says for each whether it is wanted."""

    def __init__(self, transport: ByteStream, admit: Callable[[SpdyStream], bool]) -> None:
        self._transport = transport
        self._admit = admit
        self._reader = frames.FrameReader()
        self._writer = frames.FrameWriter()
        self._budget = Budget(HELD_BYTES)
        self._streams: dict[int, SpdyStream] = {}
        self._last = 0
        self._lost = False

    async def run(self) -> None:
        """Reads until the client is gone or breaks the protocol; then every stream is over."""
        try:
            while not self._lost and (data := await self._transport.read()):
                for frame in self._reader.feed(data):
                    if isinstance(frame, frames.GoAway):
                        return
                    await self._receive(frame)
                await self._budget.room()
        except frames.FrameError:
            with suppress(ConnectionError):
                await self.send(frames.GoAway(self._last, frames.BROKEN_PROTOCOL))
        except ConnectionError:
            return
        finally:
            self._lost = True
            for stream in self._streams.values():
                stream.end()
            self._streams.clear()

    async def send(self, frame: frames.Frame) -> None:
        """Sends a frame; returns when the client keeps up. Raises ConnectionError."""
        if self._lost:
            raise ConnectionResetError("the connection is lost")
        # Encoded and handed on without a pause between: the order of header blocks matters.
        await self._transport.write(self._writer.encode(frame))

    async def close(self) -> None:
        """Ends the connection in good order; what was written is still sent."""
        with suppress(ConnectionError):
            await self.send(frames.GoAway(self._last, frames.GOING_AWAY))
        self._lost = True
        await self._transport.close()

    def forget_if_over(self, stream: SpdyStream) -> None:
        """Frees the place that a stream has among MAX_STREAMS, once both sides have ended it."""
        if stream.is_over:
            self._streams.pop(stream.number, None)

    async def _receive(self, frame: frames.Frame) -> None:
        match frame:
            case frames.Open(number, headers, fin):
                await self._open(number, headers, fin=fin)
            case frames.Data(number, data, fin) if stream := self._streams.get(number):
                stream.inbox.put(data)
                if fin:
                    stream.inbox.end()
                    self.forget_if_over(stream)
            case frames.Reset(number) if stream := self._streams.pop(number, None):
                stream.end()
            case frames.Ping(number) if number % 2:
                # Odd ones are the client's; we send none ourselves.
                await self.send(frame)
            case _:
                return

    async def _open(self, number: int, headers: dict[str, str], *, fin: bool) -> None:
        if number % 2 == 0 or number <= self._last:
            raise frames.FrameError(f"stream {number} opened after stream {self._last}")
        self._last = number
        if len(self._streams) >= MAX_STREAMS:
            await self.send(frames.Reset(number, frames.REFUSED_STREAM))
            return
        stream = SpdyStream(self, number, headers, Inbox(self._budget))
        if fin:
            stream.inbox.end()
        self._streams[number] = stream
        # Before it is admitted: what takes the stream may write at once, and the reply has to come first.
        await self.send(frames.Reply(number, {}))
        if not self._admit(stream):
            del self._streams[number]
            await self.send(frames.Reset(number, frames.CANCEL))
