"""The HTTP server on the wire: what is understood, refused, answered and handed over."""

from __future__ import annotations

import asyncio
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube.http_wire import BODY_LIMIT, DEADLINE, LAST, QUICK, Wired, answers, asked, bodies, echo, on_both_loops, serving
from shunter.kube.http.head import HEAD_LIMIT
from shunter.kube.http.limits import ConnectionUsage, Limits
from shunter.kube.http.request import Request
from shunter.kube.http.response import Response
from shunter.kube.http.server_connection import Connection, Service

pytestmark = pytest.mark.integration


@pytest.mark.parametrize(
    ("sent", "understood"),
    [
        pytest.param(b"GET /a HTTP/1.1\r\nHost: a\r\n%b\r\n" % LAST, ["GET /a|||0"], id="a request without a body"),
        pytest.param(
            b"POST /a HTTP/1.1\r\nHost: a\r\n%bContent-Length: 3\r\n\r\nabc" % LAST,
            ["POST /a|||3"],
            id="a body of a known length",
        ),
        pytest.param(
            b"POST /a HTTP/1.1\r\nHost: a\r\n%bTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n3\r\ncde\r\n0\r\n\r\n" % LAST,
            ["POST /a|||5"],
            id="a body in chunks",
        ),
        pytest.param(
            b"POST /a HTTP/1.1\r\nHost: a\r\n%bContent-Length: 101\r\n\r\n%b" % (LAST, b"x" * 101),
            ["POST /a|||too large"],
            id="a body beyond the limit reaches the handler as too large",
        ),
        pytest.param(
            b"GET /a%20b/%C3%A9?x=1&x=2&y=&z=%2F+ HTTP/1.1\r\nHost: a\r\n" + LAST + b"\r\n",
            ["GET /a b/\xe9|x=1,y=,z=/ ||0"],
            id="paths and parameters are unquoted, the first of equal parameters counts",
        ),
        pytest.param(
            b"GET /a HTTP/1.1\r\nHost: a\r\n%bX-A: 1\r\nx-a: 2\r\n\r\n" % LAST,
            ["GET /a||x-a=1, 2|0"],
            id="repeated headers are joined",
        ),
        pytest.param(
            b"GET /a HTTP/1.1\r\nHost: a\r\n\r\nPOST /b HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx"
            b"GET /c HTTP/1.1\r\nHost: a\r\n%b\r\n" % LAST,
            ["GET /a|||0", "POST /b|||1", "GET /c|||0"],
            id="requests sent ahead are answered in their order",
        ),
        pytest.param(
            b"GET /a HTTP/1.1\r\nHost: a\r\n\r\n" * 100 + b"GET /b HTTP/1.1\r\nHost: a\r\n%b\r\n" % LAST,
            ["GET /a|||0"] * 100 + ["GET /b|||0"],
            id="more requests ahead than are queued are all answered",
        ),
        pytest.param(b"GET /a HTTP/1.0\r\n\r\n", ["GET /a|||0"], id="HTTP 1.0 ends with its answer"),
        pytest.param(
            b"GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", ["GET /a|||0"], id="HTTP 1.0 ends also when asked to stay"
        ),
        pytest.param(b"\r\nGET /a HTTP/1.1\r\nHost: a\r\n%b\r\n" % LAST, ["GET /a|||0"], id="one empty line before a request"),
        pytest.param(
            b"POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx\r\nGET /b HTTP/1.1\r\nHost: a\r\n%b\r\n" % LAST,
            ["POST /a|||1", "GET /b|||0"],
            id="an empty line after a body, as old clients send it",
        ),
        pytest.param(b"GET http://b/a?x=1 HTTP/1.1\r\nHost: a\r\n%b\r\n" % LAST, ["GET /a|x=1||0"], id="a URL for a target"),
        pytest.param(b"OPTIONS * HTTP/1.1\r\nHost: a\r\n%b\r\n" % LAST, ["OPTIONS *|||0"], id="the server itself"),
        pytest.param(
            b"GET /a HTTP/1.1\r\nHost: a\r\n%bContent-Length: 3\r\n\r\nabc" % LAST, ["GET /a|||3"], id="a GET may have a body"
        ),
        pytest.param(
            b"POST /a HTTP/1.1\r\nHost: a\r\nX-A: 1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n"
            b"X-A: 2\r\nX-B: 3\r\n\r\nGET /b HTTP/1.1\r\nHost: a\r\n%b\r\n" % LAST,
            ["POST /a||x-a=1|1", "GET /b|||0"],
            id="trailers are no headers, of this request or the next",
        ),
        pytest.param(
            b"GET /a HTTP/1.1\r\nHost: a\r\n%b\r\nGET /b HTTP/1.1\r\nHost: a\r\n\r\n" % LAST,
            ["GET /a|||0"],
            id="what follows the last request is not answered",
        ),
        pytest.param(
            b"POST /a HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: 3\r\n\r\nabc",
            ["POST /a|||3"],
            id="an upgrade that nobody takes does not hide the body",
        ),
        pytest.param(
            b"POST /a HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: h2c\r\nTransfer-Encoding: chunked\r\n\r\n"
            b"3\r\nabc\r\n0\r\n\r\nGET /b HTTP/1.1\r\nHost: a\r\n\r\n",
            ["POST /a|||3"],
            id="after an upgrade that nobody takes no request is answered",
        ),
    ],
)
@on_both_loops
async def test_request_is_understood(sent: bytes, understood: list[str]) -> None:
    assert bodies(await asked(sent)) == understood


SECRET = b"GET /secret HTTP/1.1\r\nHost: a\r\n\r\n"
"""What must never be answered when it stands where a body may be."""


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        pytest.param(b"nonsense\r\n\r\n", 400, id="no HTTP at all"),
        pytest.param(b"\x16\x03\x01\x02\x00\x01", 400, id="TLS, at its first bytes"),
        pytest.param(b"GET / HTTP/1.1\nHost: a\n\n" + SECRET, 400, id="bare line feeds"),
        pytest.param(b"\r\n\r\n\r\n", 400, id="nothing but empty lines"),
        pytest.param(b"GET / HTTP/1.1\r\n\r\n", 400, id="no host"),
        pytest.param(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505, id="HTTP 2"),
        pytest.param(
            b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + SECRET,
            400,
            id="a length and chunks",
        ),
        pytest.param(
            b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nContent-Length: %d\r\n\r\n%b" % (len(SECRET), SECRET),
            400,
            id="two lengths",
        ),
        pytest.param(
            b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, x\r\n\r\n" + SECRET, 501, id="an unknown encoding"
        ),
        pytest.param(
            b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nxx\r\n0\r\n\r\n" + SECRET,
            400,
            id="a chunk that is longer than it says",
        ),
        pytest.param(b"POST / HTTP/1.1\r\nHost: a\r\nX: y\r\n Content-Length: 9\r\n\r\n" + SECRET, 400, id="a folded header"),
        pytest.param(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length : 9\r\n\r\n" + SECRET, 400, id="a blank before the colon"),
        pytest.param(b"GET / HTTP/1.1\r\nHost: a\r\nX: a\0b\r\n\r\n" + SECRET, 400, id="NUL"),
        pytest.param(b"PUT / HTTP/1.1\r\nHost: a\r\nExpect: more\r\n\r\n" + SECRET, 417, id="an unknown expectation"),
        pytest.param(b"GET / HTTP/1.1\r\nHost: a\r\nX-Long: " + b"x" * HEAD_LIMIT, 431, id="headers without an end"),
        pytest.param(
            b"GET / HTTP/1.1\r\nHost: a\r\nX-Long: " + b"x" * HEAD_LIMIT + b"\r\n\r\n" + SECRET,
            431,
            id="headers that are too long",
        ),
        pytest.param(b"GET /" + b"x" * HEAD_LIMIT + b" HTTP/1.1\r\nHost: a\r\n\r\n", 431, id="a target that is too long"),
        pytest.param(b"GET / HTTP/1.1\r\nHost: a\r\n" + b"X: y\r\n" * 300 + b"\r\n", 431, id="too many headers"),
    ],
)
@on_both_loops
async def test_what_is_no_request_is_refused_once_and_the_connection_closed(sent: bytes, status: int) -> None:
    received = await asked(sent)
    assert [code for code, _ in answers(received)] == [status]
    assert b"Connection: close\r\n" in received


@pytest.mark.parametrize(
    ("garbage", "status"),
    [
        pytest.param(b"garbage\r\n\r\n", 400, id="no HTTP"),
        pytest.param(b"\0\0\0", 400, id="NUL"),
        pytest.param(b"GET / HTTP/1.1\r\n\r\n", 400, id="a request without a host"),
        pytest.param(b"GET / HTTP/1.1\r\nX: " + b"x" * 2 * HEAD_LIMIT, 431, id="a head that is too long"),
    ],
)
@on_both_loops
async def test_requests_before_garbage_get_their_answers(garbage: bytes, status: int) -> None:
    ahead = b"GET /a HTTP/1.1\r\nHost: a\r\n\r\nPOST /b HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx"
    received = answers(await asked(ahead + garbage))
    assert received[:2] == [(200, "GET /a|||0"), (200, "POST /b|||1")]
    assert [code for code, _ in received[2:]] == [status]


@on_both_loops
async def test_request_is_the_same_however_it_is_cut() -> None:
    """Byte by byte, each read by itself."""
    sent = (
        b"POST /a?x=1 HTTP/1.1\r\nHost: a\r\nX-A: 1\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"2\r\nab\r\n3;x\r\ncde\r\n0\r\nX-B: 2\r\n\r\n"
        b"POST /b HTTP/1.1\r\nHost: a\r\n%bContent-Length: 3\r\n\r\nabc" % LAST
    )
    connection = Connection(Service(echo, Limits(body=BODY_LIMIT), QUICK), ConnectionUsage(Limits(body=BODY_LIMIT)))
    wire = Wired()
    connection.connection_made(wire)
    for byte in sent:
        connection.data_received(bytes((byte,)))
        await asyncio.sleep(0)
    assert connection.task is not None
    await connection.task
    assert bodies(bytes(wire.written)) == ["POST /a|x=1|x-a=1|5", "POST /b|||3"]


LENGTHS = st.integers(min_value=0, max_value=BODY_LIMIT)
CUTS = st.lists(st.integers(min_value=0, max_value=2000), max_size=8)


def request(length: int, *, in_chunks_of: int) -> bytes:
    """A POST of so many bytes, which look like requests."""
    head, body = b"POST /a HTTP/1.1\r\nHost: a\r\n", (SECRET * 4)[:length]
    if not in_chunks_of:
        return head + b"Content-Length: %d\r\n\r\n" % length + body
    chunks = [body[at : at + in_chunks_of] for at in range(0, length, in_chunks_of)]
    return head + b"Transfer-Encoding: chunked\r\n\r\n" + b"".join(b"%x\r\n%b\r\n" % (len(c), c) for c in chunks) + b"0\r\n\r\n"


@given(st.lists(st.tuples(LENGTHS, st.sampled_from([0, 1, 7, 50])), max_size=5), CUTS)
def test_requests_are_told_apart_wherever_they_are_cut(sent: list[tuple[int, int]], cuts: list[int]) -> None:
    text = b"".join(request(length, in_chunks_of=size) for length, size in sent) + b"garbage\r\n\r\n"
    places = sorted({min(cut, len(text)) for cut in (0, *cuts)} | {len(text)})

    async def served() -> bytes:
        connection = Connection(Service(echo, Limits(body=BODY_LIMIT), QUICK), ConnectionUsage(Limits(body=BODY_LIMIT)))
        wire = Wired()
        connection.connection_made(wire)
        for start, end in itertools.pairwise(places):
            connection.data_received(text[start:end])
            await asyncio.sleep(0)
        assert connection.task is not None
        await connection.task
        assert connection.held == 0
        return bytes(wire.written)

    *answered, last = answers(asyncio.run(served()))
    assert answered == [(200, f"POST /a|||{length}") for length, _ in sent]
    assert last[0] == 400


@on_both_loops
async def test_a_line_break_in_a_header_does_not_begin_another() -> None:
    async def answer(_: Request) -> Response:
        return Response(b"", headers=(("Warning", "299 - a\r\nSet-Cookie: b\n\nc\0"),))

    received = await asked(b"GET / HTTP/1.1\r\nHost: a\r\n%b\r\n" % LAST, handler=answer)
    assert b"\r\nWarning: 299 - a  Set-Cookie: b  c \r\n" in received


@on_both_loops
async def test_head_request_gets_the_head_of_a_stream_alone() -> None:
    async def answer(request: Request) -> None:
        stream = request.stream(content_type="text/plain")
        await stream.write(b"one")
        await stream.end()

    ahead = b"HEAD / HTTP/1.1\r\nHost: a\r\n\r\n"
    received = await asked(ahead + b"HEAD / HTTP/1.1\r\nHost: a\r\n%b\r\n" % LAST, handler=answer)
    assert received.count(b"HTTP/1.1 200 OK\r\n") == 2
    assert b"one" not in received
    assert received.endswith(b"\r\n\r\n")
    assert b"0\r\n\r\n" not in received


@on_both_loops
async def test_answer_has_status_type_length_date_and_headers() -> None:
    async def answer(_: Request) -> Response:
        return Response(b"{}", status=201, content_type="application/json", headers=(("Warning", "299 - x"),))

    head, _, body = (await asked(b"GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.0\r\n\r\n", handler=answer)).rpartition(
        b"\r\n\r\n"
    )
    first, last = head.split(b"{}")
    lines = first.rstrip(b"\r\n").split(b"\r\n")
    assert lines[:3] == [b"HTTP/1.1 201 Created", b"Content-Type: application/json", b"Warning: 299 - x"]
    assert lines[3].startswith(b"Date: ")
    assert lines[4:] == [b"Content-Length: 2"]
    assert last.endswith(b"Connection: close")
    assert body == b"{}"


@on_both_loops
async def test_answer_that_is_the_last_ends_the_connection() -> None:
    async def answer(_: Request) -> Response:
        return Response(b"go elsewhere", is_last=True)

    answered = await asked(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", handler=answer)
    assert b"Connection: close\r\n" in answered
    assert bodies(answered) == ["go elsewhere"]


@on_both_loops
async def test_head_request_gets_the_length_without_the_body() -> None:
    answer = await asked(b"HEAD /a HTTP/1.1\r\nHost: a\r\n%b\r\n" % LAST)
    assert b"Content-Length: 11\r\n" in answer
    assert answer.endswith(b"\r\n\r\n")


@on_both_loops
async def test_client_that_expects_leave_to_send_gets_it() -> None:
    async with asyncio.timeout(DEADLINE), serving(echo) as (_, connect):
        reader, writer = await connect()
        writer.write(b"POST /a HTTP/1.1\r\nHost: a\r\n%bExpect: 100-continue\r\nContent-Length: 1\r\n\r\n" % LAST)
        assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        writer.write(b"x")
        assert bodies(await reader.read()) == ["POST /a|||1"]


@on_both_loops
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
        writer.write(b"GET / HTTP/1.1\r\nHost: a\r\n%b\r\n" % LAST)
        assert b"Transfer-Encoding: chunked" in await reader.readuntil(b"\r\n\r\n")
        assert await reader.readexactly(8) == b"3\r\none\r\n"
        more.set()
        assert await reader.read() == b"5\r\nthree\r\n0\r\n\r\n"


@on_both_loops
async def test_stream_to_a_client_without_chunks_ends_with_the_connection() -> None:
    async def answer(request: Request) -> None:
        stream = request.stream(content_type="text/plain")
        await stream.write(b"one")
        await stream.end()

    answered = await asked(b"GET / HTTP/1.0\r\n\r\n", handler=answer)
    assert b"chunked" not in answered
    assert answered.endswith(b"\r\n\r\none")


@on_both_loops
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
        writer.write(b"GET / HTTP/1.1\r\nHost: a\r\n%b\r\n" % LAST)
        await reader.readuntil(b"\r\n\r\n")
        await asyncio.sleep(0)
        assert written < 64
        received = await reader.read()
    assert received.count(b"x") == 64 * 2**20


@on_both_loops
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
        writer.write(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        await begun.wait()
        writer.close()
        await cancelled.wait()


@on_both_loops
async def test_handler_that_fails_ends_the_connection() -> None:
    async def answer(_: Request) -> Response:
        raise RuntimeError("a bug")

    assert await asked(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", handler=answer) == b""


@on_both_loops
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
        writer.write(b"POST /exec HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\nearly")
        assert (await reader.readuntil(b"early")).startswith(b"HTTP/1.1 101 ")
        writer.write(b"late")
        assert await reader.read() == b"LATE"


@on_both_loops
async def test_declined_upgrade_is_an_ordinary_answer_and_the_end() -> None:
    answer = await asked(b"GET /a HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nframes")
    assert bodies(answer) == ["GET /a|||0"]
    assert b"Connection: close" in answer


@on_both_loops
async def test_stopping_answers_what_is_under_way_and_closes_what_is_idle() -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def answer(_: Request) -> Response:
        begun.set()
        await go_on.wait()
        return Response(b"done")

    async with asyncio.timeout(DEADLINE), serving(answer) as (server, connect):
        idle, _ = await connect()
        busy, writer = await connect()
        writer.write(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        await begun.wait()
        stopping = asyncio.create_task(server.stop(DEADLINE))
        assert await idle.read() == b""
        go_on.set()
        assert bodies(await busy.read()) == ["done"]
        await stopping


@on_both_loops
async def test_stopping_cuts_what_takes_longer_than_it_may() -> None:
    begun = asyncio.Event()

    async def answer(_: Request) -> Response:
        begun.set()
        await asyncio.Event().wait()
        raise AssertionError("waits for ever")

    async with asyncio.timeout(DEADLINE), serving(answer) as (server, connect):
        reader, writer = await connect()
        writer.write(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        await begun.wait()
        await server.stop(0)
        assert await reader.read() == b""
