"""What a client may cost the HTTP server: memory by the server's own account, connections, time; and whom it serves meanwhile."""

from __future__ import annotations

import asyncio
import contextlib
import resource
from collections.abc import Callable

import pytest

from kube.http_wire import DEADLINE, LAST, QUICK, Connect, Wire, Wired, answers, asked, bodies, echo, on_both_loops, serving
from shunter.kube.http.limits import ConnectionUsage, Limits, Timeouts, connections_at_once
from shunter.kube.http.request import Request
from shunter.kube.http.response import Response
from shunter.kube.http.server import HttpServer
from shunter.kube.http.server_connection import READ_AHEAD, Connection, Service
from shunter.kube.tls.certificates import issue, new_authority
from shunter.kube.tls.serving_tls import ServingTls

pytestmark = pytest.mark.integration

KIB, MIB = 2**10, 2**20
ONE_READ = 256 * KIB
"""What a loop gives a protocol at most at once."""
GET = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
LONG = 60.0


async def until(condition: Callable[[], bool]) -> None:
    """Within the test's deadline."""
    while not condition():  # noqa: ASYNC110 - what is waited for is the server's own account
        await asyncio.sleep(0.005)


async def a_moment_later() -> None:
    """When the loop's clock, which may go by milliseconds, shows another time."""
    loop = asyncio.get_running_loop()
    now = loop.time()
    await until(lambda: loop.time() > now)


async def rest(reader: asyncio.StreamReader) -> bytes:
    """All that comes until the server hangs up, however it does it."""
    received = b""
    with contextlib.suppress(ConnectionError):
        while part := await reader.read(MIB):
            received += part
    return received


async def is_served(connect: Connect) -> bool:
    reader, writer = await connect()
    writer.write(b"GET / HTTP/1.1\r\nHost: a\r\n" + LAST + b"\r\n")
    received = await rest(reader)
    writer.close()
    return bodies(received) == ["GET /|||0"]


async def nobody_else(request: Request) -> Response | None:
    """Accepts requests of one user."""
    return None if request.headers.get("authorization") == "good" else Response(b"who?", status=401)


def post(length: int, *lines: bytes) -> bytes:
    return b"".join((b"POST /a HTTP/1.1\r\nHost: a\r\n", *lines, b"Content-Length: %d\r\n\r\n" % length))


# Bodies.


@pytest.mark.parametrize(
    "framing",
    [
        pytest.param(b"Content-Length: 3000000\r\n\r\n", id="of a known length"),
        pytest.param(b"Transfer-Encoding: chunked\r\n\r\n100000\r\n", id="in chunks"),
        pytest.param(b"Expect: 100-continue\r\nContent-Length: 3000000\r\n\r\n", id="announced"),
    ],
)
@on_both_loops
async def test_body_of_somebody_unknown_is_not_taken(framing: bytes) -> None:
    handled = 0

    async def handler(_: Request) -> Response:
        nonlocal handled
        handled += 1
        return Response()

    async with asyncio.timeout(DEADLINE), serving(handler, Limits(body=4 * MIB), accepts=nobody_else) as (server, connect):
        wires = [await connect() for _ in range(40)]
        for _, writer in wires:
            writer.write(b"POST /a HTTP/1.1\r\nHost: a\r\n" + framing)
            writer.write(b"x" * 100 * KIB)
        for reader, writer in wires:
            assert answers(await rest(reader)) == [(401, "who?")], "and no 100 Continue"
            writer.close()
        assert server.held == 0
        assert handled == 0


@on_both_loops
async def test_trailer_does_not_let_anybody_in() -> None:
    async def handler(request: Request) -> Response:
        return await nobody_else(request) or Response(b"in")

    body = b"Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nAuthorization: good\r\n\r\n"
    for lines, welcome in ((b"", [401, 401]), (b"Authorization: good\r\n", [200, 401])):
        ahead = b"POST /a HTTP/1.1\r\nHost: a\r\n" + lines + body
        received = await asked(ahead + b"GET / HTTP/1.1\r\nHost: a\r\n" + LAST + b"\r\n", handler=handler)
        assert [code for code, _ in answers(received)] == welcome


@on_both_loops
async def test_handler_decides_about_a_body_that_came_with_its_head() -> None:
    async def never(_: Request) -> Response:
        raise AssertionError("not asked: there is nothing to spare")

    assert bodies(await asked(post(3, LAST) + b"abc", accepts=never)) == ["POST /a|||3"]


@on_both_loops
async def test_body_that_is_accepted_is_taken_and_the_connection_goes_on() -> None:
    sent = (post(3, b"Authorization: good\r\n"), b"abc", b"GET / HTTP/1.1\r\nHost: a\r\n" + LAST + b"\r\n")
    assert bodies(await asked(*sent, accepts=nobody_else)) == ["POST /a|||3", "GET /|||0"]


@on_both_loops
async def test_leave_to_send_is_given_when_the_body_is_accepted() -> None:
    async with asyncio.timeout(DEADLINE), serving(echo, accepts=nobody_else) as (_, connect):
        reader, writer = await connect()
        writer.write(post(1, LAST, b"Authorization: good\r\n", b"Expect: 100-continue\r\n"))
        assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        writer.write(b"x")
        assert bodies(await reader.read()) == ["POST /a|||1"]


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(post(10 * MIB), id="announced"),
        pytest.param(post(10 * MIB, b"Expect: 100-continue\r\n"), id="announced, and waiting for leave"),
        pytest.param(b"POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nA00000\r\n", id="in a chunk"),
    ],
)
@on_both_loops
async def test_body_that_is_too_large_is_not_awaited(sent: bytes) -> None:
    assert answers(await asked(sent)) == [(200, "POST /a|||too large")]


@on_both_loops
async def test_answer_to_a_body_that_is_not_read_reaches_who_sends_all_of_it_first() -> None:
    """A server that closes with bytes unread resets the connection."""
    assert answers(await asked(post(5 * MIB), b"x" * 5 * MIB)) == [(200, "POST /a|||too large")]


@on_both_loops
async def test_half_bodies_of_all_connections_together_are_bounded() -> None:
    """Of people that the server cannot tell from others, as in webhooks; who has waited longest goes."""
    limits = Limits(body=4 * MIB, held=8 * MIB)
    async with asyncio.timeout(DEADLINE), serving(echo, limits) as (server, connect):
        wires = []
        for _ in range(40):
            reader, writer = await connect()
            writer.write(post(4 * MIB) + b"x" * (MIB - 100))
            await writer.drain()
            wires.append((reader, writer))
            await until(lambda: server.held >= min(len(wires), 7) * (MIB - 100) - ONE_READ)
            assert server.held <= limits.held
        assert answers(await rest(wires[0][0])) == [(503, "the server holds as many requests as it can; send this one again\n")]
        reader, writer = wires[-1]
        writer.write(b"x" * (3 * MIB + 100))
        assert (await reader.readuntil(b"4194304")).startswith(b"HTTP/1.1 200")
        assert await is_served(connect)
        for _, writer in wires:
            writer.close()
        await until(lambda: server.connections == 0)
        assert server.held == 0


@on_both_loops
async def test_bodies_being_answered_are_held_and_then_released() -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def slow(request: Request) -> Response:
        begun.set()
        await go_on.wait()
        return Response(b"%d" % len(request.body))

    async with asyncio.timeout(DEADLINE), serving(slow, Limits(body=MIB)) as (server, connect):
        reader, writer = await connect()
        writer.write(post(MIB) + b"x" * MIB)
        await begun.wait()
        assert server.held >= MIB
        go_on.set()
        await reader.readuntil(b"\r\n\r\n1048576")
        await until(lambda: server.held == 0)
        writer.close()


@on_both_loops
async def test_who_must_make_room_while_it_is_looked_who_he_is_is_told_at_once() -> None:
    asked, go_on = asyncio.Event(), asyncio.Event()

    async def slowly(_: Request) -> None:
        asked.set()
        await go_on.wait()

    limits = Limits(body=MIB)
    connection = Connection(Service(echo, limits, Timeouts(), slowly), ConnectionUsage(limits))
    wire = Wired()
    connection.connection_made(wire)
    connection.data_received(post(MIB) + b"x" * 1000)
    async with asyncio.timeout(DEADLINE):
        await asked.wait()
        connection.reject_request()
        go_on.set()
        assert connection.task is not None
        await connection.task
    assert [code for code, _ in answers(bytes(wire.written))] == [503]
    assert connection.held == 0


# What is read ahead.


@on_both_loops
async def test_requests_sent_ahead_wait_outside() -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def slow(_: Request) -> Response:
        begun.set()
        await go_on.wait()
        return Response(b"!")

    ahead, request = 5_000, GET.replace(b"GET /", b"GET /" + b"x" * 100)
    async with asyncio.timeout(DEADLINE), serving(slow) as (server, connect):
        reader, writer = await connect()
        writer.write(request * ahead + b"GET / HTTP/1.1\r\nHost: a\r\n" + LAST + b"\r\n")
        await begun.wait()
        await until(lambda: server.held > READ_AHEAD)
        assert server.held <= READ_AHEAD + ONE_READ
        go_on.set()
        received = await rest(reader)
        assert received.count(b"HTTP/1.1 200 OK") == ahead + 1
        assert server.held == 0
        writer.close()


@on_both_loops
async def test_bytes_after_an_upgrade_are_held_once_and_bounded() -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def slow(_: Request) -> Response:
        begun.set()
        await go_on.wait()
        return Response(b"no upgrade here", status=400)

    async with asyncio.timeout(DEADLINE), serving(slow) as (server, connect):
        reader, writer = await connect()
        writer.write(b"GET /a HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n" + b"y" * 65 * MIB)
        await begun.wait()
        await until(lambda: server.held > READ_AHEAD)
        assert server.held <= READ_AHEAD + ONE_READ
        go_on.set()
        received = b""
        with contextlib.suppress(ConnectionError):
            received = await reader.readuntil(b"no upgrade here")
        assert received.startswith(b"HTTP/1.1 400 ")
        assert b"\r\nConnection: close\r\n" in received
        writer.transport.abort()
        await until(lambda: server.connections == 0)
        assert server.held == 0


@on_both_loops
async def test_connection_that_is_handed_over_is_no_longer_counted() -> None:
    taken = asyncio.get_running_loop().create_future()

    async def take(request: Request) -> None:
        taken.set_result(request.take_over())

    async with asyncio.timeout(DEADLINE), serving(take, timeouts=Timeouts(head=2.0, idle=0.1)) as (server, connect):
        reader, writer = await connect()
        writer.write(b"GET /a HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n" + b"y" * 1000)
        transport, early = await taken
        assert early == b"y" * 1000
        assert (server.connections, server.held) == (0, 0)
        transport.write(b"mine")
        assert await reader.readexactly(4) == b"mine"
        transport.close()
        writer.close()


# Slow peers.


@pytest.mark.parametrize(
    ("sent", "timeouts"),
    [
        pytest.param(b"", Timeouts(head=0.1), id="who sends nothing"),
        pytest.param(b"POST / HTTP/1.1\r\nContent-Le", Timeouts(head=0.1), id="who sends headers without an end"),
        pytest.param(GET + b"POST / HT", Timeouts(head=0.1), id="who begins a second request and stops"),
        pytest.param(post(9) + b"abc", Timeouts(body=0.1), id="who sends half a body"),
        pytest.param(
            b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nabc",
            Timeouts(body=0.1),
            id="who sends half a chunk",
        ),
        pytest.param(GET, Timeouts(idle=0.1), id="who has no other request"),
        pytest.param(b"nonsense\r\n\r\n", Timeouts(linger=0.1), id="who is refused and does not hang up"),
        pytest.param(post(MIB), Timeouts(linger=0.1), id="who was answered before the end of the body"),
    ],
)
@on_both_loops
async def test_server_hangs_up_on(sent: bytes, timeouts: Timeouts) -> None:
    async with asyncio.timeout(DEADLINE), serving(echo, timeouts=timeouts) as (server, connect):
        _, writer = await connect()
        writer.write(sent)
        await until(lambda: server.connections == 1)
        await until(lambda: server.connections == 0)
        assert server.held == 0
        writer.close()


@pytest.mark.parametrize("sent", [b"", b"\x16\x03\x01", b"GET / HTTP/1.1\r\n"], ids=["nothing", "a part of TLS", "no TLS"])
@on_both_loops
async def test_who_does_not_agree_on_tls_is_cut(sent: bytes) -> None:
    tls = ServingTls()
    tls.use(issue(new_authority("tests"), "tests", ["127.0.0.1"]))
    server = HttpServer(echo, Limits(body=0), timeouts=Timeouts(head=0.2))
    async with asyncio.timeout(DEADLINE):
        port = await server.start("127.0.0.1", 0, tls.context)
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(sent)
        await rest(reader)
        writer.close()
        await server.stop(DEADLINE)


@on_both_loops
async def test_a_byte_now_and_then_does_not_buy_time() -> None:
    timeouts = Timeouts(head=0.3)
    async with asyncio.timeout(DEADLINE), serving(echo, timeouts=timeouts) as (server, connect):
        _, writer = await connect()
        await until(lambda: server.connections == 1)
        while server.connections:
            writer.write(b"G")
            await asyncio.sleep(0.02)
        writer.close()


@on_both_loops
async def test_who_sends_on_after_the_end_is_cut() -> None:
    async with asyncio.timeout(DEADLINE), serving(echo, timeouts=Timeouts(linger=0.2)) as (server, connect):
        _, writer = await connect()
        writer.write(post(2**40))
        await until(lambda: server.connections == 1)
        while server.connections:
            writer.write(b"x" * KIB)
            await asyncio.sleep(0.01)
        writer.close()


@on_both_loops
async def test_who_does_not_read_an_answer_is_cut() -> None:
    async def large(_: Request) -> Response:
        return Response(b"x" * 32 * MIB)

    async with asyncio.timeout(DEADLINE), serving(large, timeouts=Timeouts(answer=0.2)) as (server, connect):
        for request in (GET, b"GET / HTTP/1.1\r\nHost: a\r\n" + LAST + b"\r\n"):
            _, writer = await connect()
            writer.write(request)
            await until(lambda: server.connections == 1)
            await until(lambda: server.connections == 0)
            writer.close()


@on_both_loops
async def test_who_waits_for_an_answer_or_follows_a_stream_is_not_cut() -> None:
    timeouts = Timeouts(head=1.0, body=0.1, idle=0.1, answer=0.1, linger=0.1)
    go_on = asyncio.Event()

    async def slow(request: Request) -> Response | None:
        if request.path == "/stream":
            stream = request.stream(content_type="text/plain")
            await go_on.wait()
            await stream.write(b"late")
            await stream.end()
            return None
        await go_on.wait()
        return Response(b"late")

    async with asyncio.timeout(DEADLINE), serving(slow, timeouts=timeouts) as (server, connect):
        wires = [await connect(), await connect()]
        for (_, writer), path in zip(wires, (b"/", b"/stream"), strict=True):
            writer.write(b"GET %b HTTP/1.1\r\nHost: a\r\n" % path + LAST + b"\r\n")
        idle_reader, _ = await connect()
        await until(lambda: server.connections == 3)
        assert await rest(idle_reader) == b"", "cut while the others wait"
        go_on.set()
        for reader, writer in wires:
            assert b"late" in await rest(reader)
            writer.close()


@on_both_loops
async def test_slow_heads_do_not_keep_others_from_being_served() -> None:
    async with asyncio.timeout(DEADLINE), serving(echo) as (server, connect):
        slow = [await connect() for _ in range(200)]
        for _, writer in slow:
            writer.write(b"GET / HTTP/1.1\r\nHost")
        await until(lambda: server.connections == 200)
        assert await is_served(connect)
        for _, writer in slow:
            writer.close()


# Too many connections.


@on_both_loops
async def test_who_has_asked_nothing_for_longest_makes_room_for_others() -> None:
    async with asyncio.timeout(DEADLINE), serving(echo, Limits(body=10, connections=5)) as (server, connect):
        idle: list[Wire] = []
        for number in range(5):
            idle.append(await connect())
            await until(lambda: server.connections == number + 1)  # noqa: B023 - it is awaited here
            await a_moment_later()
        idle[0][1].write(GET)
        await idle[0][0].readuntil(b"GET /|||0")
        assert await is_served(connect)
        assert await rest(idle[1][0]) == b"", "the first has asked since"
        idle[0][1].write(GET)
        await idle[0][0].readuntil(b"GET /|||0")
        assert server.connections <= 5
        for _, writer in idle:
            writer.close()


@on_both_loops
async def test_who_is_being_answered_is_not_cut_for_others() -> None:
    go_on = asyncio.Event()

    async def slow(_: Request) -> Response:
        await go_on.wait()
        return Response(b"done")

    async with asyncio.timeout(DEADLINE), serving(slow, Limits(body=10, connections=3)) as (server, connect):
        busy = [await connect() for _ in range(3)]
        for _, writer in busy:
            writer.write(b"GET / HTTP/1.1\r\nHost: a\r\n" + LAST + b"\r\n")
        await until(lambda: server.held == 3 * len(b"GET / HTTP/1.1\r\nHost: a\r\n" + LAST + b"\r\n"))
        reader, _ = await connect()
        assert await rest(reader) == b"", "there is no room"
        go_on.set()
        for reader, writer in busy:
            assert bodies(await rest(reader)) == ["done"]
            writer.close()


def test_connections_leave_descriptors_for_other_things(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1000, 4000))
    assert connections_at_once(Limits(body=0, connections=4096)) == 750
    assert connections_at_once(Limits(body=0, connections=100)) == 100
    monkeypatch.setattr(resource, "getrlimit", lambda _: (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert connections_at_once(Limits(body=0, connections=4096)) == 4096


class Holding:
    """A connection, as the account sees it."""

    def __init__(self, account: ConnectionUsage[Holding], since: float, *, is_answering: bool = False) -> None:
        self.held = 0
        self.waiting_since = since
        self.is_answering = is_answering
        self.became = ""
        self._account = account

    def abort(self) -> None:
        self.became = "cut"
        self._account.remove(self)

    def reject_request(self) -> None:
        self.became = "turned away"
        self._account.release(self, self.held)


def test_room_is_made_by_incomplete_requests_before_those_being_answered_and_the_oldest_first() -> None:
    account: ConnectionUsage[Holding] = ConnectionUsage(Limits(body=0, held=100))
    answering, young, old, empty = (
        Holding(account, 1.0, is_answering=True),
        Holding(account, 3.0),
        Holding(account, 2.0),
        Holding(account, 0.0),
    )
    for one in (answering, young, old, empty):
        account.add(one)
    for one in (answering, young, old):
        account.hold(one, 33)
    account.hold(young, 2)
    assert [one.became for one in (answering, young, old, empty)] == ["", "", "turned away", ""]
    assert account.held == 68
    account.hold(young, 60)
    assert [one.became for one in (answering, young)] == ["", "turned away"]
    assert account.held == 33


def test_server_counts_nothing_before_it_starts() -> None:
    server = HttpServer(echo, Limits(body=0), timeouts=QUICK)
    assert (server.connections, server.held) == (0, 0)
