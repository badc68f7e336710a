"""The wire format of protobuf: a message is a sequence of numbered fields."""

from __future__ import annotations

from collections.abc import Iterator

from shunter.cluster.apiserver.status import StatusError, bad_request

Value = int | bytes
"""Varints are unsigned integers here; everything else is its bytes."""
_LARGEST = 2**64 - 1


def malformed(what: str) -> StatusError:
    """400: a body that claims to be protobuf and is not."""
    return bad_request(f"the body of the request is not valid protobuf: {what}")


def fields_of(message: bytes) -> Iterator[tuple[int, Value]]:
    """(number, value) of each field, in the order they were written."""
    position, end = 0, len(message)
    while position < end:
        tag, position = varint(message, position)
        match tag & 7:
            case 0:
                value, position = varint(message, position)
                yield tag >> 3, value
                continue
            case 2:
                size, position = varint(message, position)
            case 1:
                size = 8
            case 5:
                size = 4
            case wire_type:
                raise malformed(f"wire type {wire_type}")
        if position + size > end:
            raise malformed("it ends inside a field")
        yield tag >> 3, message[position : position + size]
        position += size


def varint(message: bytes, position: int) -> tuple[int, int]:
    """The unsigned integer that starts at `position`, and the position behind it; bits beyond 64 are dropped, as Go does."""
    result = shift = 0
    while True:
        if position >= len(message) or shift > 63:
            raise malformed("it ends inside a number")
        byte = message[position]
        position += 1
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            return result & _LARGEST, position
        shift += 7


def signed(value: int) -> int:
    """An unsigned 64-bit integer as the two's complement that int32 and int64 are sent in."""
    return value - (1 << 64) if value >= 1 << 63 else value
