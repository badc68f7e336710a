"""One connection of the HTTP client: made, directly or through a proxy, asked, and read.

What to know before changing it: one request is under way at a time, and waiting costs one future a request or a chunk. A stream
is read no further while what came last waits for its reader: that bounds what is held, and leaves to the kernel what a reader
who rests lets come. Parsing is httptools'.
"""

from __future__ import annotations

import asyncio
import base64
import socket
import ssl
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

import httptools

from shunter.kube.tls.certificates import verifying

TLS_RECORD_BYTES = 17 * 1024
HEAD_LIMIT = 2**20
"""Bytes that may come before an answer's head is complete, hints (status 1xx) included; Go's clients take as much by default."""
HEADER_LIMIT = 1000
"""Headers of one answer: equal ones are joined, which takes the square of their number."""
_PROXY_SECONDS = 10.0
"""For a proxy to open its tunnel."""


class Origin(NamedTuple):
    """A server and the way to it."""

    host: str
    port: int
    tls: ssl.SSLContext | None = None
    """None for plain HTTP."""
    server_name: str = ""
    """The name that its certificate must have, when that is not the host."""
    proxy: str = ""
    """URL, or nothing."""

    @property
    def authority(self) -> str:
        """`example.org:6443` or `[::1]`, as the Host header has it: the scheme's own port is left out."""
        written = host_port(self.host, self.port)
        return written.removesuffix(f":{443 if self.tls else 80}")


def host_port(host: str, port: int | str) -> str:
    """`example.org:80`, `[::1]:80`: addresses of IPv6 stand in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


class Connection(asyncio.Protocol):
    """One connection: asks, and collects the answer. `on_...` are what httptools calls."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.idle_since = 0.0
        self.status = 0
        self.headers: dict[str, str] = {}
        self.was_answered = False
        """Whether anything has come since the last request."""
        self._upgraded_bytes: bytes | None = None
        """What has come in another protocol, once the server has agreed to it; then this connection reads no more."""
        self._transport: asyncio.Transport | None = None
        self._parser = httptools.HttpResponseParser(self)
        self._waiter: asyncio.Future[None] | None = None
        self._awaited = ""
        """What `_waiter` waits for: `head`, `chunk` or `end`."""
        self._error: OSError | None = None
        self._is_asking = False
        self._may_upgrade = False
        self._is_whole = False
        self._has_head = False
        self._head_bytes = 0
        self._header_count = 0
        self._keeps = False
        self._body: list[bytes] = []
        self._is_paused = False

    @property
    def is_usable(self) -> bool:
        """Whether another request may be sent. False while an answer is under way, and before the first: only an answer tells
        whether the server keeps the connection."""
        return self._transport is not None and not self._is_asking and self._keeps

    def abort(self) -> None:
        """Cuts the connection at once; one that is gone, or was taken over, is left alone."""
        if self._transport is not None:
            self._transport.abort()

    async def ask(self, text: bytes, *, whole: bool, seconds: float | None = None, may_upgrade: bool = False) -> None:
        """Returns when the answer is here, the whole of it or its head. Raises OSError, after so many seconds TimeoutError. With
        `may_upgrade` the answer may be 101: see `take_over`."""
        self._is_asking, self._has_head, self.was_answered, self._keeps = True, False, False, True
        self._may_upgrade, self._is_whole = may_upgrade, whole
        self._body = []
        self._head_bytes = 0
        if self._transport is None:
            raise self._error or _hung_up()
        self._transport.write(text)
        expiry = self.loop.call_later(seconds, self._fail, TimeoutError(f"no answer within {seconds:g} s")) if seconds else None
        try:
            await self._until("end" if whole else "head")
        finally:
            if expiry is not None:
                expiry.cancel()

    async def tunnel(self, tls: ssl.SSLContext, name: str) -> Connection:
        """TLS inside this connection, which is used up by that."""
        transport, self._transport = self._transport, None
        if transport is None:
            raise self._error or _hung_up()
        inner = Connection()
        wrapped = await self.loop.start_tls(transport, inner, tls, server_hostname=name)
        if wrapped is None:
            raise _hung_up()
        inner.connection_made(wrapped)
        return inner

    def take_over(self) -> tuple[asyncio.Transport, bytes]:
        """After an answer of status 101: the connection, paused, and what the server has sent in its new protocol. Raises OSError
        when the server has hung up."""
        transport, self._transport = self._transport, None
        if transport is None or self._upgraded_bytes is None:
            raise self._error or _hung_up()
        return transport, self._upgraded_bytes

    def body(self) -> bytes:
        """What has come of the body and was not yet taken by `chunk`."""
        return self._body[0] if len(self._body) == 1 else b"".join(self._body)

    async def chunk(self) -> bytes | None:
        """What has come since the last one; None at the end. Raises OSError when the connection breaks before that."""
        if not self._body and self._is_asking:
            await self._until("chunk")
        if not self._body:
            return None
        chunk = self.body()
        self._body = []
        if self._is_paused and self._transport is not None:
            self._is_paused = False
            self._transport.resume_reading()
        return chunk

    async def _until(self, wants: str) -> None:
        if self._error is None:
            self._awaited = wants
            self._waiter = self.loop.create_future()
            await self._waiter
        if self._error is not None and self._is_asking:
            raise self._error

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _fail(self, problem: OSError) -> None:
        self._error = self._error or problem
        self._keeps = False
        self.abort()
        self._wake()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keeps the transport, and limits how much of TLS is received while reading is paused."""
        self._transport = transport  # type: ignore[assignment]  # uvloop's is no asyncio.Transport
        if set_limits := getattr(transport, "set_read_buffer_limits", None):
            # Of TLS: so much is still received while reading is paused. The rest of a record must come where a part is there.
            set_limits(high=TLS_RECORD_BYTES + 1, low=TLS_RECORD_BYTES)

    def data_received(self, data: bytes) -> None:
        """Feeds the parser; reads no further while what came last waits for its reader. Bytes without a request cut the
        connection, and a head of more than `HEAD_LIMIT` bytes fails the answer."""
        if not self._is_asking:
            self.abort()
            return
        self.was_answered = True
        is_read_slowly = bool(self._body) and not self._is_whole
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            if self._may_upgrade and self.status == 101 and self._transport is not None:
                self._transport.pause_reading()
                self._upgraded_bytes = data[upgrade.args[0] :]
                self._is_asking = False
                self._wake()
            else:
                self._fail(ConnectionError(f"the answer is not HTTP: {upgrade}"))
        except httptools.HttpParserError as error:
            self._fail(ConnectionError(f"the answer is not HTTP: {error}"))
        if not self._has_head and self._error is None:
            self._head_bytes += len(data)
            if self._head_bytes > HEAD_LIMIT:
                self._fail(ConnectionError(f"the answer has headers of more than {HEAD_LIMIT} bytes"))
        if is_read_slowly and self._is_asking and self._error is None and not self._is_paused and self._transport is not None:
            self._is_paused = True
            self._transport.pause_reading()

    def connection_lost(self, error: Exception | None) -> None:
        """Completes an answer whose body has no length, if the server closed without an error; any other under way fails."""
        self._transport = None
        if self._has_head and error is None and self.headers.keys().isdisjoint(("content-length", "transfer-encoding")):
            # A body without a length ends with its connection.
            self._is_asking = False
        self._fail(error if isinstance(error, OSError) else _hung_up())

    def on_message_begin(self) -> None:
        """Drops the headers of an interim answer (1xx); an answer without a request makes the connection unusable."""
        if self._is_asking:
            self.headers = {}
            self._header_count = 0
        else:
            # No request has this answer, which came together with the one before: it must not be taken for that, or the next.
            self._keeps = False

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keeps a header under its name in lower case, joined by a comma to an earlier one of that name; not a trailer."""
        if self._has_head:
            # A trailer, which must not count as said before the body (RFC 9110, 6.5.1), or of an answer without a request.
            return
        self._header_count += 1
        if self._header_count > HEADER_LIMIT:
            if self._error is None:
                self._fail(ConnectionError(f"the answer has more than {HEADER_LIMIT} headers"))
            return
        found, text = _header_name(name), value.decode("latin-1")
        # A field that comes again adds to a list, as Warning does (RFC 9110, 5.3).
        self.headers[found] = f"{self.headers[found]}, {text}" if found in self.headers else text

    def on_headers_complete(self) -> None:
        """Takes the status; the head is complete only with one of 200 and above."""
        if self._has_head:
            return
        self.status = self._parser.get_status_code()
        self._has_head = self.status >= 200
        if self._has_head and self._awaited == "head":
            self._wake()

    def on_body(self, part: bytes) -> None:
        """Keeps a part of the body for its reader; drops that of an answer without a request."""
        if not self._is_asking:
            return
        self._body.append(part)
        if self._awaited == "chunk":
            self._wake()

    def on_message_complete(self) -> None:
        """Completes the answer, and says whether the server keeps the connection; an interim one (1xx) completes nothing."""
        if self.status < 200 or not self._is_asking:
            return
        self._is_asking = False
        self._keeps = self._parser.should_keep_alive()
        self._wake()


@lru_cache(maxsize=256)
def _header_name(name: bytes) -> str:
    """In lower case."""
    return name.decode("latin-1").lower()


def _hung_up() -> ConnectionError:
    return ConnectionResetError("the server closed the connection")


async def connected(origin: Origin, *, seconds: float) -> Connection:
    """Tries all addresses of the server for so long together, or goes through the proxy."""
    if origin.proxy:
        return await _connected_by_proxy(origin, seconds)
    name = (origin.server_name or origin.host) if origin.tls else None
    return await _dialled(origin.host, origin.port, origin.tls, name, seconds)


async def _dialled(host: str, port: int, tls: ssl.SSLContext | None, name: str | None, seconds: float) -> Connection:
    """Tries the addresses one after another, so that the error of one address is reported and not a summary of all. Each gets its
    share of the time that is left, as in Go's dialer: an address that does not answer must not hide one that does."""
    loop = asyncio.get_running_loop()
    problem: OSError | None = None
    deadline = loop.time() + seconds
    addresses = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    for tried, (_, _, _, _, address) in enumerate(addresses):
        try:
            async with asyncio.timeout((deadline - loop.time()) / (len(addresses) - tried)):
                _, connection = await loop.create_connection(Connection, str(address[0]), port, ssl=tls, server_hostname=name)
        except ssl.SSLCertVerificationError:
            raise
        except OSError as error:
            problem = problem or error
        else:
            return connection
    raise problem or OSError(f"{host} has no address")


async def _connected_by_proxy(origin: Origin, seconds: float) -> Connection:
    """A tunnel for TLS; a plain connection to the proxy else, which then is asked for whole URLs."""
    proxy = urlsplit(origin.proxy)
    host, is_secure = proxy.hostname or "", proxy.scheme == "https"
    tls = verifying(b"") if is_secure else None
    outer = await _dialled(host, proxy.port or (443 if is_secure else 80), tls, host if is_secure else None, seconds)
    if origin.tls is None:
        return outer
    place = host_port(origin.host, origin.port)
    lines = [f"CONNECT {place} HTTP/1.1", f"Host: {place}", *proxy_authorization(origin.proxy)]
    try:
        await outer.ask("".join(f"{line}\r\n" for line in (*lines, "")).encode(), seconds=_PROXY_SECONDS, whole=False)
        if outer.status != 200:
            raise ConnectionError(f"the proxy {host} answered {outer.status}")
        return await outer.tunnel(origin.tls, origin.server_name or origin.host)
    except BaseException:
        outer.abort()
        raise


def proxy_authorization(proxy: str) -> list[str]:
    """The header line for the user and password in a proxy's URL."""
    url = urlsplit(proxy)
    if not url.username:
        return []
    identity = f"{unquote(url.username)}:{unquote(url.password or '')}"
    return [f"Proxy-Authorization: Basic {base64.b64encode(identity.encode()).decode()}"]
