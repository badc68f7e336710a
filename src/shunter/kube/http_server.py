"""An HTTP/1.1 server for many small requests: one task a connection, one write an answer, nothing built that nobody reads.

A request reaches the handler with its whole body. The handler returns a `Response`, or answers by itself, with `Request.stream`
or `Request.take_over`, and returns None. Know before changing it: every request of the embedded cluster passes here. It stands in
the place of aiohttp's server because that took a quarter of the API server's time (docs/architecture.md). Parsing is httptools'.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from email.utils import formatdate
from functools import lru_cache
from http import HTTPStatus
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, unquote_to_bytes

import httptools

log = logging.getLogger(__name__)

HEAD_LIMIT = 64 * 1024
"""Bytes of request line and headers."""
_QUEUE_LIMIT = 16
"""Requests that wait behind the one being answered, after which a connection is read no further."""
_BACKLOG = 1024
_WITHOUT_BODY = frozenset((204, 304))

Headers = tuple[tuple[str, str], ...]


class Response:
    """An answer, whole."""

    __slots__ = ("body", "content_type", "headers", "is_last", "status")

    def __init__(
        self,
        body: bytes = b"",
        *,
        status: int = 200,
        content_type: str = "text/plain",
        headers: Headers = (),
        is_last: bool = False,
    ) -> None:
        self.is_last = is_last
        """The connection ends with it."""
        self.body = body
        self.status = status
        self.content_type = content_type
        self.headers = headers


class Request:
    """One request. Header names are in lower case; a header that came twice has its values joined by a comma."""

    __slots__ = ("_connection", "body", "headers", "is_too_large", "method", "path", "query", "query_string")

    def __init__(self, connection: Connection, method: str, url: bytes, headers: Mapping[str, str], body: bytes | None) -> None:
        path, _, query = url.partition(b"?")
        self._connection = connection
        self.method = method
        self.path = (unquote_to_bytes(path) if b"%" in path else path).decode(errors="replace")
        self.query_string = query.decode(errors="replace")
        self.query = _parameters(query) if query else _NO_PARAMETERS
        """The first value of each parameter. Shared by requests; not to be changed."""
        self.headers = headers
        self.body = body or b""
        self.is_too_large = body is None
        """Whether the body was longer than the server takes; it is dropped then."""

    @property
    def certificate(self) -> Mapping[str, Any] | None:
        """The client's certificate, verified, as `ssl.getpeercert()` shows it."""
        return self._connection.certificate

    @property
    def upgrade(self) -> str:
        """The protocol that the client asks to speak from here on, or nothing."""
        return self.headers.get("upgrade", "") if self._connection.is_upgrade_asked else ""

    def stream(self, *, status: int = 200, content_type: str, headers: Headers = ()) -> Stream:
        """Begins an answer whose body comes bit by bit. Raises ConnectionResetError when the client has gone."""
        return Stream(self._connection, status, content_type, headers)

    def take_over(self) -> tuple[asyncio.Transport, bytes]:
        """For a request with an `upgrade`: the connection, paused, and what the client has already sent in its new protocol.

        The caller sets a protocol of its own, sends even the answer, and closes. Raises ConnectionResetError.
        """
        return self._connection.give_away()


class Stream:
    """An answer under way."""

    __slots__ = ("_chunked", "_connection")

    def __init__(self, connection: Connection, status: int, content_type: str, headers: Headers) -> None:
        self._connection = connection
        self._chunked = connection.takes_chunks
        framing = b"Transfer-Encoding: chunked\r\n"
        if not self._chunked:
            connection.close_when_answered()
            framing = b"Connection: close\r\n"
        connection.write(_head(status, content_type, headers, framing))

    async def write(self, chunk: bytes) -> None:
        """Returns when the client keeps up. Raises ConnectionResetError when it has gone."""
        connection = self._connection
        if chunk:
            connection.write(b"%x\r\n%b\r\n" % (len(chunk), chunk) if self._chunked else chunk)
        if connection.is_slow:
            await connection.drain()

    async def end(self) -> None:
        """The body is complete. Raises ConnectionResetError when the client has gone."""
        if self._chunked:
            self._connection.write(b"0\r\n\r\n")

    def abort(self) -> None:
        """Cuts the connection at once."""
        self._connection.abort()


Handler = Callable[[Request], Awaitable[Response | None]]


class Patience(NamedTuple):
    """Seconds that a client may take to send a request, and to begin one while nothing is asked; then its connection is cut."""

    request: float
    idle: float


class HttpServer:
    """Listens, and is the protocol factory of its connections. A handler is cancelled when its client goes away."""

    def __init__(self, handler: Handler, *, body_limit: int, patience: Patience | None = None) -> None:
        self.handler = handler
        self.body_limit = body_limit
        """Bytes of a request's body."""
        self.connections: set[Connection] = set()
        self._patience = patience
        self._watch: asyncio.Task[None] | None = None
        self._listener: asyncio.Server | None = None

    def __call__(self) -> Connection:
        return Connection(self)

    async def start(self, host: str, port: int, tls: ssl.SSLContext | None = None) -> int:
        """Listens, with an empty host on all interfaces, and returns the port, which is a free one for 0. Raises OSError."""
        loop = asyncio.get_running_loop()
        self._listener = await loop.create_server(self, host or None, port, ssl=tls, backlog=_BACKLOG)
        if self._patience is not None:
            self._watch = loop.create_task(self._cut_slow(self._patience))
        return int(self._listener.sockets[0].getsockname()[1])

    async def stop(self, seconds: float) -> None:
        """Takes no more connections, lets the requests under way be answered, for so long, and closes the connections."""
        if self._listener is not None:
            self._listener.close()
        if self._watch is not None:
            self._watch.cancel()
        tasks = [connection.task for connection in self.connections if connection.task is not None]
        for connection in tuple(self.connections):
            connection.close_when_answered()
        if tasks:
            await asyncio.wait(tasks, timeout=seconds)
        for connection in tuple(self.connections):
            connection.abort()

    async def _cut_slow(self, patience: Patience) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(min(patience) / 10)
            for connection in tuple(self.connections):
                if connection.is_overdue(patience, loop.time()):
                    connection.abort()


class Connection(asyncio.Protocol):
    """Bytes in, requests to the handler one after another, answers out. `on_...` are what httptools calls."""

    def __init__(self, server: HttpServer) -> None:
        self._server = server
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._parser = httptools.HttpRequestParser(self)
        self._requests: deque[Request] = deque()
        self._news: asyncio.Future[None] | None = None
        """Set while nothing is to be answered: there is a request, or nobody to send one."""
        self._relief: asyncio.Future[None] | None = None
        """Set while the client reads too slowly."""
        self._is_answering = False
        self._is_last = False
        self._is_paused = False
        self._head_bytes = 0
        self._body_bytes = 0
        self._url = b""
        self._headers: dict[str, str] = {}
        self._body: list[bytes] = []
        self._after_upgrade = b""
        self._begun_at: float | None = None
        """When the request that is coming in began, on the loop's clock."""
        self._idle_since = self._loop.time()
        self.task: asyncio.Task[None] | None = None
        self.certificate: Mapping[str, Any] | None = None
        self.is_upgrade_asked = False
        self.takes_chunks = True
        self.is_slow = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]  # uvloop's is no asyncio.Transport
        self.certificate = transport.get_extra_info("peercert")
        connected = transport.get_extra_info("socket")
        if connected is not None:
            connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        self._server.connections.add(self)
        self.task = self._loop.create_task(self._serve())

    def data_received(self, data: bytes) -> None:
        if self.is_upgrade_asked:
            self._after_upgrade += data
            return
        self._head_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._after_upgrade = data[upgrade.args[0] :]
        except httptools.HttpParserError as error:
            self._refuse(400, str(error))
        if self._head_bytes > HEAD_LIMIT:
            self._refuse(431, f"request line and headers have more than {HEAD_LIMIT} bytes")

    def on_message_begin(self) -> None:
        self._begun_at = self._loop.time()
        self._url = b""
        self._headers = {}
        self._body = []
        self._body_bytes = 0

    def on_url(self, part: bytes) -> None:
        self._url += part

    def on_header(self, name: bytes, value: bytes) -> None:
        known, text = header_name(name), value.decode("latin-1")
        self._headers[known] = f"{self._headers[known]}, {text}" if known in self._headers else text

    def on_headers_complete(self) -> None:
        self._head_bytes = 0
        if self._headers.get("expect", "").lower() == "100-continue" and self._transport is not None:
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_body(self, part: bytes) -> None:
        self._head_bytes = 0
        self._body_bytes += len(part)
        if self._body_bytes <= self._server.body_limit:
            self._body.append(part)

    def on_message_complete(self) -> None:
        self._head_bytes = 0
        self._begun_at = None
        parser = self._parser
        self.takes_chunks = parser.get_http_version() != "1.0"
        self.is_upgrade_asked = parser.should_upgrade()
        self._is_last = self._is_last or not parser.should_keep_alive()
        body = None if self._body_bytes > self._server.body_limit else b"".join(self._body)
        self._requests.append(Request(self, parser.get_method().decode(), self._url, self._headers, body))
        if len(self._requests) > _QUEUE_LIMIT and not self._is_paused and self._transport is not None:
            self._is_paused = True
            self._transport.pause_reading()
        _set(self._news)

    def pause_writing(self) -> None:
        self.is_slow = True

    def resume_writing(self) -> None:
        self.is_slow = False
        _set(self._relief)

    def connection_lost(self, error: Exception | None) -> None:
        self._server.connections.discard(self)
        self._transport = None
        self._requests.clear()
        if self._is_answering and self.task is not None:
            self.task.cancel()
        self.close_when_answered()

    def write(self, text: bytes) -> None:
        if self._transport is None:
            raise ConnectionResetError("the client has gone")
        self._transport.write(text)

    async def drain(self) -> None:
        """Waits until the client has read most of what was sent. Raises ConnectionResetError."""
        while self.is_slow and self._transport is not None:
            self._relief = self._loop.create_future()
            await self._relief
        if self._transport is None:
            raise ConnectionResetError("the client has gone")

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def is_overdue(self, patience: Patience, now: float) -> bool:
        """Whether the client has had more time than that, at `now` on the loop's clock."""
        if self._begun_at is not None:
            return now - self._begun_at > patience.request
        is_idle = not self._is_answering and not self._requests
        return is_idle and now - self._idle_since > patience.idle

    def close_when_answered(self) -> None:
        """Takes no further requests; closes at once when none is being answered."""
        self._is_last = True
        _set(self._news)

    def give_away(self) -> tuple[asyncio.Transport, bytes]:
        transport, self._transport = self._transport, None
        if transport is None:
            raise ConnectionResetError("the client has gone")
        transport.pause_reading()
        self._server.connections.discard(self)
        return transport, self._after_upgrade

    async def _serve(self) -> None:
        try:
            while await self._has_request():
                request = self._requests.popleft()
                self._is_answering = True
                response = await self._server.handler(request)
                self._is_answering = False
                self._idle_since = self._loop.time()
                if response is not None:
                    self._is_last = self._is_last or response.is_last
                    is_end = self.is_upgrade_asked or (self._is_last and not self._requests)
                    self.write(_whole(request, response, is_end=is_end))
                if self.is_slow:
                    await self.drain()
                if self.is_upgrade_asked:
                    return
        except ConnectionResetError:
            log.debug("a client went away before its answer was complete")
        except Exception:
            log.exception("a connection is closed because its request could not be answered")
        finally:
            if self._transport is not None:
                self._transport.close()

    async def _has_request(self) -> bool:
        """Waits for one; False when none will come."""
        if self._is_paused and self._transport is not None:
            self._is_paused = False
            self._transport.resume_reading()
        while not self._requests:
            if self._is_last:
                return False
            self._news = self._loop.create_future()
            await self._news
        return True

    def _refuse(self, status: int, why: str) -> None:
        """Answers what is no HTTP, and hangs up."""
        if self._transport is not None:
            body = f"{why}\n".encode()
            framing = b"Content-Length: %d\r\nConnection: close\r\n" % len(body)
            self._transport.write(_head(status, "text/plain", (), framing) + body)
            self._transport.close()


def _set(waiter: asyncio.Future[None] | None) -> None:
    if waiter is not None and not waiter.done():
        waiter.set_result(None)


def _whole(request: Request, response: Response, *, is_end: bool) -> bytes:
    close = b"Connection: close\r\n" if is_end else b""
    if response.status in _WITHOUT_BODY:
        return _head(response.status, "", response.headers, close)
    framing = b"Content-Length: %d\r\n%b" % (len(response.body), close)
    head = _head(response.status, response.content_type, response.headers, framing)
    return head if request.method == "HEAD" else head + response.body


def _head(status: int, content_type: str, headers: Headers, framing: bytes) -> bytes:
    return b"%b%b%b\r\n" % (_first_lines(status, content_type, headers), _date(int(time.time())), framing)


@lru_cache(maxsize=256)
def _first_lines(status: int, content_type: str, headers: Headers) -> bytes:
    fields = (("Content-Type", content_type), *headers) if content_type else headers
    lines = [f"HTTP/1.1 {status} {_phrase(status)}", *(f"{name}: {value}" for name, value in fields)]
    return "".join(f"{line}\r\n" for line in lines).encode()


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""


@lru_cache(maxsize=1)
def _date(second: int) -> bytes:
    return f"Date: {formatdate(second, usegmt=True)}\r\n".encode()


@lru_cache(maxsize=256)
def header_name(name: bytes) -> str:
    """In lower case."""
    return name.decode("latin-1").lower()


_NO_PARAMETERS: Mapping[str, str] = {}


@lru_cache(maxsize=1024)
def _parameters(query: bytes) -> Mapping[str, str]:
    pairs = parse_qsl(query.decode(errors="replace"), keep_blank_values=True)
    return dict(reversed(pairs))
