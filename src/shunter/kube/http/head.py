"""The head of an HTTP/1.1 request: text to a value, or the reason why it is refused. Pure.

Know before changing it: when a server and a proxy before it see other borders between requests, a client can send requests in
another's name. So whatever RFC 9110 and 9112 let a server repair or guess is refused. Where they leave a choice, Go's net/http,
and so kube-apiserver, was asked; `tests/kube/http/test_head.py` is the table.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

HEAD_LIMIT = 64 * 1024
"""Bytes of request line and headers."""
HEADER_LIMIT = 256
"""Headers of one request: equal ones are joined, which takes the square of their number."""
CHUNKED = -1
"""The length of a body that comes in chunks."""

_TOKEN = r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
_REQUEST_LINE = re.compile(rf"({_TOKEN}) ([!-~]+) HTTP/([0-9])\.([0-9])")
_NAME = re.compile(_TOKEN)
_CONTROLS = bytes((*range(9), *range(10, 32), 127))
_HOST = re.compile(r"[A-Za-z0-9!$%&'()*+,;=:.\-_~\[\]]*")
_ABSOLUTE = re.compile(r"https?://([^/?]+)(.*)", re.IGNORECASE)
_HALF_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_LENGTH = re.compile(r"[0-9]{1,18}", re.ASCII)
_SHORT = 2048
"""Bytes of headers that are worth remembering."""


class RefusedRequestError(Exception):
    """What was sent is no request that this server takes; the connection ends with the answer."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status
        self.why = why


class Head(NamedTuple):
    """What a request says before its body."""

    method: str
    target: str
    """The path, still quoted, and the query; `*` for an OPTIONS request about the server."""
    headers: Mapping[str, str]
    """Names in lower case; the values of a name that came twice are joined by a comma."""
    length: int
    """Bytes of the body, or CHUNKED."""
    takes_chunks: bool
    """Whether the client understands an answer in chunks."""
    is_last: bool
    """The client wants no other request answered on this connection."""
    upgrade: str
    """The protocol that the client asks to speak from here on, or nothing."""
    expects_continue: bool
    """The client sends its body only after `100 Continue`."""


def parsed_head(text: bytes) -> Head:
    """The head in `text`, which is without the empty line that ends it. Raises RefusedRequestError."""
    first, _, lines = text.partition(b"\r\n")
    method, target, takes_chunks = _request_line(first.decode("latin-1"))
    said = _known_headers(lines) if len(lines) <= _SHORT else _headers(lines)
    headers = said.headers
    if target[0] != "/":
        target, headers = _other_form(method, target, headers)
    if "%" in target and _HALF_ESCAPE.search(target.partition("?")[0]):
        raise RefusedRequestError(400, "the path has a % without two hexadecimal digits")
    if takes_chunks:
        if "host" not in headers:
            raise RefusedRequestError(400, "the Host header is missing")
        return Head(method, target, headers, said.length, True, said.is_last, said.upgrade, said.expects_continue)
    if said.length == CHUNKED:
        raise RefusedRequestError(400, "a Transfer-Encoding in HTTP/1.0")
    return Head(method, target, headers, said.length, False, True, "", False)


def refuse_if_not_http(beginning: bytearray, searched: int) -> None:
    """Looks at a head that is not complete yet, of which `searched` bytes were looked at before. Raises RefusedRequestError when
    it cannot become one, so that a client of another protocol is refused at once."""
    if not _NAME.match(chr(beginning[0])) and not beginning.startswith(b"\r"):
        raise RefusedRequestError(400, "this is not HTTP")
    line_feed = beginning.find(b"\n", searched)
    while line_feed >= 0:
        if line_feed == 0 or beginning[line_feed - 1] != 0x0D:
            raise RefusedRequestError(400, "a line that does not end in CR LF")
        line_feed = beginning.find(b"\n", line_feed + 1)


def refuse_bad_line(line: bytes) -> None:
    """Raises RefusedRequestError when `line` is no header."""
    _header(line.decode("latin-1"))
    if line.translate(None, _CONTROLS) != line:
        raise RefusedRequestError(400, "a control character")


def _request_line(line: str) -> tuple[str, str, bool]:
    """Method, target, and whether the client speaks HTTP/1.1."""
    found = _REQUEST_LINE.fullmatch(line)
    if found is None:
        raise RefusedRequestError(400, "the first line is not METHOD TARGET HTTP/1.1")
    method, target, major, minor = found.groups()
    if major != "1":
        raise RefusedRequestError(505, "this server speaks HTTP/1.1")
    if "#" in target:
        raise RefusedRequestError(400, "a fragment in the request's target")
    return method, target, minor != "0"


class _Headers(NamedTuple):
    """What the headers say by themselves."""

    headers: Mapping[str, str]
    length: int
    is_last: bool
    upgrade: str
    expects_continue: bool


def _headers(text: bytes) -> _Headers:
    lines = text.decode("latin-1").split("\r\n") if text else []
    if len(lines) > HEADER_LIMIT:
        raise RefusedRequestError(431, f"more than {HEADER_LIMIT} headers")
    if len(text.translate(None, _CONTROLS)) != len(text) - 2 * max(0, len(lines) - 1):
        raise RefusedRequestError(400, "a control character, or a line that does not end in CR LF")
    headers: dict[str, str] = {}
    for line in lines:
        name, value = _header(line)
        if name in headers:
            if name in _ONCE:
                raise RefusedRequestError(400, f"more than one {name} header")
            value = f"{headers[name]}, {value}"
        headers[name] = value
    if not _is_host(headers.get("host", "")):
        raise RefusedRequestError(400, "the Host header is no host")
    options = {option.strip(" \t").lower() for option in headers.get("connection", "").split(",")}
    upgrade = headers.get("upgrade", "") if "upgrade" in options else ""
    return _Headers(headers, _length(headers), "close" in options, upgrade, _expects_continue(headers))


_known_headers = lru_cache(maxsize=256)(_headers)
"""A client sends the same headers again and again. What is remembered is shared by requests, and not to be changed."""


_ONCE = frozenset(("content-length", "host", "transfer-encoding"))


def _header(line: str) -> tuple[str, str]:
    """Name, in lower case, and value. No name has a blank in it, before the colon or at the beginning of a line that goes on with
    the one before (RFC 9112, 5.1 and 5.2)."""
    name, colon, value = line.partition(":")
    if not colon or not _NAME.fullmatch(name):
        raise RefusedRequestError(400, "a line that is no header")
    return name.lower(), value.strip(" \t")


def _other_form(method: str, target: str, headers: Mapping[str, str]) -> tuple[str, Mapping[str, str]]:
    """The path and query of a target that does not begin with one (RFC 9112, 3.2), and headers with the host that it names."""
    if method == "CONNECT":
        raise RefusedRequestError(501, "this server is no proxy")
    if target == "*" and method == "OPTIONS":
        return target, headers
    found = _ABSOLUTE.fullmatch(target)
    if found is None or not _is_host(found[1]):
        raise RefusedRequestError(400, "the request's target is no path")
    return found[2] if found[2].startswith("/") else f"/{found[2]}", {**headers, "host": found[1]}


def _is_host(text: str) -> bool:
    return _HOST.fullmatch(text) is not None


def _length(headers: Mapping[str, str]) -> int:
    encoding, length = headers.get("transfer-encoding"), headers.get("content-length")
    if encoding is None:
        if length is None:
            return 0
        if not _LENGTH.fullmatch(length):
            raise RefusedRequestError(400, "the Content-Length is no number")
        return int(length)
    if length is not None:
        raise RefusedRequestError(400, "both Content-Length and Transfer-Encoding")
    if encoding.lower() != "chunked":
        raise RefusedRequestError(501, "a Transfer-Encoding other than chunked")
    return CHUNKED


def _expects_continue(headers: Mapping[str, str]) -> bool:
    expected = headers.get("expect")
    if expected is not None and expected.lower() != "100-continue":
        raise RefusedRequestError(417, "an Expect other than 100-continue")
    return expected is not None
