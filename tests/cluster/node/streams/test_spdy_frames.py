"""SPDY frames: what is written is read again however it is cut, and what is no SPDY is refused within bounds."""

from __future__ import annotations

import os
import struct
import zlib
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shunter.cluster.node.streams.spdy_dictionary import DICTIONARY
from shunter.cluster.node.streams.spdy_frames import (
    MAX_CONTROL_BYTES,
    MAX_HEADERS,
    Data,
    Frame,
    FrameError,
    FrameReader,
    FrameWriter,
    GoAway,
    Open,
    Ping,
    Reply,
    Reset,
)

NUMBERS = st.integers(1, 0x7FFF_FFFF)
WORDS = st.integers(0, 0xFFFF_FFFF)
HEADERS = st.dictionaries(st.text(st.characters(max_codepoint=127), max_size=20).map(str.lower), st.text(max_size=40), max_size=8)
FRAMES = st.one_of(
    st.builds(Open, NUMBERS, HEADERS, st.booleans()),
    st.builds(Reply, NUMBERS, HEADERS, st.booleans()),
    st.builds(Data, NUMBERS, st.binary(max_size=300), st.booleans()),
    st.builds(Reset, NUMBERS, WORDS),
    st.builds(Ping, WORDS),
    st.builds(GoAway, WORDS, WORDS),
)


def encoded(frames: list[Frame]) -> bytes:
    writer = FrameWriter()
    return b"".join(map(writer.encode, frames))


def joined(frames: list[Frame]) -> list[Frame]:
    """Pieces of data put together again, and empty ones without an end left out."""
    whole: list[Frame] = []
    for frame in frames:
        last = whole[-1] if whole else None
        if isinstance(frame, Data) and isinstance(last, Data) and last.stream == frame.stream and not last.fin:
            whole[-1] = Data(frame.stream, last.data + frame.data, frame.fin)
        else:
            whole.append(frame)
    return [frame for frame in whole if not isinstance(frame, Data) or frame.data or frame.fin]


@given(st.lists(FRAMES, max_size=8), st.data())
def test_frames_are_read_as_they_were_written_wherever_they_are_cut(frames: list[Frame], data: st.DataObject) -> None:
    text = encoded(frames)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=10)))
    reader = FrameReader()
    read = [frame for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True) for frame in reader.feed(text[start:end])]
    assert joined(read) == joined(frames)


def test_frames_are_read_byte_by_byte() -> None:
    frames: list[Frame] = [
        Open(1, {"streamtype": "stdin"}),
        Open(3, {"streamtype": "stdout"}, fin=True),
        Data(1, b"hello"),
        Ping(1),
        Data(1, b"", fin=True),
        Reset(1, 5),
        GoAway(3, 0),
    ]
    reader = FrameReader()
    assert joined([frame for byte in encoded(frames) for frame in reader.feed(bytes([byte]))]) == frames


@given(st.binary(max_size=400))
def test_whatever_comes_is_frames_or_a_frame_error(text: bytes) -> None:
    with suppress(FrameError):
        list(FrameReader().feed(text))


def test_the_dictionary_is_the_one_that_all_peers_have() -> None:
    assert len(DICTIONARY) == 1423
    assert zlib.adler32(DICTIONARY) == 0xE3C6A7C2


# What kubectl 1.37 sent for `exec -i POD -- x` with "hi" as input: its end of SPDY is github.com/moby/spdystream.
RECORDED = bytes.fromhex(
    "80030001000000290000000100000000000078f9e3c6a7c26260606004a7b392a2d4c45c6851c29a0a0a6800000000ffff"
    "800300010000001700000003000000000000c22e555c92929907000000ffff"
    "800300010000001900000005000000000000c22ac5565c92925f5a02000000ffff"
    "800300010000001500000007000000000000c229975a5404000000ffff"
    "000000030000000368690a0000000301000000"
)


def test_the_bytes_of_kubectl_are_understood() -> None:
    assert list(FrameReader().feed(RECORDED)) == [
        Open(1, {"streamtype": "error"}),
        Open(3, {"streamtype": "stdin"}),
        Open(5, {"streamtype": "stdout"}),
        Open(7, {"streamtype": "stderr"}),
        Data(3, b"hi\n"),
        Data(3, b"", fin=True),
    ]


def test_a_data_frame_is_handed_on_before_it_is_complete() -> None:
    reader = FrameReader()
    head = struct.pack("!II", 1, 0x01 << 24 | 0xFFFFFF)
    assert list(reader.feed(head + b"begin")) == [Data(1, b"begin")]
    assert list(reader.feed(b"more")) == [Data(1, b"more")]


def test_settings_headers_and_windows_ask_nothing_of_us() -> None:
    settings = struct.pack("!IIIII", 0x8003_0004, 12, 1, 4, 100)
    window = struct.pack("!IIII", 0x8003_0009, 8, 1, 65536)
    assert list(FrameReader().feed(settings + window + encoded([Ping(1)]))) == [Ping(1)]


def control(kind: int, payload: bytes, *, version: int = 3) -> bytes:
    return struct.pack("!II", 0x8000_0000 | version << 16 | kind, len(payload)) + payload


def block(plain: bytes) -> bytes:
    compressor = zlib.compressobj(zdict=DICTIONARY)
    return compressor.compress(plain) + compressor.flush(zlib.Z_SYNC_FLUSH)


def opening(plain: bytes) -> bytes:
    return control(1, struct.pack("!IIH", 1, 0, 0) + block(plain))


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(control(6, b"\0\0\0\1", version=2), id="another version"),
        pytest.param(control(42, b""), id="a type nobody knows"),
        pytest.param(struct.pack("!II", 0x8003_0001, MAX_CONTROL_BYTES + 1), id="a control frame that is too long"),
        pytest.param(control(3, b"\0\0\0\1"), id="a frame that is too short"),
        pytest.param(control(3, bytes(8)), id="a reset of stream 0"),
        pytest.param(struct.pack("!II", 0, 4) + b"data", id="data for stream 0"),
        pytest.param(control(1, struct.pack("!IIH", 1, 0, 0) + b"no zlib at all"), id="headers that are not compressed"),
        pytest.param(control(1, struct.pack("!IIH", 1, 0, 0)), id="no headers at all"),
        pytest.param(opening(struct.pack("!I", MAX_HEADERS + 1)), id="too many headers"),
        pytest.param(opening(struct.pack("!II", 1, 0xFFFF_FFFF) + b"name"), id="a header longer than the block"),
        pytest.param(opening(struct.pack("!II", 1, 2) + b"\xff\xfe" + bytes(4)), id="a header that is no text"),
        pytest.param(opening(bytes(10_000_000)), id="headers that expand without end"),
        pytest.param(b"\xff" * 64, id="noise"),
    ],
)
def test_what_is_no_spdy_is_refused(text: bytes) -> None:
    with pytest.raises(FrameError, match=r"."):
        list(FrameReader().feed(text))


def test_more_data_than_a_frame_can_hold_is_a_mistake_of_ours() -> None:
    with pytest.raises(ValueError, match="at most 16777215"):
        FrameWriter().encode(Data(1, bytes(2**24)))


def test_many_header_blocks_share_one_compression() -> None:
    frames: list[Frame] = [Open(number, {"requestid": os.urandom(8).hex()}) for number in range(1, 401, 2)]
    assert list(FrameReader().feed(encoded(frames))) == frames
