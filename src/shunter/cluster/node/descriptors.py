"""Pipes and terminals in the event loop: read when there is something, written when there is room."""

from __future__ import annotations

import asyncio
import fcntl
import os
import struct
import termios
from collections.abc import Callable
from typing import Any

_CHUNK = 64 * 1024


class Descriptor:
    """One end of a pipe or a terminal's master. One task may read and one may write at a time."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._waiting: dict[asyncio.Future[None], Callable[[int], Any]] = {}
        os.set_inheritable(number, False)
        os.set_blocking(number, False)

    async def read(self) -> bytes:
        """What has come; empty at the end, which a terminal reports as an error (EIO)."""
        loop = asyncio.get_running_loop()
        while self._number >= 0:
            try:
                return os.read(self._number, _CHUNK)
            except BlockingIOError:
                await self._ready(loop.add_reader, loop.remove_reader)
            except OSError:
                return b""
        return b""

    async def write(self, data: bytes) -> None:
        """Returns once all of it is written. Raises OSError without a reader."""
        loop = asyncio.get_running_loop()
        rest = memoryview(data)
        while rest:
            if self._number < 0:
                raise BrokenPipeError("closed")
            try:
                rest = rest[os.write(self._number, rest) :]
            except BlockingIOError:
                await self._ready(loop.add_writer, loop.remove_writer)

    def resize(self, width: int, height: int) -> None:
        """Sets a terminal's size, in characters."""
        if self._number >= 0:
            fcntl.ioctl(self._number, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))

    def close(self) -> None:
        """Readers see the end, writers an error."""
        if self._number >= 0:
            for future, remove in self._waiting.items():
                remove(self._number)
                _set(future)
            os.close(self._number)
            self._number = -1

    async def _ready(self, add: Callable[..., Any], remove: Callable[[int], Any]) -> None:
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[ready] = remove
        add(self._number, _set, ready)
        try:
            await ready
        finally:
            del self._waiting[ready]
            if self._number >= 0:
                remove(self._number)


def _set(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
