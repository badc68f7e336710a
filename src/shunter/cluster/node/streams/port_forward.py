"""Connections to a pod's ports over one connection to the node. Source: k8s.io/cri-streaming 1.36 (`portforward`).

Over SPDY, also inside a WebSocket (kubectl), a connection is a pair of streams with the same requestID: one for its bytes, one
for what went wrong. The older WebSocket form (the Python client) is websocket_ports.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import NamedTuple, Protocol

from shunter.api.formats.digits import port_number
from shunter.cancelling import cancelled
from shunter.cluster.node.runtime.launcher_call import LauncherError
from shunter.cluster.node.streams.byte_stream import ByteStream
from shunter.cluster.node.streams.spdy import SpdyConnection, SpdyStream

PROTOCOL = "portforward.k8s.io"
_PAIR_SECONDS = 30.0
_LAST_WORDS_SECONDS = 1.0
"""For the client to send, once the pod's side of a connection has ended; as containerd."""
_BUFFER_BYTES = 128 * 1024
_CHUNK = 64 * 1024


class ForwardedPod(NamedTuple):
    """A pod whose ports are forwarded; `connect` raises LauncherError or OSError."""

    name: str
    uid: str
    connect: Callable[[int], Awaitable[socket.socket]]


class Pipe(Protocol):
    """One forwarded connection, on the client's side."""

    async def read(self) -> bytes:
        """What came; empty when the client sends no more."""

    async def write(self, data: bytes) -> None:
        """Raises ConnectionError when the client takes no more."""

    async def finish(self) -> None:
        """Says that no more comes."""


async def forward(pod: ForwardedPod, port: int, pipe: Pipe) -> str:
    """Carries one connection until the pod's side has ended; returns what went wrong, in kubelet's words, or nothing."""
    try:
        connection = await pod.connect(port)
    except (LauncherError, OSError) as error:
        why = error.message if isinstance(error, LauncherError) else str(error)
        return f"error forwarding port {port} to pod {pod.name}, uid {pod.uid}: failed to execute portforward: {why}"
    reader, writer = await asyncio.open_connection(sock=connection, limit=_BUFFER_BYTES)
    sending = asyncio.create_task(_send(pipe, writer))
    try:
        with suppress(ConnectionError):
            while data := await reader.read(_CHUNK):
                await pipe.write(data)
        await pipe.finish()
        # A side that closed its end may still read, but seldom does; not every client can say that it has no more to send.
        await asyncio.wait((sending,), timeout=_LAST_WORDS_SECONDS)
    finally:
        sending.cancel()
        writer.close()
    return ""


async def _send(pipe: Pipe, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while data := await pipe.read():
            writer.write(data)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()


class _Pair:
    def __init__(self) -> None:
        self.streams: dict[str, SpdyStream] = {}
        self.is_complete = asyncio.Event()


class PortForwarding:
    """Serves the port-forward of one client over SPDY."""

    def __init__(self, transport: ByteStream, pod: ForwardedPod) -> None:
        self._connection = SpdyConnection(transport, self._admit)
        self._pod = pod
        self._pairs: dict[str, _Pair] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Until the client goes away."""
        try:
            await self._connection.run()
        finally:
            await cancelled(self._tasks)
            await self._connection.close()

    def _admit(self, stream: SpdyStream) -> bool:
        kind, port = stream.headers.get("streamtype", ""), stream.headers.get("port", "")
        if kind not in ("data", "error") or port_number(port) is None:
            return False
        # Clients that number their requests do not exist any more, but a number costs nothing: error streams come first.
        request = stream.headers.get("requestid") or str(stream.number - (2 if kind == "data" else 0))
        pair = self._pairs.get(request)
        if pair is None:
            pair = self._pairs[request] = _Pair()
            task = asyncio.create_task(self._serve(request, pair))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        if kind in pair.streams:
            return False
        pair.streams[kind] = stream
        if len(pair.streams) == 2:
            pair.is_complete.set()
        return True

    async def _serve(self, request: str, pair: _Pair) -> None:
        try:
            async with asyncio.timeout(_PAIR_SECONDS):
                await pair.is_complete.wait()
            data = pair.streams["data"]
            problem = await forward(self._pod, int(data.headers["port"]), data)
        except TimeoutError:
            problem = f"request {request}: timed out waiting for streams"
        self._pairs.pop(request, None)
        if problem and (errors := pair.streams.get("error")):
            with suppress(ConnectionError):
                await errors.write(problem.encode())
        for stream in pair.streams.values():
            stream.inbox.ignore()
            await stream.finish()
