"""Container output to a file in the CRI log form: `2026-11-21T10:00:00.123456789Z stdout F text`.

A line longer than 16 KiB is split: its parts carry P (partial), the last one F (full). The file is rotated by size, so that a
chatty job cannot fill the disk; the newest `FILES` files are kept (kubelet: containerLogMaxSize, containerLogMaxFiles).
While the disk is full, output waits in memory, up to `WAITING_BYTES`, and the container goes on; a line in the log says how many
lines are lost.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress

MAX_BYTES = 10 * 1024 * 1024
FILES = 5
MAX_LINE = 16 * 1024
WAITING_BYTES = 1024 * 1024
RETRY_SECONDS = 0.5
"""Keeps a container that writes without pause from spending its time on attempts to write to a full disk."""


class LogWriter:
    """Appends the output of one container attempt. Not thread-safe; one supervisor owns it."""

    def __init__(self, path: str, *, max_bytes: int = MAX_BYTES) -> None:
        self._path = path
        self._max_bytes = max_bytes
        self._pending = {"stdout": b"", "stderr": b""}
        self._waiting = bytearray()
        self._lost = 0
        """Lines; they stood before what waits."""
        self._retry_at = 0.0
        self._descriptor = self._opened(path)
        self._size = os.fstat(self._descriptor).st_size

    @property
    def is_behind(self) -> bool:
        """Whether output still waits for the disk: call `flush` again after a while."""
        return bool(self._waiting)

    def write(self, stream: str, chunk: bytes) -> None:
        """Records a chunk; what follows its last newline waits for the rest of the line."""
        prefix = f"{timestamp(time.time_ns())} {stream} ".encode()
        *lines, rest = (self._pending[stream] + chunk).split(b"\n")
        out = bytearray()
        for line in lines:
            _append_line(out, prefix, line, b"F ")
        while len(rest) >= MAX_LINE:
            out += prefix + b"P " + rest[:MAX_LINE] + b"\n"
            rest = rest[MAX_LINE:]
        self._pending[stream] = rest
        self._append(bytes(out))

    def end(self) -> None:
        """Ends the output: records text after the last newline as a partial line."""
        self._retry_at = 0.0
        for stream, rest in self._pending.items():
            if rest:
                self._append(f"{timestamp(time.time_ns())} {stream} P ".encode() + rest + b"\n")
        self._pending = dict.fromkeys(self._pending, b"")
        self.flush()

    def close(self) -> None:
        """Ends and closes the file."""
        self.end()
        os.close(self._descriptor)

    def flush(self) -> None:
        """Writes all waiting lines or none: readers expect whole lines only."""
        if not self._waiting or time.monotonic() < self._retry_at:
            self._drop_oldest()
            return
        block = self._lost_lines() + self._waiting
        try:
            if self._size and self._size + len(block) > self._max_bytes:
                self._rotate()
            written = 0
            while written < len(block):
                written += os.write(self._descriptor, block[written:])
        except OSError:
            with suppress(OSError):
                os.ftruncate(self._descriptor, self._size)
            self._retry_at = time.monotonic() + RETRY_SECONDS
            self._drop_oldest()
        else:
            self._size += len(block)
            self._waiting.clear()
            self._lost = 0

    def _append(self, block: bytes) -> None:
        self._waiting += block
        self.flush()

    def _drop_oldest(self) -> None:
        excess = len(self._waiting) - WAITING_BYTES
        if excess > 0:
            end = self._waiting.index(b"\n", excess - 1) + 1
            self._lost += self._waiting.count(b"\n", 0, end)
            del self._waiting[:end]

    def _lost_lines(self) -> bytes:
        """A line that says how many are lost, with the time of the next line: readers rely on times that never decrease."""
        if not self._lost:
            return b""
        stamp = bytes(self._waiting.partition(b" ")[0])
        return stamp + f" stderr F shunter: {self._lost} lines of this log are lost: the disk was full.\n".encode()

    def _rotate(self) -> None:
        # First of all: when there is no space for a new file, the old ones stay as they are.
        fresh = self._opened(f"{self._path}.new")
        for number in range(FILES - 1, 0, -1):
            older = f"{self._path}.{number}"
            newer = f"{self._path}.{number - 1}" if number > 1 else self._path
            if os.path.exists(newer):
                os.replace(newer, older)
        os.replace(f"{self._path}.new", self._path)
        os.close(self._descriptor)
        self._descriptor, self._size = fresh, 0

    def _opened(self, path: str) -> int:
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o640)


def timestamp(nanoseconds: int) -> str:
    """RFC 3339 in UTC with nanoseconds, always nine digits, so that stamps sort as text."""
    seconds, fraction = divmod(nanoseconds, 1_000_000_000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{fraction:09d}Z"


def _append_line(out: bytearray, prefix: bytes, line: bytes, tag: bytes) -> None:
    while len(line) > MAX_LINE:
        out += prefix + b"P " + line[:MAX_LINE] + b"\n"
        line = line[MAX_LINE:]
    out += prefix + tag + line + b"\n"
