"""What a handler of the HTTP server gets: a request, and the ways to answer it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import parse_qsl, unquote_to_bytes

from shunter.kube.http.head import Head
from shunter.kube.http.response import CLOSE, Headers, head

if TYPE_CHECKING:  # a conversion, which reads options as a request does, has no need of it
    import asyncio


class RequestConnection(Protocol):
    """The connection that a request came on. Writing raises ConnectionResetError when the client has gone."""

    certificate: Mapping[str, Any] | None
    is_slow: bool
    """What was written has not been read yet."""

    def write(self, text: bytes) -> None:
        """Sends without waiting, however slowly the client reads: see `is_slow`."""

    async def drain(self) -> None:
        """Waits until the client has read most of what was sent."""

    def abort(self) -> None:
        """Cuts the connection at once, with what was not sent yet."""

    def close_when_answered(self) -> None:
        """Takes no further request, and closes after this one's answer."""

    def detach(self) -> tuple[asyncio.Transport, bytes]:
        """The connection, paused, and what has come after the request; the server then has nothing to do with it."""


class Request:
    """One request. Header names are in lower case; a header that came twice has its values joined by a comma."""

    __slots__ = ("_head", "_wire", "body", "headers", "is_too_large", "method", "path", "query", "query_string")

    def __init__(self, wire: RequestConnection, head: Head) -> None:
        path, _, query = head.target.partition("?")
        self._wire = wire
        self._head = head
        self.method = head.method
        self.path = unquote_to_bytes(path).decode(errors="replace") if "%" in path else path
        self.query_string = query
        self.query = _parameters(query) if query else _NO_PARAMETERS
        """The first value of each parameter. Shared by requests; not to be changed."""
        self.headers = head.headers
        self.body = b""
        """Empty in a server's `accepts`, which is asked before the body is taken."""
        self.is_too_large = False
        """Whether the body is longer than the server takes; it is dropped then."""

    @property
    def certificate(self) -> Mapping[str, Any] | None:
        """The client's certificate, verified, as `ssl.getpeercert()` shows it."""
        return self._wire.certificate

    @property
    def upgrade(self) -> str:
        """The protocol that the client asks to speak from here on, or nothing."""
        return self._head.upgrade

    def stream(self, *, status: int = 200, content_type: str, headers: Headers = ()) -> Stream:
        """Begins an answer whose body comes bit by bit. Raises ConnectionResetError when the client has gone."""
        return Stream(self._wire, self._head, status, content_type, headers)

    def take_over(self) -> tuple[asyncio.Transport, bytes]:
        """For a request with an `upgrade`: the connection, paused, and what the client has already sent in its new protocol.

        The caller sets a protocol of its own, sends even the answer, and closes. Raises ConnectionResetError.
        """
        return self._wire.detach()


class Stream:
    """An answer under way. A HEAD request gets its head alone."""

    __slots__ = ("_chunked", "_is_silent", "_wire")

    def __init__(self, wire: RequestConnection, asked: Head, status: int, content_type: str, headers: Headers) -> None:
        self._wire = wire
        self._chunked = asked.takes_chunks
        self._is_silent = asked.method == "HEAD"
        framing = b"Transfer-Encoding: chunked\r\n"
        if not self._chunked:
            wire.close_when_answered()
            framing = CLOSE
        wire.write(head(status, content_type, headers, framing))

    async def write(self, chunk: bytes) -> None:
        """Returns when the client keeps up. Raises ConnectionResetError when it has gone."""
        wire = self._wire
        if chunk and not self._is_silent:
            wire.write(b"%x\r\n%b\r\n" % (len(chunk), chunk) if self._chunked else chunk)
        if wire.is_slow:
            await wire.drain()

    async def end(self) -> None:
        """The body is complete. Raises ConnectionResetError when the client has gone."""
        if self._chunked and not self._is_silent:
            self._wire.write(b"0\r\n\r\n")

    def abort(self) -> None:
        """Cuts the connection at once."""
        self._wire.abort()


_NO_PARAMETERS: Mapping[str, str] = {}


@lru_cache(maxsize=1024)
def _parameters(query: str) -> Mapping[str, str]:
    pairs = parse_qsl(query, keep_blank_values=True)
    return dict(reversed(pairs))


def flag(query: Mapping[str, str], name: str) -> bool:
    """A boolean of a query as the conversion to metav1 options reads it: everything but `0` and the forms of false is true."""
    value = query.get(name)
    return value is not None and value not in ("0", "false", "False", "FALSE", "f", "F")


def bearer_token(authorization: str) -> str:
    """The bearer token in the value of an Authorization header, as a kube-apiserver reads it: what follows one blank, up to the
    next; empty where there is none."""
    scheme, _, rest = authorization.strip().partition(" ")
    return rest.partition(" ")[0] if scheme.lower() == "bearer" else ""
