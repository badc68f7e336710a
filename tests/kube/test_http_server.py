"""The HTTP server on the wire: raw bytes in, raw bytes out."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from shunter.kube.http_server import HEAD_LIMIT, Handler, HttpServer, Patience, Request, Response

DEADLINE = 5.0
BODY_LIMIT = 100

Wire = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@asynccontextmanager
async def serving(
    handler: Handler, patience: Patience | None = None
) -> AsyncIterator[tuple[HttpServer, Callable[[], Awaitable[Wire]]]]:
    """A server on a free port, and how to connect to it."""
    server = HttpServer(handler, body_limit=BODY_LIMIT, patience=patience)
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


async def asked(sent: bytes, handler: Handler = echo) -> bytes:
    """Everything that comes back for these bytes until the server hangs up, which the last request must ask for."""
    async with asyncio.timeout(DEADLINE), serving(handler) as (_, connect):
        reader, writer = await connect()
        writer.write(sent)
        answer = await reader.read()
        writer.close()
        return answer


def bodies(answers: bytes) -> list[str]:
    """The bodies of answers that tell their length."""
    found = []
    while answers:
        head, _, rest = answers.partition(b"\r\n\r\n")
        length = next((int(line[15:]) for line in head.split(b"\r\n") if line.startswith(b"Content-Length:")), 0)
        found.append(rest[:length].decode())
        answers = rest[length:]
    return found


LAST = b"Connection: close\r\n"


@pytest.mark.parametrize(
    ("sent", "understood"),
    [
        pytest.param(b"GET /a HTTP/1.1\r\n%b\r\n" % LAST, ["GET /a|||0"], id="a request without a body"),
        pytest.param(
            b"POST /a HTTP/1.1\r\n%bContent-Length: 3\r\n\r\nabc" % LAST, ["POST /a|||3"], id="a body of a known length"
        ),
        pytest.param(
            b"POST /a HTTP/1.1\r\n%bTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n3\r\ncde\r\n0\r\n\r\n" % LAST,
            ["POST /a|||5"],
            id="a body in chunks",
        ),
        pytest.param(
            b"POST /a HTTP/1.1\r\n%bContent-Length: 101\r\n\r\n%b" % (LAST, b"x" * 101),
            ["POST /a|||too large"],
            id="a body beyond the limit reaches the handler as too large",
        ),
        pytest.param(
            b"GET /a%20b/%C3%A9?x=1&x=2&y=&z=%2F+ HTTP/1.1\r\n" + LAST + b"\r\n",
            ["GET /a b/\xe9|x=1,y=,z=/ ||0"],
            id="paths and parameters are unquoted, the first of equal parameters counts",
        ),
        pytest.param(
            b"GET /a HTTP/1.1\r\n%bX-A: 1\r\nx-a: 2\r\n\r\n" % LAST, ["GET /a||x-a=1, 2|0"], id="repeated headers are joined"
        ),
        pytest.param(
            b"GET /a HTTP/1.1\r\n\r\nPOST /b HTTP/1.1\r\nContent-Length: 1\r\n\r\nxGET /c HTTP/1.1\r\n%b\r\n" % LAST,
            ["GET /a|||0", "POST /b|||1", "GET /c|||0"],
            id="requests sent ahead are answered in their order",
        ),
        pytest.param(
            b"GET /a HTTP/1.1\r\n\r\n" * 100 + b"GET /b HTTP/1.1\r\n%b\r\n" % LAST,
            ["GET /a|||0"] * 100 + ["GET /b|||0"],
            id="more requests ahead than are queued are all answered",
        ),
        pytest.param(b"GET /a HTTP/1.0\r\n\r\n", ["GET /a|||0"], id="HTTP 1.0 ends with its answer"),
    ],
)
async def test_request_is_understood(sent: bytes, understood: list[str]) -> None:
    assert bodies(await asked(sent)) == understood


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        pytest.param(b"nonsense\r\n\r\n", b"400 ", id="no HTTP at all"),
        pytest.param(b"POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", b"400 ", id="two lengths"),
        pytest.param(b"GET / HTTP/1.1\r\nX-Long: " + b"x" * HEAD_LIMIT, b"431 ", id="headers without an end"),
    ],
)
async def test_what_is_no_request_is_refused_and_the_connection_closed(sent: bytes, status: bytes) -> None:
    assert (await asked(sent)).startswith(b"HTTP/1.1 " + status)


async def test_answer_has_status_type_length_date_and_headers() -> None:
    async def answer(_: Request) -> Response:
        return Response(b"{}", status=201, content_type="application/json", headers=(("Warning", "299 - x"),))

    head, _, body = (await asked(b"GET / HTTP/1.1\r\n\r\nGET / HTTP/1.0\r\n\r\n", answer)).rpartition(b"\r\n\r\n")
    first, last = head.split(b"{}")
    lines = first.rstrip(b"\r\n").split(b"\r\n")
    assert lines[:3] == [b"HTTP/1.1 201 Created", b"Content-Type: application/json", b"Warning: 299 - x"]
    assert lines[3].startswith(b"Date: ")
    assert lines[4:] == [b"Content-Length: 2"]
    assert last.endswith(b"Connection: close")
    assert body == b"{}"


async def test_answer_that_is_the_last_ends_the_connection() -> None:
    async def answer(_: Request) -> Response:
        return Response(b"go elsewhere", is_last=True)

    answered = await asked(b"GET / HTTP/1.1\r\n\r\n", answer)
    assert b"Connection: close\r\n" in answered
    assert bodies(answered) == ["go elsewhere"]


async def test_head_request_gets_the_length_without_the_body() -> None:
    answer = await asked(b"HEAD /a HTTP/1.1\r\n%b\r\n" % LAST)
    assert b"Content-Length: 11\r\n" in answer
    assert answer.endswith(b"\r\n\r\n")


async def test_client_that_expects_leave_to_send_gets_it() -> None:
    async with asyncio.timeout(DEADLINE), serving(echo) as (_, connect):
        reader, writer = await connect()
        writer.write(b"POST /a HTTP/1.1\r\n%bExpect: 100-continue\r\nContent-Length: 1\r\n\r\n" % LAST)
        assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        writer.write(b"x")
        assert bodies(await reader.read()) == ["POST /a|||1"]


async def test_stream_goes_out_in_chunks_as_they_come() -> None:
    more = asyncio.Event()

    async def answer(request: Request) -> None:
        stream = request.stream(content_type="text/plain")
        await stream.write(b"one")
        await more.wait()
        await stream.write(b"")
        await stream.write(b"three")
        await stream.end()

    async with asyncio.timeout(DEADLINE), serving(answer) as (_, connect):
        reader, writer = await connect()
        writer.write(b"GET / HTTP/1.1\r\n%b\r\n" % LAST)
        assert b"Transfer-Encoding: chunked" in await reader.readuntil(b"\r\n\r\n")
        assert await reader.readexactly(8) == b"3\r\none\r\n"
        more.set()
        assert await reader.read() == b"5\r\nthree\r\n0\r\n\r\n"


async def test_stream_to_a_client_without_chunks_ends_with_the_connection() -> None:
    async def answer(request: Request) -> None:
        stream = request.stream(content_type="text/plain")
        await stream.write(b"one")
        await stream.end()

    answered = await asked(b"GET / HTTP/1.0\r\n\r\n", answer)
    assert b"chunked" not in answered
    assert answered.endswith(b"\r\n\r\none")


async def test_stream_waits_for_a_client_that_reads_slowly() -> None:
    chunk = b"x" * 2**20
    written = 0

    async def answer(request: Request) -> None:
        nonlocal written
        stream = request.stream(content_type="text/plain")
        for _ in range(64):
            await stream.write(chunk)
            written += 1
        await stream.end()

    async with asyncio.timeout(DEADLINE), serving(answer) as (_, connect):
        reader, writer = await connect()
        writer.write(b"GET / HTTP/1.1\r\n%b\r\n" % LAST)
        await reader.readuntil(b"\r\n\r\n")
        await asyncio.sleep(0)
        assert written < 64
        received = await reader.read()
    assert received.count(b"x") == 64 * 2**20


async def test_handler_is_cancelled_when_its_client_goes_away() -> None:
    begun, cancelled = asyncio.Event(), asyncio.Event()

    async def answer(_: Request) -> Response:
        begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise
        raise AssertionError("waits for ever")

    async with asyncio.timeout(DEADLINE), serving(answer) as (_, connect):
        _, writer = await connect()
        writer.write(b"GET / HTTP/1.1\r\n\r\n")
        await begun.wait()
        writer.close()
        await cancelled.wait()


async def test_handler_that_fails_ends_the_connection() -> None:
    async def answer(_: Request) -> Response:
        raise RuntimeError("a bug")

    assert await asked(b"GET / HTTP/1.1\r\n\r\n", answer) == b""


async def test_upgrade_hands_over_the_connection_and_what_came_after_the_request() -> None:
    class Shouting(asyncio.Protocol):
        def __init__(self, transport: asyncio.Transport) -> None:
            self.transport = transport

        def data_received(self, data: bytes) -> None:
            self.transport.write(data.upper())
            self.transport.close()

    async def answer(request: Request) -> None:
        assert request.upgrade == "SPDY/3.1"
        transport, early = request.take_over()
        transport.set_protocol(Shouting(transport))
        transport.write(b"HTTP/1.1 101 Switching Protocols\r\n\r\n" + early)
        transport.resume_reading()

    async with asyncio.timeout(DEADLINE), serving(answer) as (_, connect):
        reader, writer = await connect()
        writer.write(b"POST /exec HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\nearly")
        assert (await reader.readuntil(b"early")).startswith(b"HTTP/1.1 101 ")
        writer.write(b"late")
        assert await reader.read() == b"LATE"


async def test_declined_upgrade_is_an_ordinary_answer_and_the_end() -> None:
    answer = await asked(b"GET /a HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nframes")
    assert bodies(answer) == ["GET /a|||0"]
    assert b"Connection: close" in answer


async def test_stopping_answers_what_is_under_way_and_closes_what_is_idle() -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def answer(_: Request) -> Response:
        begun.set()
        await go_on.wait()
        return Response(b"done")

    async with asyncio.timeout(DEADLINE), serving(answer) as (server, connect):
        idle, _ = await connect()
        busy, writer = await connect()
        writer.write(b"GET / HTTP/1.1\r\n\r\n")
        await begun.wait()
        stopping = asyncio.create_task(server.stop(DEADLINE))
        assert await idle.read() == b""
        go_on.set()
        assert bodies(await busy.read()) == ["done"]
        await stopping


async def test_stopping_cuts_what_takes_longer_than_it_may() -> None:
    begun = asyncio.Event()

    async def answer(_: Request) -> Response:
        begun.set()
        await asyncio.Event().wait()
        raise AssertionError("waits for ever")

    async with asyncio.timeout(DEADLINE), serving(answer) as (server, connect):
        reader, writer = await connect()
        writer.write(b"GET / HTTP/1.1\r\n\r\n")
        await begun.wait()
        await server.stop(0)
        assert await reader.read() == b""


@pytest.mark.parametrize(
    ("sent", "patience"),
    [
        pytest.param(b"", Patience(request=60.0, idle=0.05), id="who sends nothing"),
        pytest.param(b"POST / HTTP/1.1\r\nContent-Le", Patience(request=0.05, idle=60.0), id="who sends headers without an end"),
        pytest.param(
            b"POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\nabc", Patience(request=0.05, idle=60.0), id="who sends half a body"
        ),
    ],
)
async def test_a_server_without_patience_hangs_up_on(sent: bytes, patience: Patience) -> None:
    async with asyncio.timeout(DEADLINE), serving(echo, patience) as (_, connect):
        reader, writer = await connect()
        writer.write(sent)
        with contextlib.suppress(ConnectionResetError):
            assert await reader.read() == b""
        writer.close()


async def test_who_waits_for_an_answer_is_not_cut() -> None:
    async def slow(_: Request) -> Response:
        await asyncio.sleep(0.3)
        return Response(b"late")

    async with asyncio.timeout(DEADLINE), serving(slow, Patience(request=0.05, idle=0.05)) as (_, connect):
        reader, writer = await connect()
        writer.write(b"GET / HTTP/1.1\r\n%b\r\n" % LAST)
        assert (await reader.read()).endswith(b"late")
        writer.close()
