"""Bodies in chunks (RFC 9112, 7.1), wherever the network cuts them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shunter.kube.http.chunks import FRAMING_LIMIT, ChunkedBody
from shunter.kube.http.head import RefusedRequestError

LIMIT = 100


def taken(sent: bytes, *cuts: int, limit: int = LIMIT) -> tuple[str, bytes, bytes]:
    """What becomes of a body that comes in these parts, its content, and what is left for the next request."""
    body, received = ChunkedBody(limit), bytearray()
    places = sorted({min(cut, len(sent)) for cut in cuts} | {len(sent)})
    is_complete, at = False, 0
    for place in places:
        received += sent[at:place]
        at = place
        try:
            is_complete = is_complete or body.take(received)
        except RefusedRequestError as refusal:
            return f"refused, {refusal.status}", b"", b""
        if body.is_too_large:
            return "too large", b"", b""
    return ("complete" if is_complete else "incomplete"), body.content, bytes(received)


@pytest.mark.parametrize(
    ("sent", "content", "left"),
    [
        pytest.param(b"0\r\n\r\n", b"", b"", id="nothing"),
        pytest.param(b"3\r\nabc\r\n0\r\n\r\n", b"abc", b"", id="one"),
        pytest.param(b"3\r\nabc\r\nA\r\n0123456789\r\n0\r\n\r\n", b"abc0123456789", b"", id="two, the size in hexadecimal"),
        pytest.param(b"a\r\n0123456789\r\n0\r\n\r\n", b"0123456789", b"", id="small letters"),
        pytest.param(b"003\r\nabc\r\n000\r\n\r\n", b"abc", b"", id="leading zeros"),
        pytest.param(b'3;a=b;c="d e"\r\nabc\r\n0;x\r\n\r\n', b"abc", b"", id="extensions are passed over"),
        pytest.param(b"3 ;a\r\nabc\r\n0\r\n\r\n", b"abc", b"", id="a blank before an extension"),
        pytest.param(b"3\r\n\r\n0\r\n0\r\n\r\n", b"\r\n0", b"", id="content that looks like a chunk"),
        pytest.param(b"3\r\nabc\r\n0\r\nAuthorization: Bearer x\r\nX: y\r\n\r\n", b"abc", b"", id="trailers are dropped"),
        pytest.param(b"0\r\n\r\nGET / HTTP/1.1\r\n", b"", b"GET / HTTP/1.1\r\n", id="the next request is left"),
    ],
)
def test_body_ends_where_it_says_however_it_is_cut(sent: bytes, content: bytes, left: bytes) -> None:
    assert taken(sent) == ("complete", content, left)
    assert taken(sent, *range(len(sent))) == ("complete", content, left), "byte by byte"


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(b"x\r\n", id="no size"),
        pytest.param(b"\r\n", id="an empty size"),
        pytest.param(b"-3\r\nabc\r\n", id="a negative size"),
        pytest.param(b"+3\r\nabc\r\n", id="a size with a sign"),
        pytest.param(b"0x3\r\nabc\r\n", id="a size with 0x"),
        pytest.param(b" 3\r\nabc\r\n", id="a blank before the size"),
        pytest.param(b"3 \r\nabc\r\n", id="a blank after the size"),
        pytest.param(b"3_0\r\nabc\r\n", id="an underscore, which Python's int would take"),
        pytest.param("\u0663\r\nabc\r\n".encode(), id="another alphabet's three"),
        pytest.param(b"000000003\r\nabc\r\n", id="a size of nine digits"),
        pytest.param(b"3\nabc\r\n0\r\n\r\n", id="a bare line feed after the size"),
        pytest.param(b"3;a\nb\r\nabc\r\n", id="a bare line feed in an extension"),
        pytest.param(b"3;a\rb\r\nabc\r\n", id="a bare carriage return in an extension"),
        pytest.param(b"3;\0\r\nabc\r\n", id="NUL in an extension"),
        pytest.param(b"3\r\nabcd\r\n0\r\n\r\n", id="more than the size"),
        pytest.param(b"3\r\nabc0\r\n\r\n", id="no line end after the content"),
        pytest.param(b"3\r\nabc\n0\r\n\r\n", id="a bare line feed after the content"),
        pytest.param(b"0\r\nX\r\n\r\n", id="a trailer without a colon"),
        pytest.param(b"0\r\nX : y\r\n\r\n", id="a blank before a trailer's colon"),
        pytest.param(b"0\r\nX: y\r\n z\r\n\r\n", id="a trailer that goes on"),
        pytest.param(b"0\r\nX: a\nY: b\r\n\r\n", id="a bare line feed in a trailer"),
        pytest.param(b"0\r\nGET / HTTP/1.1\r\n\r\n", id="a request where trailers are"),
        pytest.param(b"3;" + b"a" * 5000, id="an extension without end"),
        pytest.param(b"0\r\nX: " + b"a" * 5000, id="a trailer without end"),
    ],
)
def test_body_with_other_framing_is_refused_however_it_is_cut(sent: bytes) -> None:
    assert taken(sent)[0] == "refused, 400"
    assert taken(sent, *range(len(sent)))[0] == "refused, 400", "byte by byte"


def test_framing_costs_no_more_than_the_content() -> None:
    chunk = b"1;" + b"x" * 100 + b"\r\na\r\n"
    assert taken(chunk * (FRAMING_LIMIT // len(chunk) - 1) + b"0\r\n\r\n", limit=10**6)[0] == "complete"
    assert taken(chunk * (FRAMING_LIMIT // len(chunk) + 100), limit=10**6)[0] == "refused, 400"


def test_trailers_without_end_are_refused() -> None:
    assert taken(b"0\r\n" + b"X: y\r\n" * FRAMING_LIMIT)[0] == "refused, 400"


def test_body_beyond_the_limit_is_known_by_its_sizes_and_not_taken() -> None:
    body, received = ChunkedBody(LIMIT), bytearray(b"64\r\n" + b"a" * 100 + b"\r\n1\r\n")
    assert not body.take(received)
    assert body.is_too_large
    assert taken(b"64\r\n" + b"a" * 100 + b"\r\n0\r\n\r\n")[0] == "complete"
    assert taken(b"ffffffff\r\n")[0] == "too large"


@given(
    st.lists(st.binary(min_size=1, max_size=20), max_size=5),
    st.lists(st.integers(min_value=0, max_value=200), max_size=10),
    st.binary(max_size=10),
)
def test_any_content_comes_out_whole_wherever_it_is_cut(parts: list[bytes], cuts: list[int], left: bytes) -> None:
    sent = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n" + left
    assert taken(sent, *cuts) == ("complete", b"".join(parts), left)
