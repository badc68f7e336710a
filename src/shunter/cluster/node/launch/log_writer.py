"""Container output to a file in the CRI log form: `2026-11-21T10:00:00.123456789Z stdout F text`.

A line longer than 16 KiB is split: its parts carry P (partial), the last one F (full). The file is rotated by size, so that a
chatty job cannot fill the disk; the newest `FILES` files are kept (kubelet: containerLogMaxSize, containerLogMaxFiles).
What a full disk does not take is lost to the log; the container goes on.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress

MAX_BYTES = 10 * 1024 * 1024
FILES = 5
MAX_LINE = 16 * 1024


class LogWriter:
    """Appends the output of one container attempt. Not thread-safe; one supervisor owns it."""

    def __init__(self, path: str, *, max_bytes: int = MAX_BYTES) -> None:
        self._path = path
        self._max_bytes = max_bytes
        self._pending = {"stdout": b"", "stderr": b""}
        self._descriptor = -1
        self._size = 0
        self._open()

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

    def close(self) -> None:
        """Writes what no newline ended, as a partial line, and closes the file."""
        for stream, rest in self._pending.items():
            if rest:
                self._append(f"{timestamp(time.time_ns())} {stream} P ".encode() + rest + b"\n")
        os.close(self._descriptor)

    def _append(self, block: bytes) -> None:
        if not block:
            return
        try:
            if self._size and self._size + len(block) > self._max_bytes:
                self._rotate()
            written = 0
            while written < len(block):
                written += os.write(self._descriptor, block[written:])
        except OSError:
            # Readers know whole lines only.
            with suppress(OSError):
                os.truncate(self._descriptor, self._size)
        else:
            self._size += len(block)

    def _open(self) -> None:
        self._descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o640)
        self._size = os.fstat(self._descriptor).st_size

    def _rotate(self) -> None:
        for number in range(FILES - 1, 0, -1):
            older = f"{self._path}.{number}"
            newer = f"{self._path}.{number - 1}" if number > 1 else self._path
            if os.path.exists(newer):
                os.replace(newer, older)
        full = self._descriptor
        self._open()
        os.close(full)


def timestamp(nanoseconds: int) -> str:
    """RFC 3339 in UTC with nanoseconds, always nine digits, so that stamps sort as text."""
    seconds, fraction = divmod(nanoseconds, 1_000_000_000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{fraction:09d}Z"


def _append_line(out: bytearray, prefix: bytes, line: bytes, tag: bytes) -> None:
    while len(line) > MAX_LINE:
        out += prefix + b"P " + line[:MAX_LINE] + b"\n"
        line = line[MAX_LINE:]
    out += prefix + tag + line + b"\n"
