"""Heads of requests: what RFC 9110 and 9112 demand, and what Go's net/http answered where they leave a choice."""

from __future__ import annotations

import contextlib

import httptools
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shunter.kube.http.head import CHUNKED, HEADER_LIMIT, Head, RefusedRequestError, parsed_head, refuse_if_not_http


def head(text: bytes) -> Head:
    return parsed_head(text)


def refusal(text: bytes) -> int:
    with pytest.raises(RefusedRequestError) as refused:
        parsed_head(text)
    assert refused.value.why
    return refused.value.status


HOST = b"\r\nHost: a"


@pytest.mark.parametrize(
    ("line", "status"),
    [
        # RFC 9112, 3: method SP request-target SP HTTP-version
        pytest.param(b"nonsense", 400, id="no request line"),
        pytest.param(b"GET /", 400, id="HTTP 0.9"),
        pytest.param(b"GET  / HTTP/1.1", 400, id="two blanks"),
        pytest.param(b"GET / HTTP/1.1 ", 400, id="a blank at the end"),
        pytest.param(b" GET / HTTP/1.1", 400, id="a blank at the beginning"),
        pytest.param(b"GET\t/ HTTP/1.1", 400, id="a tab for a blank"),
        pytest.param(b"GET / x HTTP/1.1", 400, id="a blank in the target"),
        pytest.param(b"GET / http/1.1", 400, id="the version in lower case"),
        pytest.param(b"GET / HTTP/1.10", 400, id="a version of two digits"),
        pytest.param(b"GET / HTTP/11", 400, id="a version without a dot"),
        pytest.param(b"G@T / HTTP/1.1", 400, id="a method that is no token"),
        pytest.param(b"GET / HTTP/2.0", 505, id="HTTP 2"),
        pytest.param(b"PRI * HTTP/2.0", 505, id="the preface of HTTP 2"),
        # RFC 9112, 3.2: the four forms of a target
        pytest.param(b"GET foo HTTP/1.1", 400, id="a target that is no path"),
        pytest.param(b"GET * HTTP/1.1", 400, id="the target of OPTIONS in a GET"),
        pytest.param(b"GET ftp://b/x HTTP/1.1", 400, id="another scheme"),
        pytest.param(b"GET http:///x HTTP/1.1", 400, id="a URL without a host"),
        pytest.param(b"GET http://u@b/x HTTP/1.1", 400, id="a URL with a user"),
        pytest.param(b"CONNECT b:443 HTTP/1.1", 501, id="CONNECT"),
        pytest.param(b"GET /a#b HTTP/1.1", 400, id="a fragment"),
        pytest.param(b"GET /\xc3\xa9 HTTP/1.1", 400, id="a path that is not quoted"),
        pytest.param(b"GET /a%zz HTTP/1.1", 400, id="half an escape in the path"),
        pytest.param(b"GET /a% HTTP/1.1", 400, id="a lone percent sign in the path"),
    ],
)
def test_request_line_that_is_refused(line: bytes, status: int) -> None:
    assert refusal(line + HOST) == status


@pytest.mark.parametrize(
    ("line", "target", "host"),
    [
        pytest.param(b"GET /a?b=c HTTP/1.1", "/a?b=c", "a", id="a path and a query"),
        pytest.param(b"GET //b/c HTTP/1.1", "//b/c", "a", id="a path that looks like a host"),
        pytest.param(b"GET /?x=%zz HTTP/1.1", "/?x=%zz", "a", id="half an escape in the query is the handler's matter"),
        pytest.param(b"GET http://b:1/x?y HTTP/1.1", "/x?y", "b:1", id="a URL, as proxies are sent: its host counts"),
        pytest.param(b"GET HTTPS://b HTTP/1.1", "/", "b", id="a URL without a path"),
        pytest.param(b"GET http://b?x HTTP/1.1", "/?x", "b", id="a URL with a query alone"),
        pytest.param(b"OPTIONS * HTTP/1.1", "*", "a", id="the server itself"),
        pytest.param(b"FROB / HTTP/1.1", "/", "a", id="a method that nobody knows is the handler's matter"),
        pytest.param(b"GET / HTTP/1.2", "/", "a", id="a later version of HTTP 1"),
    ],
)
def test_target_is_a_path_whatever_its_form(line: bytes, target: str, host: str) -> None:
    found = head(line + HOST)
    assert (found.target, found.headers["host"], found.takes_chunks) == (target, host, True)


@pytest.mark.parametrize(
    ("lines", "status"),
    [
        # RFC 9112, 2.2 and RFC 9110, 5.5: line ends and characters
        pytest.param(b"X: a\nY: b", 400, id="a bare line feed"),
        pytest.param(b"X: a\rY: b", 400, id="a bare carriage return"),
        pytest.param(b"X: a\r\r\nY: b", 400, id="a carriage return too many"),
        pytest.param(b"X: a\0b", 400, id="NUL"),
        pytest.param(b"X: a\x7f", 400, id="DEL"),
        pytest.param(b"X: a\x1b[0m", 400, id="a control character"),
        pytest.param(b"X\0: a", 400, id="NUL in a name"),
        # RFC 9112, 5.1 and 5.2
        pytest.param(b"X : a", 400, id="a blank before the colon"),
        pytest.param(b"X\t: a", 400, id="a tab before the colon"),
        pytest.param(b"X: a\r\n b", 400, id="a line that goes on (obs-fold)"),
        pytest.param(b"X: a\r\n\tb", 400, id="a line that goes on after a tab"),
        pytest.param(b" X: a", 400, id="a line that goes on from the request line"),
        pytest.param(b"X", 400, id="no colon"),
        pytest.param(b": a", 400, id="no name"),
        pytest.param(b"X\xe9: a", 400, id="a name beyond ASCII"),
        pytest.param(b"X" * 65 + b" : a", 400, id="a long name that is none"),
        # RFC 9112, 3.2
        pytest.param(b"Host: b", 400, id="two hosts"),
        pytest.param(b"Host: a", 400, id="the same host twice"),
        # RFC 9112, 6: where the body ends
        pytest.param(b"Content-Length: 1\r\nContent-Length: 2", 400, id="two lengths"),
        pytest.param(b"Content-Length: 1\r\nContent-Length: 1", 400, id="the same length twice"),
        pytest.param(b"Content-Length: 1, 1", 400, id="a list of lengths"),
        pytest.param(b"Content-Length: +1", 400, id="a length with a sign"),
        pytest.param(b"Content-Length: -1", 400, id="a negative length"),
        pytest.param(b"Content-Length: 0x1", 400, id="a hexadecimal length"),
        pytest.param(b"Content-Length: 1 2", 400, id="a length with a blank"),
        pytest.param(b"Content-Length:", 400, id="an empty length"),
        pytest.param(b"Content-Length: \xb2", 400, id="a digit beyond ASCII"),
        pytest.param(b"Content-Length: " + b"9" * 19, 400, id="a length of nineteen digits"),
        pytest.param(b"Content-Length: 1\r\nTransfer-Encoding: chunked", 400, id="length and chunks"),
        pytest.param(b"Transfer-Encoding: chunked\r\nContent-Length: 1", 400, id="chunks and length"),
        pytest.param(b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", 400, id="chunks twice"),
        pytest.param(b"Transfer-Encoding: gzip, chunked", 501, id="compressed chunks"),
        pytest.param(b"Transfer-Encoding: chunked, identity", 501, id="chunks within something"),
        pytest.param(b"Transfer-Encoding: identity", 501, id="identity"),
        pytest.param(b"Transfer-Encoding: xchunked", 501, id="nearly chunked"),
        pytest.param(b'Transfer-Encoding: "chunked"', 501, id="quoted"),
        pytest.param(b"Transfer-Encoding: \x0bchunked", 400, id="hidden behind a vertical tab"),
        pytest.param(b"Transfer-Encoding:", 501, id="no encoding at all"),
        # RFC 9110, 10.1.1
        pytest.param(b"Expect: 200-ok", 417, id="an expectation that nobody knows"),
        pytest.param(b"X: a\r\n" * HEADER_LIMIT + b"X: a", 431, id="too many headers"),
    ],
)
def test_headers_that_are_refused(lines: bytes, status: int) -> None:
    assert refusal(b"POST / HTTP/1.1" + HOST + b"\r\n" + lines) == status


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(b"", id="none"),
        pytest.param(b"\r\nHost: a b", id="with a blank"),
        pytest.param(b"\r\nHost: a/b", id="with a path"),
        pytest.param(b"\r\nHost: u@a", id="with a user"),
        pytest.param(b"\r\nHost: a, b", id="two in one"),
    ],
)
def test_host_must_be_one(lines: bytes) -> None:
    assert refusal(b"GET / HTTP/1.1" + lines) == 400


def test_only_http_1_0_may_leave_the_host_out() -> None:
    assert head(b"GET / HTTP/1.0").headers == {}
    assert head(b"GET / HTTP/1.1\r\nHost:").headers == {"host": ""}


def test_chunks_in_http_1_0_are_refused() -> None:
    """Whoever forwards HTTP/1.0 does not see them (RFC 9112, 6.1)."""
    assert refusal(b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked") == 400


def test_headers_are_found_under_names_in_lower_case_and_joined() -> None:
    found = head(b"GET / HTTP/1.1" + HOST + b"\r\nX-Empty:\r\nX-A:1 \t\r\nx-a:\t 2, 3\r\nX-Latin: \xe9\t!")
    assert found.headers == {"host": "a", "x-empty": "", "x-a": "1, 2, 3", "x-latin": "\xe9\t!"}


@pytest.mark.parametrize(
    ("lines", "length"),
    [
        (b"", 0),
        (b"\r\nContent-Length: 0", 0),
        (b"\r\nContent-Length: 007", 7),
        (b"\r\ncontent-LENGTH:7 ", 7),
        (b"\r\nTransfer-Encoding: Chunked", CHUNKED),
    ],
)
def test_length_of_the_body(lines: bytes, length: int) -> None:
    assert head(b"POST / HTTP/1.1" + HOST + lines).length == length


@pytest.mark.parametrize(
    ("text", "is_last", "upgrade", "expects"),
    [
        pytest.param(b"GET / HTTP/1.1" + HOST, False, "", False, id="connections are kept"),
        pytest.param(b"GET / HTTP/1.1" + HOST + b"\r\nConnection: Close", True, "", False, id="asked to end"),
        pytest.param(b"GET / HTTP/1.1" + HOST + b"\r\nConnection: x\r\nConnection: y ,close", True, "", False, id="among others"),
        pytest.param(b"GET / HTTP/1.1" + HOST + b"\r\nConnection: enclosed", False, "", False, id="a word with close in it"),
        pytest.param(b"GET / HTTP/1.0\r\nConnection: keep-alive", True, "", False, id="HTTP 1.0 always ends"),
        pytest.param(b"GET / HTTP/1.1" + HOST + b"\r\nConnection: Upgrade\r\nUpgrade: b", False, "b", False, id="an upgrade"),
        pytest.param(b"GET / HTTP/1.1" + HOST + b"\r\nUpgrade: b", False, "", False, id="an upgrade for somebody else"),
        pytest.param(b"GET / HTTP/1.1" + HOST + b"\r\nConnection: upgrade", False, "", False, id="an upgrade to nothing"),
        pytest.param(b"GET / HTTP/1.0\r\nConnection: upgrade\r\nUpgrade: b", True, "", False, id="no upgrade of HTTP 1.0"),
        pytest.param(b"PUT / HTTP/1.1" + HOST + b"\r\nExpect: 100-Continue", False, "", True, id="waits for leave"),
        pytest.param(b"PUT / HTTP/1.0\r\nExpect: 100-continue", True, "", False, id="HTTP 1.0 does not wait"),
    ],
)
def test_what_becomes_of_the_connection(text: bytes, is_last: bool, upgrade: str, expects: bool) -> None:
    found = head(text)
    assert (found.is_last, found.upgrade, found.expects_continue) == (is_last, upgrade, expects)


@pytest.mark.parametrize(
    "beginning",
    [
        pytest.param(b"\x16\x03\x01\x02\x00", id="TLS"),
        pytest.param(b"GET / HTTP/1.1\nHost: a", id="a bare line feed"),
        pytest.param(b"\nGET", id="a line feed first"),
        pytest.param(b"GET / HTTP/1.1\r\nHost: a\n", id="a bare line feed later"),
    ],
)
def test_what_cannot_become_a_head_is_refused_before_its_end(beginning: bytes) -> None:
    with pytest.raises(RefusedRequestError):
        refuse_if_not_http(bytearray(beginning), 0)


@pytest.mark.parametrize(
    "beginning", [b"G", b"\r", b"\r\nGET", b"GET / HTTP/1.1\r", b"GET / HTTP/1.1\r\n", b"GET / HTTP/1.1\r\nX: a"]
)
def test_what_may_become_a_head_is_waited_for(beginning: bytes) -> None:
    refuse_if_not_http(bytearray(beginning), 0)


PIECES = [
    *(b"GET POST OPTIONS / /a?b=c * http://b/x HTTP/1.1 HTTP/1.0".split()),
    *(b" ", b" ", b"\r\n", b"\r\n", b"\r", b"\n", b"\t", b":", b": ", b"\0", b"\xff", b",", b"+", b"0", b"12", b"a"),
    *(b"Host: a", b"Content-Length: 3", b"Transfer-Encoding: chunked", b"Connection: close", b"Upgrade: b", b"X: y"),
]


class Heard:
    """What llhttp, the parser of Node.js, understands."""

    def __init__(self, text: bytes) -> None:
        self.headers: dict[str, str] = {}
        self.is_complete = False
        parser = httptools.HttpRequestParser(self)
        with contextlib.suppress(httptools.HttpParserUpgrade):
            parser.feed_data(text)
        self.method = parser.get_method().decode()

    def on_header(self, name: bytes, value: bytes) -> None:
        known = name.decode("latin-1").lower()
        text = value.decode("latin-1").strip(" \t")
        self.headers[known] = f"{self.headers[known]}, {text}" if known in self.headers else text

    def on_headers_complete(self) -> None:
        self.is_complete = True


@given(st.lists(st.sampled_from(PIECES), max_size=12).map(b"".join))
@example(b"")
@example(b"\r\nX: y")
@example(b"\r\nTransfer-Encoding: chunked\r\nContent-Length: 3")
def test_whatever_is_taken_another_strict_parser_takes_alike(lines: bytes) -> None:
    """Two readers who differ about a request are what smuggling needs."""
    text = b"POST / HTTP/1.1\r\nHost: a" + lines
    try:
        found = parsed_head(text)
    except RefusedRequestError:
        return
    heard = Heard(text + b"\r\n\r\n")
    assert heard.is_complete
    assert (heard.method, heard.headers) == (found.method, found.headers)


@given(st.one_of(st.binary(max_size=200), st.lists(st.sampled_from(PIECES), max_size=20).map(b"".join)))
def test_no_bytes_are_a_bug(text: bytes) -> None:
    try:
        parsed_head(text)
    except RefusedRequestError:
        return
