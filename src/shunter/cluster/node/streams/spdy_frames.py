"""SPDY/3.1 frames as bytes and as values; nothing here waits or sends.

Source: SPDY protocol draft 3.1. Read are the frames that github.com/moby/spdystream, the peer in every Kubernetes client, sends;
data is handed on as it comes, so a frame of 16 MiB costs no memory. Limits are tighter than the peer's own: a Kubernetes client
sends five short headers a stream.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from shunter.cluster.node.streams.spdy_dictionary import DICTIONARY

MAX_CONTROL_BYTES = 64 * 1024
"""The longest control frame that is taken, and the longest header block it may expand to."""
MAX_HEADERS = 100
MAX_DATA_BYTES = 0xFFFFFF

REFUSED_STREAM = 3
CANCEL = 5
"""Statuses of Reset."""
GOING_AWAY = 0
BROKEN_PROTOCOL = 1
"""Statuses of GoAway."""

_HEAD = struct.Struct("!II")
_WORD = struct.Struct("!I")
_CONTROL = 0x8000_0000
_VERSION = 3 << 16
_FIN = 0x01
_SYN_STREAM, _SYN_REPLY, _RST_STREAM, _SETTINGS, _PING, _GOAWAY, _HEADERS, _WINDOW_UPDATE = 1, 2, 3, 4, 6, 7, 8, 9
_KNOWN = {_SYN_STREAM, _SYN_REPLY, _RST_STREAM, _SETTINGS, _PING, _GOAWAY, _HEADERS, _WINDOW_UPDATE}


class FrameError(Exception):
    """The peer does not keep to the protocol; the connection cannot go on."""


class Open(NamedTuple):
    """SYN_STREAM: the peer opens a stream."""

    stream: int
    headers: dict[str, str]
    fin: bool = False


class Reply(NamedTuple):
    """SYN_REPLY: a stream is accepted."""

    stream: int
    headers: dict[str, str]
    fin: bool = False


class Data(NamedTuple):
    """A piece of a data frame; `fin` comes with the last one."""

    stream: int
    data: bytes
    fin: bool = False


class Reset(NamedTuple):
    """RST_STREAM: a stream ends both ways at once."""

    stream: int
    status: int


class Ping(NamedTuple):
    """To be sent back as it is by the one who did not make it."""

    id: int


class GoAway(NamedTuple):
    """No more streams."""

    last_stream: int
    status: int


Frame = Open | Reply | Data | Reset | Ping | GoAway


class FrameWriter:
    """Frames to bytes. Header blocks share one compressor, so frames must be sent in the order they were made in."""

    def __init__(self) -> None:
        self._compressor = zlib.compressobj(zdict=DICTIONARY)

    def encode(self, frame: Frame) -> bytes:
        """The frame's bytes. Raises ValueError for data longer than a frame can be."""
        match frame:
            case Data(stream, data, fin):
                if len(data) > MAX_DATA_BYTES:
                    raise ValueError(f"a data frame holds at most {MAX_DATA_BYTES} bytes, these are {len(data)}")
                return _HEAD.pack(stream, (_FIN if fin else 0) << 24 | len(data)) + data
            case Open(stream, headers, fin):
                return _control(_SYN_STREAM, struct.pack("!IIH", stream, 0, 0) + self._header_block(headers), fin=fin)
            case Reply(stream, headers, fin):
                return _control(_SYN_REPLY, _WORD.pack(stream) + self._header_block(headers), fin=fin)
            case Reset(stream, status):
                return _control(_RST_STREAM, _HEAD.pack(stream, status))
            case Ping(id):
                return _control(_PING, _WORD.pack(id))
            case GoAway(last_stream, status):
                return _control(_GOAWAY, _HEAD.pack(last_stream, status))

    def _header_block(self, headers: Mapping[str, str]) -> bytes:
        plain = _WORD.pack(len(headers)) + b"".join(
            _WORD.pack(len(text)) + text for pair in headers.items() for text in (pair[0].lower().encode(), pair[1].encode())
        )
        return self._compressor.compress(plain) + self._compressor.flush(zlib.Z_SYNC_FLUSH)


class FrameReader:
    """Bytes to frames, fed in pieces of any size. After a FrameError it must not be fed again."""

    def __init__(self) -> None:
        self._decompressor = zlib.decompressobj(zdict=DICTIONARY)
        self._buffer = bytearray()
        self._data_stream = 0
        self._data_left = 0
        self._data_fin = False

    def feed(self, data: bytes) -> Iterator[Frame]:
        """The frames, and pieces of data frames, that are complete with these bytes. Raises FrameError."""
        self._buffer += data
        while True:
            if self._data_left:
                if not self._buffer:
                    return
                yield self._take_data()
                continue
            if len(self._buffer) < _HEAD.size:
                return
            word, flags_and_length = _HEAD.unpack_from(self._buffer)
            flags, length = flags_and_length >> 24, flags_and_length & MAX_DATA_BYTES
            if not word & _CONTROL:
                del self._buffer[: _HEAD.size]
                self._data_stream, self._data_left, self._data_fin = _stream(word), length, bool(flags & _FIN)
                if not length:
                    yield Data(self._data_stream, b"", self._data_fin)
                continue
            if length > MAX_CONTROL_BYTES:
                raise FrameError(f"a control frame of {length} bytes; at most {MAX_CONTROL_BYTES} are taken")
            if len(self._buffer) < _HEAD.size + length:
                return
            payload = bytes(self._buffer[_HEAD.size : _HEAD.size + length])
            del self._buffer[: _HEAD.size + length]
            frame = self._control_frame(word & 0x7FFF_FFFF, flags, payload)
            if frame is not None:
                yield frame

    def _take_data(self) -> Data:
        piece = bytes(self._buffer[: self._data_left])
        del self._buffer[: len(piece)]
        self._data_left -= len(piece)
        return Data(self._data_stream, piece, self._data_fin and not self._data_left)

    def _control_frame(self, word: int, flags: int, payload: bytes) -> Frame | None:
        """A control frame; None for those that ask nothing of us (settings, and windows, which the peer does not keep to)."""
        kind = word & 0xFFFF
        if word - kind != _VERSION or kind not in _KNOWN:
            raise FrameError(f"a control frame of version {word >> 16} and type {kind}")
        fin = bool(flags & _FIN)
        if kind == _SYN_STREAM:
            return Open(_stream(_word(payload, 0)), self._headers(payload[10:]), fin)
        if kind == _SYN_REPLY:
            return Reply(_stream(_word(payload, 0)), self._headers(payload[4:]), fin)
        if kind == _HEADERS:
            # Read for the compressor's sake: every header block is part of one compressed text.
            self._headers(payload[4:])
        if kind == _RST_STREAM:
            return Reset(_stream(_word(payload, 0)), _word(payload, 4))
        if kind == _PING:
            return Ping(_word(payload, 0))
        if kind == _GOAWAY:
            return GoAway(_word(payload, 0), _word(payload, 4))
        return None

    def _headers(self, block: bytes) -> dict[str, str]:
        try:
            plain = self._decompressor.decompress(block, MAX_CONTROL_BYTES)
        except zlib.error as error:
            raise FrameError(f"a header block that cannot be decompressed: {error}") from error
        if self._decompressor.unconsumed_tail or self._decompressor.eof:
            raise FrameError(f"a header block of more than {MAX_CONTROL_BYTES} bytes")
        count = _word(plain, 0)
        if count > MAX_HEADERS:
            raise FrameError(f"{count} headers; at most {MAX_HEADERS} are taken")
        headers: dict[str, str] = {}
        position = _WORD.size
        for _ in range(count):
            name, position = _text(plain, position)
            headers[name.lower()], position = _text(plain, position)
        return headers


def _control(kind: int, payload: bytes, *, fin: bool = False) -> bytes:
    return _HEAD.pack(_CONTROL | _VERSION | kind, (_FIN if fin else 0) << 24 | len(payload)) + payload


def _word(payload: bytes, position: int) -> int:
    try:
        number: int = _WORD.unpack_from(payload, position)[0]
    except struct.error as error:
        raise FrameError("a frame that is too short") from error
    return number


def _stream(word: int) -> int:
    number = word & 0x7FFF_FFFF
    if number == 0:
        raise FrameError("a frame for stream 0")
    return number


def _text(plain: bytes, position: int) -> tuple[str, int]:
    start = position + _WORD.size
    end = start + _word(plain, position)
    if end > len(plain):
        raise FrameError("a header that is longer than its block")
    try:
        return plain[start:end].decode(), end
    except UnicodeDecodeError as error:
        raise FrameError("a header that is not UTF-8") from error
