"""The HTTP client against servers that do as they please."""

from __future__ import annotations

import asyncio
import base64
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from shunter.kube.http.client import HttpClient, target
from shunter.kube.http.connection import HEAD_LIMIT, Origin
from shunter.kube.tls.certificates import KeyPair, issue, new_authority

pytestmark = pytest.mark.integration

DEADLINE = 5.0

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def serving(serve: Serve, tls: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    """A server on a free port that does this with each connection."""

    async def handled(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await serve(reader, writer)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(handled, "127.0.0.1", 0, ssl=tls)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


@asynccontextmanager
async def client(port: int, **origin: object) -> AsyncIterator[HttpClient]:
    made = HttpClient(Origin("127.0.0.1", port, **origin), connect_seconds=DEADLINE)  # type: ignore[arg-type]
    try:
        async with asyncio.timeout(DEADLINE):
            yield made
    finally:
        made.close()


def answering(*answers: bytes) -> tuple[Serve, list[list[bytes]]]:
    """Answers the requests of each connection with these, then hangs up; and the heads it has seen, by connection."""
    seen: list[list[bytes]] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads: list[bytes] = []
        seen.append(heads)
        for answer in answers:
            head = await reader.readuntil(b"\r\n\r\n")
            length = next((int(line[15:]) for line in head.split(b"\r\n") if line.startswith(b"Content-Length:")), 0)
            heads.append(head + await reader.readexactly(length))
            writer.write(answer)

    return serve, seen


OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


async def test_a_field_that_comes_again_adds_to_a_list() -> None:
    serve, _ = answering(b"HTTP/1.1 200 OK\r\nWarning: a\r\nContent-Length: 2\r\nwarning: b\r\n\r\nok")
    async with serving(serve) as port, client(port) as http:
        answer = await http.request("GET", "/", (), b"", seconds=DEADLINE)
    assert answer.headers["warning"] == "a, b"


@pytest.mark.parametrize(
    ("answer", "body"),
    [
        pytest.param(OK, b"ok", id="with a length"),
        pytest.param(
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\no\r\n1\r\nk\r\n0\r\n\r\n", b"ok", id="in chunks"
        ),
        pytest.param(b"HTTP/1.1 200 OK\r\n\r\nok", b"ok", id="until the connection ends"),
        pytest.param(b"HTTP/1.1 103 Early Hints\r\nX: 1\r\n\r\n" + OK, b"ok", id="after hints"),
        pytest.param(b"HTTP/1.1 204 No Content\r\n\r\n", b"", id="without a body"),
    ],
)
async def test_body_is_read_however_it_ends(answer: bytes, body: bytes) -> None:
    serve, _ = answering(answer)
    async with serving(serve) as port, client(port) as http:
        answered = await http.request("GET", "/", (), b"", seconds=DEADLINE)
        assert answered.body == body
        assert "x" not in answered.headers


async def test_trailers_are_no_headers() -> None:
    chunks = b"1\r\no\r\n1\r\nk\r\n0\r\nX-A: 2\r\nRetry-After: 9\r\n\r\n"
    serve, _ = answering(b"HTTP/1.1 200 OK\r\nX-A: 1\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks, OK)
    async with serving(serve) as port, client(port) as http:
        answer = await http.request("GET", "/", (), b"", seconds=DEADLINE)
        assert (answer.body, dict(answer.headers)) == (b"ok", {"x-a": "1", "transfer-encoding": "chunked"})
        assert (await http.request("GET", "/", (), b"", seconds=DEADLINE)).body == b"ok"


@pytest.mark.parametrize(
    "stray", [b"HTTP/1.1 500 No\r\nX: 1\r\nContent-Length: 2\r\n\r\nno", b"HTTP/1.1 500 No\r\nX", b"junk", b"\r"]
)
@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
async def test_answer_that_nobody_asked_for_is_taken_for_none(stray: bytes, streamed: bool) -> None:
    """It came in one piece with the one that was asked for."""
    serve, seen = answering(OK + stray, OK)
    async with serving(serve) as port, client(port) as http:
        if streamed:
            stream = await http.stream("GET", "/", ())
            assert (stream.status, await stream.read(), stream.headers) == (200, b"ok", {"content-length": "2"})
            stream.close()
        else:
            answer = await http.request("GET", "/", (), b"", seconds=DEADLINE)
            assert (answer.status, answer.body, answer.headers) == (200, b"ok", {"content-length": "2"})
        again = await http.request("POST", "/", (), b"", seconds=DEADLINE)
        assert (again.status, again.body) == (200, b"ok")
    if stray != b"\r":
        assert len(seen) == 2, "on another connection"


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(b"Content-Length: 2\r\nContent-Length: 3\r\n", id="two lengths"),
        pytest.param(b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n", id="a length and chunks"),
        pytest.param(b"Content-Length: +2\r\n", id="a length with a sign"),
        pytest.param(b"X: a\r\n b\r\nContent-Length: 2\r\n", id="a header that goes on"),
        pytest.param(b"X : a\r\nContent-Length: 2\r\n", id="a blank before the colon"),
        pytest.param(b"X: a\nContent-Length: 2\r\n", id="a bare line feed"),
        pytest.param(b"X: a\0\r\nContent-Length: 2\r\n", id="NUL"),
    ],
)
async def test_answer_whose_end_could_be_read_in_two_ways_is_refused(lines: bytes) -> None:
    serve, _ = answering(b"HTTP/1.1 200 OK\r\n" + lines + b"\r\nok")
    async with serving(serve) as port, client(port) as http:
        with pytest.raises(ConnectionError, match="not HTTP"):
            await http.request("GET", "/", (), b"", seconds=DEADLINE)


@pytest.mark.parametrize(
    "endless",
    [
        pytest.param(b"HTTP/1.1 200 OK\r\nX: " + b"x" * 2 * HEAD_LIMIT, id="one header"),
        pytest.param(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * HEAD_LIMIT, id="many headers"),
        pytest.param(b"HTTP/1.1 103 Early Hints\r\n\r\n" * 100_000, id="hints"),
    ],
)
async def test_head_without_end_is_not_kept(endless: bytes) -> None:
    serve, _ = answering(endless)
    async with serving(serve) as port, client(port) as http:
        with pytest.raises(ConnectionError, match=r"headers of more than|more than 1000 headers"):
            await http.request("GET", "/", (), b"", seconds=DEADLINE)


async def test_request_is_sent_as_it_was_meant() -> None:
    serve, seen = answering(OK, OK)
    async with serving(serve) as port, client(port) as http:
        await http.request("POST", target("/a b", {"x": "1/2", "y": ""}), [("Accept", "text/plain")], b"hi", seconds=DEADLINE)
        await http.request("PUT", "/", (), b"", seconds=DEADLINE)
    host = f"Host: 127.0.0.1:{port}\r\n".encode()
    assert seen[0][0] == b"POST /a%20b?x=1%2F2&y= HTTP/1.1\r\n" + host + b"Accept: text/plain\r\nContent-Length: 2\r\n\r\nhi"
    assert seen[0][1] == b"PUT / HTTP/1.1\r\n" + host + b"Content-Length: 0\r\n\r\n"


async def test_connection_is_kept_for_the_next_request() -> None:
    serve, seen = answering(OK, OK, OK)
    async with serving(serve) as port, client(port) as http:
        for _ in range(3):
            assert (await http.request("GET", "/", (), b"", seconds=DEADLINE)).body == b"ok"
    assert len(seen) == 1


async def test_requests_at_the_same_time_have_connections_of_their_own() -> None:
    serve, seen = answering(OK)
    async with serving(serve) as port, client(port) as http:
        await asyncio.gather(*(http.request("GET", "/", (), b"", seconds=DEADLINE) for _ in range(3)))
    assert len(seen) == 3


async def test_connection_that_the_server_wants_closed_is_not_used_again() -> None:
    serve, seen = answering(OK.replace(b"OK\r\n", b"OK\r\nConnection: close\r\n"), OK)
    async with serving(serve) as port, client(port) as http:
        for _ in range(2):
            await http.request("GET", "/", (), b"", seconds=DEADLINE)
    assert len(seen) == 2


@pytest.mark.parametrize(
    ("method", "is_sent_again"), [("GET", True), ("PUT", True), ("DELETE", True), ("POST", False), ("PATCH", False)]
)
@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
async def test_only_what_may_be_repeated_is_sent_again_when_a_kept_connection_was_closed(
    method: str, is_sent_again: bool, streamed: bool
) -> None:
    asked = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answers the first request of a connection and hangs up on the second."""
        nonlocal asked
        await reader.readuntil(b"\r\n\r\n")
        asked += 1
        writer.write(OK)
        await reader.readuntil(b"\r\n\r\n")
        asked += 1

    async def ask(http: HttpClient) -> int:
        if not streamed:
            return (await http.request(method, "/", (), b"", seconds=DEADLINE)).status
        stream = await http.stream(method, "/", ())
        stream.close()
        return stream.status

    async with serving(serve) as port, client(port) as http:
        await http.request("GET", "/", (), b"", seconds=DEADLINE)
        if is_sent_again:
            assert await ask(http) == 200
            assert asked == 3
        else:
            with pytest.raises(ConnectionError, match="the server closed the connection"):
                await ask(http)
            assert asked == 2


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        (b"", "the server closed the connection"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok", "the server closed the connection"),
        (b"SSH-2.0-OpenSSH\r\n", "the answer is not HTTP"),
    ],
    ids=["nothing", "half", "another protocol"],
)
async def test_answer_that_is_none_is_a_connection_error(answer: bytes, fault: str) -> None:
    serve, _ = answering(answer)
    async with serving(serve) as port, client(port) as http:
        with pytest.raises(ConnectionError, match=fault):
            await http.request("GET", "/", (), b"", seconds=DEADLINE)


async def silence(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read()


async def test_answer_that_does_not_come_is_waited_for_no_longer_than_asked() -> None:
    async with serving(silence) as port, client(port) as http:
        with pytest.raises(TimeoutError, match=r"no answer within 0.01 s"):
            await http.request("GET", "/", (), b"", seconds=0.01)


async def test_request_given_up_cuts_its_connection() -> None:
    cut = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        asking.cancel()
        await reader.read()
        cut.set()

    async with serving(serve) as port, client(port) as http:
        asking = asyncio.create_task(http.request("GET", "/", (), b"", seconds=DEADLINE))
        with pytest.raises(asyncio.CancelledError):
            await asking
        await cut.wait()


@asynccontextmanager
async def gone_without_a_word(address: str, port: int) -> AsyncIterator[None]:
    """Nobody answers there, not even that nobody is there: the queue of what listens is full."""
    with socket.socket() as listening:
        listening.bind((address, port))
        listening.listen(0)
        waiting = [socket.socket() for _ in range(3)]
        for one in waiting:
            one.setblocking(False)
            one.connect_ex((address, port))
        try:
            yield
        finally:
            for one in waiting:
                one.close()


async def test_address_that_is_gone_without_a_word_does_not_hide_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    async def addresses(host: str, port: int, **_: object) -> list[tuple[object, ...]]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in ("127.0.0.2", "127.0.0.1")]

    serve, _ = answering(OK)
    async with serving(serve) as port, gone_without_a_word("127.0.0.2", port):
        monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", addresses)
        http = HttpClient(Origin("api.test", port), connect_seconds=1.0)
        assert (await http.request("GET", "/", (), b"", seconds=DEADLINE)).body == b"ok"
        http.close()


async def test_nobody_there_is_told_with_the_systems_number() -> None:
    async with serving(silence) as port:
        pass
    async with client(port) as http:
        with pytest.raises(ConnectionRefusedError):
            await http.request("GET", "/", (), b"", seconds=DEADLINE)


@pytest.mark.parametrize(("where", "value"), [("/", "a\r\nX: 1"), ("/", "a\nb"), ("/ HTTP/1.1\r\nX: 1", "a"), ("/a b", "a")])
async def test_nothing_can_be_smuggled_into_a_request(where: str, value: str) -> None:
    async with serving(silence) as port, client(port) as http:
        with pytest.raises(ValueError, match="a line break in a header, or a blank in the path"):
            await http.request("GET", where, [("A", value)], b"", seconds=DEADLINE)


async def test_stream_gives_its_bytes_as_they_come_and_then_its_connection_back() -> None:
    go_on = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n")
        await go_on.wait()
        writer.write(b"3\r\ntwo\r\n0\r\n\r\n")
        await reader.readuntil(b"\r\n\r\n")
        writer.write(OK)

    async with serving(serve) as port, client(port) as http:
        stream = await http.stream("GET", "/", ())
        chunks = stream.chunks()
        assert await anext(chunks) == b"one"
        go_on.set()
        assert [chunk async for chunk in chunks] == [b"two"]
        stream.close()
        assert (await http.request("POST", "/", (), b"", seconds=DEADLINE)).body == b"ok"


async def test_stream_that_nobody_reads_stops_the_sender() -> None:
    part = 2**20
    stuck = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (64 * part))
        for _ in range(64):
            writer.write(b"x" * part)
            draining = asyncio.create_task(writer.drain())
            if not (await asyncio.wait([draining], timeout=0.2))[0]:
                stuck.set()
                await draining

    async with serving(serve) as port, client(port) as http:
        stream = await http.stream("GET", "/", ())
        await stuck.wait()
        assert len(await stream.read()) == 64 * part


@pytest.fixture(scope="module")
def authority() -> KeyPair:
    return new_authority("test")


def server_tls(authority: KeyPair, directory: Path, name: str) -> ssl.SSLContext:
    pair = issue(authority, name, [name])
    file = directory / name
    file.write_bytes(pair.certificate + pair.key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    return context


def client_tls(authority: KeyPair) -> ssl.SSLContext:
    return ssl.create_default_context(cadata=authority.certificate.decode())


@pytest.mark.parametrize("size", [1, 1000, 20_000], ids=["bytes", "kilobytes", "more than a record of TLS"])
@pytest.mark.parametrize("is_secure", [False, True], ids=["plain", "TLS"])
async def test_reader_who_rests_gets_what_came_meanwhile_in_order(
    authority: KeyPair, tmp_path: Path, size: int, is_secure: bool
) -> None:
    parts = [bytes([number]) * size for number in range(100 if size > 1000 else 250)]

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        for part in parts:
            writer.write(b"%x\r\n%b\r\n" % (len(part), part))
            await writer.drain()
            await asyncio.sleep(0)
        writer.write(b"0\r\n\r\n")

    ours, theirs = (server_tls(authority, tmp_path, "api.test"), client_tls(authority)) if is_secure else (None, None)
    async with serving(serve, ours) as port, client(port, tls=theirs, server_name="api.test") as http:
        stream, chunks = await http.stream("GET", "/", ()), []
        async for chunk in stream.chunks():
            chunks.append(chunk)
            await asyncio.sleep(0.02)
    assert b"".join(chunks) == b"".join(parts)
    assert len(chunks) < len(parts) / (1 if size > 1000 else 5)


@pytest.mark.parametrize(("server_name", "is_trusted"), [("api.test", True), ("", False)])
async def test_certificate_must_be_for_the_server(authority: KeyPair, tmp_path: Path, server_name: str, is_trusted: bool) -> None:
    serve, _ = answering(OK)
    async with (
        serving(serve, server_tls(authority, tmp_path, "api.test")) as port,
        client(port, tls=client_tls(authority), server_name=server_name) as http,
    ):
        if is_trusted:
            assert (await http.request("GET", "/", (), b"", seconds=DEADLINE)).body == b"ok"
        else:
            with pytest.raises(ssl.SSLCertVerificationError):
                await http.request("GET", "/", (), b"", seconds=DEADLINE)


def proxying(answer: bytes, seen: list[bytes]) -> Serve:
    """Takes a CONNECT, answers it with this, and carries bytes from then on."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        seen.append(head)
        writer.write(answer)
        if b" 200 " not in answer:
            return
        _, port = head.split()[1].rsplit(b":", 1)
        upstream, downstream = await asyncio.open_connection("127.0.0.1", int(port))
        await asyncio.gather(carry(reader, downstream), carry(upstream, writer))

    async def carry(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        while part := await source.read(2**16):
            sink.write(part)
        sink.close()

    return serve


async def test_server_behind_a_proxy_is_reached_through_a_tunnel(authority: KeyPair, tmp_path: Path) -> None:
    serve, seen = answering(OK, OK)
    connects: list[bytes] = []
    async with (
        serving(serve, server_tls(authority, tmp_path, "api.test")) as port,
        serving(proxying(b"HTTP/1.1 200 Connection established\r\n\r\n", connects)) as by,
        client(port, tls=client_tls(authority), server_name="api.test", proxy=f"http://me:p%40ss@127.0.0.1:{by}") as http,
    ):
        for _ in range(2):
            assert (await http.request("GET", "/x", (), b"", seconds=DEADLINE)).body == b"ok"
    identity = base64.b64encode(b"me:p@ss")
    place = b"127.0.0.1:%d" % port
    assert connects == [
        b"CONNECT %b HTTP/1.1\r\nHost: %b\r\nProxy-Authorization: Basic %b\r\n\r\n" % (place, place, identity),
    ]
    assert all(b"Proxy-Authorization" not in head for head in seen[0])


async def test_proxy_that_speaks_tls_carries_tls(authority: KeyPair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca"))
    (tmp_path / "ca").write_bytes(authority.certificate)
    serve, _ = answering(OK)
    async with (
        serving(serve, server_tls(authority, tmp_path, "api.test")) as port,
        serving(proxying(b"HTTP/1.1 200 OK\r\n\r\n", []), server_tls(authority, tmp_path, "localhost")) as by,
        client(port, tls=client_tls(authority), server_name="api.test", proxy=f"https://localhost:{by}") as http,
    ):
        assert (await http.request("GET", "/x", (), b"", seconds=DEADLINE)).body == b"ok"


async def test_proxy_is_asked_for_an_address_of_version_6_in_brackets(authority: KeyPair) -> None:
    connects: list[bytes] = []
    async with serving(proxying(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n", connects)) as by:
        origin = Origin("2001:db8::1", 6443, client_tls(authority), proxy=f"http://127.0.0.1:{by}")
        http = HttpClient(origin, connect_seconds=DEADLINE)
        with pytest.raises(ConnectionError, match="answered 502"):
            await http.request("GET", "/", (), b"", seconds=DEADLINE)
        http.close()
    assert connects == [b"CONNECT [2001:db8::1]:6443 HTTP/1.1\r\nHost: [2001:db8::1]:6443\r\n\r\n"]


async def test_proxy_that_refuses_is_told_with_its_answer(authority: KeyPair) -> None:
    async with (
        serving(proxying(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n", [])) as by,
        client(1, tls=client_tls(authority), proxy=f"http://127.0.0.1:{by}") as http,
    ):
        with pytest.raises(ConnectionError, match=r"the proxy 127.0.0.1 answered 407"):
            await http.request("GET", "/", (), b"", seconds=DEADLINE)


async def test_plain_server_behind_a_proxy_is_asked_for_by_its_whole_url() -> None:
    serve, seen = answering(OK)
    async with serving(serve) as by, client(8080, proxy=f"http://me@127.0.0.1:{by}") as http:
        await http.request("GET", "/x", (), b"", seconds=DEADLINE)
    first, _, authorization = seen[0][0].split(b"\r\n")[:3]
    assert first == b"GET http://127.0.0.1:8080/x HTTP/1.1"
    assert authorization == b"Proxy-Authorization: Basic " + base64.b64encode(b"me:")
