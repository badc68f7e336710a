"""An HTTP server for tests on the wire: raw bytes in, raw bytes out."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import pytest
import uvloop

from shunter.kube.http.limits import Limits, Timeouts
from shunter.kube.http.request import Request
from shunter.kube.http.response import Response
from shunter.kube.http.server import HttpServer
from shunter.kube.http.server_connection import Accepts, Handler

DEADLINE = 10.0
BODY_LIMIT = 100
LAST = b"Connection: close\r\n"
QUICK = Timeouts(linger=0.3)
"""Nobody waits long for a client that does not hang up by itself."""

Wire = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Connect = Callable[[], Awaitable[Wire]]


def on_both_loops(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Runs a test on uvloop, as the processes do, and on asyncio's own loop, as everybody else."""

    @functools.wraps(test)
    def on_loop(*, new_loop: Callable[[], asyncio.AbstractEventLoop], **given: Any) -> None:
        with asyncio.Runner(loop_factory=new_loop) as runner:
            runner.run(test(**given))

    signature = inspect.signature(test)
    loop = inspect.Parameter("new_loop", inspect.Parameter.KEYWORD_ONLY)
    on_loop.__signature__ = signature.replace(parameters=[*signature.parameters.values(), loop])  # type: ignore[attr-defined]
    del on_loop.__wrapped__
    loops = pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
    on_both: Callable[..., None] = loops(on_loop)
    return on_both


class Wired(asyncio.Transport):
    """A transport that remembers what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.written = bytearray()

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += data

    def close(self) -> None:
        """There is nothing to close."""

    def is_closing(self) -> bool:
        return False

    def can_write_eof(self) -> bool:
        return False


@asynccontextmanager
async def serving(
    handler: Handler,
    limits: Limits | None = None,
    *,
    timeouts: Timeouts = QUICK,
    accepts: Accepts | None = None,
) -> AsyncIterator[tuple[HttpServer, Connect]]:
    """A server on a free port, and how to connect to it."""
    server = HttpServer(handler, limits or Limits(body=BODY_LIMIT), timeouts=timeouts, accepts=accepts)
    port = await server.start("127.0.0.1", 0)
    try:
        yield server, lambda: asyncio.open_connection("127.0.0.1", port)
    finally:
        await server.stop(DEADLINE)


async def echo(request: Request) -> Response:
    """What the server understood, as text."""
    query = ",".join(f"{name}={value}" for name, value in sorted(request.query.items()))
    size = "too large" if request.is_too_large else str(len(request.body))
    headers = ",".join(f"{name}={value}" for name, value in sorted(request.headers.items()) if name.startswith("x-"))
    return Response(f"{request.method} {request.path}|{query}|{headers}|{size}".encode())


async def asked(*sent: bytes, handler: Handler = echo, limits: Limits | None = None, accepts: Accepts | None = None) -> bytes:
    """Everything that comes back for these bytes, each sent when the ones before have been read, until the server hangs up."""
    async with asyncio.timeout(DEADLINE), serving(handler, limits, accepts=accepts) as (_, connect):
        reader, writer = await connect()
        for part in sent:
            writer.write(part)
            await writer.drain()
            await asyncio.sleep(0)
        with contextlib.suppress(ConnectionResetError):
            return await reader.read()
    raise AssertionError("the server reset the connection: the answer may be lost")


def answers(received: bytes) -> list[tuple[int, str]]:
    """Status and body of each answer that tells its length."""
    found = []
    while received:
        head, _, rest = received.partition(b"\r\n\r\n")
        length = next((int(line[15:]) for line in head.split(b"\r\n") if line.startswith(b"Content-Length:")), 0)
        found.append((int(head.split(b" ")[1]), rest[:length].decode()))
        received = rest[length:]
    return found


def bodies(received: bytes) -> list[str]:
    """The bodies of answers that tell their length."""
    return [body for _, body in answers(received)]
