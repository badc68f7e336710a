"""Answers of an HTTP/1.1 server as bytes. Pure."""

from __future__ import annotations

import time
from email.utils import formatdate
from functools import lru_cache
from http import HTTPStatus

Headers = tuple[tuple[str, str], ...]

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
CLOSE = b"Connection: close\r\n"
_WITHOUT_BODY = frozenset((204, 304))
_LINE_ENDS = str.maketrans("\r\n\0", "   ")


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


def whole(response: Response, method: str, *, is_end: bool) -> bytes:
    """The answer to a request of this method; HEAD gets the length without the body. `is_end`: the connection ends with it."""
    close = CLOSE if is_end else b""
    if response.status in _WITHOUT_BODY:
        return head(response.status, "", response.headers, close)
    framing = b"Content-Length: %d\r\n%b" % (len(response.body), close)
    text = head(response.status, response.content_type, response.headers, framing)
    return text if method == "HEAD" else text + response.body


def head(status: int, content_type: str, headers: Headers, framing: bytes) -> bytes:
    """Status line and headers. A line break in a value becomes a blank, as in Go: else it would begin another header."""
    return b"%b%b%b\r\n" % (_first_lines(status, content_type, headers), _date(int(time.time())), framing)


@lru_cache(maxsize=256)
def _first_lines(status: int, content_type: str, headers: Headers) -> bytes:
    fields = (("Content-Type", content_type), *headers) if content_type else headers
    lines = (f"HTTP/1.1 {status} {_phrase(status)}", *(f"{name}: {value}" for name, value in fields))
    return "".join(f"{line.translate(_LINE_ENDS)}\r\n" for line in lines).encode()


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""


@lru_cache(maxsize=1)
def _date(second: int) -> bytes:
    return f"Date: {formatdate(second, usegmt=True)}\r\n".encode()
