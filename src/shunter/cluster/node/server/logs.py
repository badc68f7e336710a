"""Reading container logs as `kubectl logs` asks for them. Files are in the CRI log form that launch.log_writer writes."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from shunter.cluster.node.file_watch import FileWatch
from shunter.cluster.node.launch.log_writer import FILES

_BLOCK = 64 * 1024
_SILENCE_SECONDS = 2.0
"""How soon a follower notices the end of an attempt whose supervisor was killed before it could write anything."""


class LogOptions(NamedTuple):
    """PodLogOptions; `since` is the moment that sinceTime or sinceSeconds mean, `limit_bytes` counts what is sent."""

    follow: bool = False
    tail_lines: int | None = None
    since: datetime | None = None
    timestamps: bool = False
    limit_bytes: int | None = None


class Record(NamedTuple):
    """One line of the file. A partial one is continued by the next."""

    stamp: bytes
    is_partial: bool
    text: bytes


async def read_log(path: Path, options: LogOptions, *, is_over: Callable[[], bool]) -> AsyncIterator[bytes]:
    """The log in chunks. With `follow` it goes on until the attempt is over and everything of it was sent."""
    remaining = options.limit_bytes
    async for block in _blocks(path, options, is_over):
        if remaining is not None:
            block = block[:remaining]
            remaining -= len(block)
        if block:
            yield block
        if remaining == 0:
            return


def last_lines(path: Path, *, lines: int, max_bytes: int) -> str:
    """The end of a log as text, for a termination message."""
    if not path.exists():
        return ""
    with _Reader(path) as reader:
        kept = deque(reader.read(), maxlen=lines)
    return b"".join(_Rendering().pieces(kept))[-max_bytes:].decode(errors="replace")


async def _blocks(path: Path, options: LogOptions, is_over: Callable[[], bool]) -> AsyncIterator[bytes]:
    rendering = _Rendering(timestamps=options.timestamps)
    with FileWatch(path.parent) as watch, _Reader(path) as reader:
        older = (record for file in reader.rotated_files() for record in _records(file.read_bytes()))
        for block in _joined(rendering.pieces(_wanted([*older, *reader.read()], options))):
            yield block
        while options.follow:
            # Asked before reading: what was written up to the end is then read below.
            finished = is_over()
            fresh = b"".join(rendering.pieces(reader.read()))
            if fresh:
                yield fresh
            elif finished:
                return
            else:
                await watch.changed(within=_SILENCE_SECONDS)


class _Reader:
    """Reads the current file to its end, again and again, across rotations."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = path.open("rb")
        self._rest = b""

    def __enter__(self) -> _Reader:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def rotated_files(self) -> list[Path]:
        """Files older than the current one, oldest first."""
        current = os.fstat(self._file.fileno()).st_ino
        candidates = [self._path.with_name(f"{self._path.name}.{number}") for number in range(FILES - 1, 0, -1)]
        return [file for file in candidates if file.exists() and file.stat().st_ino != current]

    def read(self) -> list[Record]:
        """The complete lines that were added since the last call."""
        data = self._rest + self._file.read()
        if self._path.exists() and self._path.stat().st_ino != os.fstat(self._file.fileno()).st_ino:
            data += self._file.read()
            self._file.close()
            self._file = self._path.open("rb")
            data += self._file.read()
        complete, newline, self._rest = data.rpartition(b"\n")
        return list(_records(complete + newline))


def _records(data: bytes) -> Iterator[Record]:
    for line in data.split(b"\n")[:-1]:
        stamp, _, tag, text = line.split(b" ", 3)
        yield Record(stamp, tag == b"P", text)


def _wanted(records: Iterable[Record], options: LogOptions) -> Iterable[Record]:
    if options.since is not None:
        bound = options.since.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f").encode()
        records = (record for record in records if record.stamp >= bound)
    if options.tail_lines is None:
        return records
    kept: deque[list[Record]] = deque(maxlen=options.tail_lines)
    line: list[Record] = []
    for record in records:
        line.append(record)
        if not record.is_partial:
            kept.append(line)
            line = []
    return [record for whole in (*kept, *([line] if line else [])) for record in whole]


class _Rendering:
    """Records as they are sent. A line whose parts are read at different times has one timestamp, at its beginning."""

    def __init__(self, *, timestamps: bool = False) -> None:
        self._timestamps = timestamps
        self._is_continued = False

    def pieces(self, records: Iterable[Record]) -> Iterator[bytes]:
        """The next records of the log."""
        for record in records:
            prefix = record.stamp + b" " if self._timestamps and not self._is_continued else b""
            self._is_continued = record.is_partial
            yield prefix + record.text + (b"" if record.is_partial else b"\n")


def _joined(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Small pieces put together to blocks worth sending."""
    block = bytearray()
    for piece in pieces:
        block += piece
        if len(block) >= _BLOCK:
            yield bytes(block)
            block.clear()
    if block:
        yield bytes(block)
