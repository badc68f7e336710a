"""Reads the scalars of TensorBoard's event files. Without the package tensorboard, which brings gRPC, NumPy and a web server.

A file consists of TFRecords (length, checksum of the length, data, checksum), each a protocol buffer `Event`; TensorFlow 1 and
PyTorch write `simple_value`, TensorFlow 2 a tensor of one number. Source: tensorflow/core/util/event.proto,
framework/summary.proto and framework/tensor.proto.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, TypeAlias

from shunter.errors import InputError
from shunter.jobs.metrics import Point, Series, finite

_Field: TypeAlias = tuple[int, int | bytes]
"""Number and value of a field of a message: of fixed size or length-delimited as bytes, a varint as a number."""

_HEADER, _FOOTER = 12, 4
_FLOAT, _DOUBLE = 1, 2


class _Scalar(NamedTuple):
    tag: str
    step: int
    time: float
    value: float


def series_of(directory: Path) -> list[Series]:
    """The scalars in all event files below a directory, in the order of steps; a tag in a subdirectory (`train`, `validation`) is
    prefixed with it. InputError if there is no event file, or an invalid one."""
    files = sorted(directory.rglob("*tfevents*")) if directory.is_dir() else []
    if not files:
        raise InputError(
            f"{directory}: no TensorBoard event file (*tfevents*) found.", "Name the directory that the job logs to."
        )
    points: dict[str, dict[int, Point]] = {}
    for file in files:
        writer = file.parent.relative_to(directory).as_posix()
        for scalar in _scalars(file):
            name = scalar.tag if writer == "." else f"{writer}/{scalar.tag}"
            points.setdefault(name, {})[scalar.step] = Point((float(scalar.step),), finite(scalar.value), scalar.time)
    return [
        Series(name=name, source="tensorboard", points=tuple(by_step[step] for step in sorted(by_step)))
        for name, by_step in points.items()
    ]


def _scalars(file: Path) -> Iterator[_Scalar]:
    try:
        for record in _records(file.read_bytes()):
            yield from _of_event(record)
    except (OSError, ValueError, struct.error) as error:
        raise InputError(f"{file}: not a TensorBoard event file: {error}.", "Remove it from the directory.") from error


def _records(content: bytes) -> Iterator[bytes]:
    """The complete records; the last one may not be written to its end yet."""
    at = 0
    while at + _HEADER <= len(content):
        (length,) = struct.unpack_from("<Q", content, at)
        end = at + _HEADER + length + _FOOTER
        if end > len(content):
            if at == 0:
                raise ValueError("its first record is longer than the file")
            return
        yield content[at + _HEADER : end - _FOOTER]
        at = end


def _of_event(event: bytes) -> Iterator[_Scalar]:
    time, step, summaries = 0.0, 0, list[bytes]()
    for number, value in _fields(event):
        if number == 1 and isinstance(value, bytes):
            (time,) = struct.unpack("<d", value)
        elif number == 2 and isinstance(value, int):
            step = value
        elif number == 5 and isinstance(value, bytes):
            summaries.append(value)
    for summary in summaries:
        for number, value in _fields(summary):
            if number == 1 and isinstance(value, bytes):
                tag, scalar = _of_value(value)
                if scalar is not None:
                    yield _Scalar(tag, step, time, scalar)


def _of_value(message: bytes) -> tuple[str, float | None]:
    tag, scalar = "", None
    for number, value in _fields(message):
        if not isinstance(value, bytes):
            continue
        if number == 1:
            tag = value.decode(errors="replace")
        elif number == 2:
            (scalar,) = struct.unpack("<f", value)
        elif number == 8:
            scalar = _of_tensor(value)
    return tag, scalar


def _of_tensor(message: bytes) -> float | None:
    """The number in a tensor of one number; None for any other tensor, such as images and texts."""
    kind, content = 0, b""
    for number, value in _fields(message):
        if number == 1 and isinstance(value, int):
            kind = value
        elif number in (4, 5, 6) and isinstance(value, bytes):
            content = value
    format = {_FLOAT: "<f", _DOUBLE: "<d"}.get(kind, "")
    if not format or len(content) != struct.calcsize(format):
        return None
    return float(struct.unpack(format, content)[0])


def _fields(message: bytes) -> Iterator[_Field]:
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        number, wire = key >> 3, key & 7
        if wire == 0:
            value, at = _varint(message, at)
            yield number, value
            continue
        size = {1: 8, 5: 4}.get(wire, 0)
        if wire == 2:
            size, at = _varint(message, at)
        elif not size:
            raise ValueError(f"a field of wire type {wire}")
        if at + size > len(message):
            raise ValueError("a field is longer than its message")
        yield number, message[at : at + size]
        at += size


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(message):
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at
    raise ValueError("it ends within a number")
