"""A request's body that comes in chunks (RFC 9112, 7.1): bytes in, the body out. Pure."""

from __future__ import annotations

import re

from shunter.kube.http.head import RefusedRequestError, refuse_bad_line

FRAMING_LIMIT = 64 * 1024
"""Bytes of sizes, extensions and trailers beyond the length of the body itself."""
_LINE_LIMIT = 4096

_SIZE = re.compile(rb"([0-9A-Fa-f]{1,8})(?:[ \t]*;[\t -~\x80-\xff]*)?")


class ChunkedBody:
    """Takes chunks out of a connection's bytes. Trailers are dropped: what comes after a body was not said before it."""

    __slots__ = ("_content", "_framing", "_left", "_limit", "_reads", "is_too_large")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._content = bytearray()
        self._framing = 0
        self._left = 0
        self._reads = self._size
        self.is_too_large = False
        """The body has more bytes than the limit; nothing more is taken."""

    @property
    def content(self) -> bytes:
        """What has come of the body; all of it once `take` has returned True."""
        return bytes(self._content)

    def take(self, received: bytearray) -> bool:
        """Takes from the front of `received` what belongs to the body; True when that was its end. Raises RefusedRequestError."""
        at = 0
        while not self.is_too_large:
            after = self._reads(received, at)
            if after < 0:
                break
            at = after
            if self._reads == self._end:
                del received[:at]
                return True
        del received[:at]
        return False

    # Each of these reads one thing at a place and returns where it ends, or -1 when it is not there yet.

    def _size(self, received: bytearray, at: int) -> int:
        end = self._line_end(received, at)
        if end < 0:
            return -1
        found = _SIZE.fullmatch(received, at, end)
        if found is None:
            raise RefusedRequestError(400, "a chunk without a size")
        self._left = int(found[1], 16)
        if len(self._content) + self._left > self._limit:
            self.is_too_large = True
        self._count_framing(end + 2 - at)
        self._reads = self._bytes if self._left else self._trailer
        return end + 2

    def _bytes(self, received: bytearray, at: int) -> int:
        part = received[at : at + self._left]
        if not part:
            return -1
        self._content += part
        self._left -= len(part)
        if not self._left:
            self._reads = self._bytes_end
        return at + len(part)

    def _bytes_end(self, received: bytearray, at: int) -> int:
        end = received[at : at + 2]
        if not b"\r\n".startswith(end):
            raise RefusedRequestError(400, "a chunk is longer than its size")
        if len(end) < 2:
            return -1
        self._count_framing(2)
        self._reads = self._size
        return at + 2

    def _trailer(self, received: bytearray, at: int) -> int:
        end = self._line_end(received, at)
        if end < 0:
            return -1
        self._count_framing(end + 2 - at)
        if end == at:
            self._reads = self._end
        else:
            refuse_bad_line(bytes(received[at:end]))
        return end + 2

    def _end(self, received: bytearray, at: int) -> int:
        raise AssertionError("nothing is read after the end")

    def _line_end(self, received: bytearray, at: int) -> int:
        end = received.find(b"\r\n", at)
        if end < 0 and len(received) - at > _LINE_LIMIT:
            raise RefusedRequestError(400, "a line of a chunked body that does not end")
        return end

    def _count_framing(self, count: int) -> None:
        self._framing += count
        if self._framing > len(self._content) + FRAMING_LIMIT:
            raise RefusedRequestError(400, "a chunked body of more framing than content")
