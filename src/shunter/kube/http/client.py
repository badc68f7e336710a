"""An HTTP/1.1 client of one server: kept connections, one request on each at a time, nothing built that is not read.

What to know before changing it: it stands in the place of aiohttp's client, which took a quarter of the operator's time and costs
every command 0.2 s and 20 MB to import (docs/architecture.md). Redirects are not followed, nothing is compressed, and a request
is sent again only when a kept connection turns out to have been closed meanwhile.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import quote, urlencode

from shunter.kube.http.connection import Connection, Origin, connected, proxy_authorization
from shunter.kube.http.connection_streams import connection_streams

IDLE_SECONDS = 15.0
"""How long a connection is kept for the next request."""
_REPEATABLE = frozenset(("GET", "PUT", "DELETE"))
_WITH_BODY = frozenset(("POST", "PUT", "PATCH"))
_PLAIN_PATH = re.compile(r"[A-Za-z0-9/._~:-]*")

Fields = Sequence[tuple[str, str]]


class Answer(NamedTuple):
    """Header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class UpgradedConnection(NamedTuple):
    """A connection that goes on in another protocol, which its user closes. Header names are in lower case."""

    headers: Mapping[str, str]
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter


def target(path: str, params: Mapping[str, str]) -> str:
    """What stands in a request's first line."""
    quoted = path if _PLAIN_PATH.fullmatch(path) else quote(path, safe="/:@!$&'()*+,;=~%")
    return f"{quoted}?{_query(tuple(params.items()))}" if params else quoted


@lru_cache(maxsize=256)
def _query(params: Fields) -> str:
    return urlencode(params, quote_via=quote, safe="")


class HttpClient:
    """Connects on demand. All connection errors are OSErrors, including TimeoutError."""

    def __init__(self, origin: Origin, *, connect_seconds: float) -> None:
        self._origin = origin
        self._connect_seconds = connect_seconds
        self._idle: list[Connection] = []
        self._busy: set[Connection] = set()
        self._sweeping: asyncio.TimerHandle | None = None

    def close(self) -> None:
        """Cuts all connections, also those in use."""
        if self._sweeping is not None:
            self._sweeping.cancel()
        for connection in (*self._idle, *self._busy):
            connection.abort()
        self._idle.clear()

    async def request(self, method: str, target: str, headers: Fields, body: bytes, *, seconds: float) -> Answer:
        """The whole answer, which may take so long once the connection is there."""
        text = self._text(method, target, headers, body)
        while True:
            connection, is_kept = await self._connection()
            try:
                await connection.ask(text, seconds=seconds, whole=True)
            except ConnectionError:
                if _may_ask_again(connection, is_kept, method):
                    continue
                raise
            finally:
                self._give_back(connection)
            return Answer(connection.status, connection.headers, connection.body())

    async def stream(self, method: str, target: str, headers: Fields) -> AnswerStream:
        """An answer whose body is read as it comes. To be closed. A server may send the head with the first bytes of a log, so it
        is waited for without end."""
        text = self._text(method, target, headers, b"")
        while True:
            connection, is_kept = await self._connection()
            try:
                await connection.ask(text, whole=False)
            except BaseException as error:
                self._give_back(connection)
                if isinstance(error, ConnectionError) and _may_ask_again(connection, is_kept, method):
                    continue
                raise
            return AnswerStream(connection, self._give_back)

    async def upgrade(self, target: str, headers: Fields, *, seconds: float) -> Answer | UpgradedConnection:
        """Asks by GET, on a new connection, to go on in another protocol, which `headers` name; an `Answer` is a refusal."""
        text = self._text("GET", target, headers, b"")
        connection = await self._connected()
        try:
            await connection.ask(text, whole=True, seconds=seconds, may_upgrade=True)
            if connection.status == 101:
                return UpgradedConnection(connection.headers, *connection_streams(*connection.take_over()))
            return Answer(connection.status, connection.headers, connection.body())
        finally:
            self._give_back(connection)

    def _text(self, method: str, target: str, headers: Fields, body: bytes) -> bytes:
        origin = self._origin
        lines = [f"{method} {target} HTTP/1.1", f"Host: {origin.authority}", *[f"{name}: {value}" for name, value in headers]]
        if origin.proxy and origin.tls is None:
            lines[0] = f"{method} http://{origin.authority}{target} HTTP/1.1"
            lines += proxy_authorization(origin.proxy)
        if body or method in _WITH_BODY:
            lines.append(f"Content-Length: {len(body)}")
        head = "\r\n".join(lines)
        if head.count("\n") >= len(lines) or " " in target:
            raise ValueError(f"{method} {target}: a line break in a header, or a blank in the path")
        return b"%b\r\n\r\n%b" % (head.encode("latin-1"), body)

    async def _connection(self) -> tuple[Connection, bool]:
        """A connection to be given back, and whether it was used before."""
        while self._idle:
            connection = self._idle.pop()
            if connection.is_usable:
                self._busy.add(connection)
                return connection, True
        return await self._connected(), False

    async def _connected(self) -> Connection:
        """A new connection, to be given back."""
        try:
            async with asyncio.timeout(self._connect_seconds):
                connection = await connected(self._origin, seconds=self._connect_seconds)
        except TimeoutError:
            raise TimeoutError(f"no connection within {self._connect_seconds:g} s") from None
        self._busy.add(connection)
        return connection

    def _give_back(self, connection: Connection) -> None:
        self._busy.discard(connection)
        if not connection.is_usable:
            connection.abort()
            return
        connection.idle_since = connection.loop.time()
        self._idle.append(connection)
        if self._sweeping is None:
            self._sweeping = connection.loop.call_later(IDLE_SECONDS, self._sweep)

    def _sweep(self) -> None:
        """Closes connections that were idle for IDLE_SECONDS."""
        self._sweeping = None
        loop = asyncio.get_running_loop()
        kept = [connection for connection in self._idle if loop.time() - connection.idle_since < IDLE_SECONDS]
        for connection in self._idle:
            if connection not in kept:
                connection.abort()
        self._idle = kept
        if kept:
            self._sweeping = loop.call_later(IDLE_SECONDS, self._sweep)


def _may_ask_again(connection: Connection, is_kept: bool, method: str) -> bool:
    """Whether the server closed a kept connection before it answered, and the request may be repeated."""
    return is_kept and not connection.was_answered and method in _REPEATABLE


class AnswerStream:
    """An answer whose head is here. Close it: that gives the connection back, or cuts it when the body is not read to its end."""

    def __init__(self, connection: Connection, give_back: Callable[[Connection], None]) -> None:
        self._connection = connection
        self._give_back = give_back
        self.status = connection.status
        self.headers: Mapping[str, str] = connection.headers

    async def chunks(self) -> AsyncGenerator[bytes]:
        """The body as it arrives."""
        while (chunk := await self._connection.chunk()) is not None:
            yield chunk

    async def read(self) -> bytes:
        """All of the body."""
        return b"".join([chunk async for chunk in self.chunks()])

    def close(self) -> None:
        """Keeps the connection for the next request if the body was read to its end, else cuts it. To be called once."""
        self._give_back(self._connection)
