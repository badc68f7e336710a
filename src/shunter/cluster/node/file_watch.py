"""Waiting for something to change in a directory without looking again and again: inotify on Linux; elsewhere, and where the user
has no more instances of it (128 are usual), a short sleep."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import sys
from pathlib import Path
from types import TracebackType

_IN_MODIFY, _IN_MOVED_TO, _IN_CREATE = 0x2, 0x80, 0x100
_IN_NONBLOCK, _IN_CLOEXEC = os.O_NONBLOCK, 0o2000000
_SLEEP_SECONDS = 0.2


class FileWatch:
    """Notices that files in one directory were written, created or renamed. A context manager."""

    def __init__(self, directory: Path) -> None:
        self._descriptor = -1
        self._event = asyncio.Event()
        if sys.platform == "linux":
            libc = ctypes.CDLL(None)
            self._descriptor = libc.inotify_init1(_IN_NONBLOCK | _IN_CLOEXEC)
            if self._descriptor >= 0:
                libc.inotify_add_watch(self._descriptor, os.fsencode(directory), _IN_MODIFY | _IN_MOVED_TO | _IN_CREATE)

    def __enter__(self) -> FileWatch:
        if self._descriptor >= 0:
            asyncio.get_running_loop().add_reader(self._descriptor, self._drain)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._descriptor >= 0:
            asyncio.get_running_loop().remove_reader(self._descriptor)
            os.close(self._descriptor)

    async def changed(self, *, within: float) -> None:
        """Returns once something happened since the last call (at once if it already has), and after `within` seconds anyhow."""
        if self._descriptor < 0:
            await asyncio.sleep(min(_SLEEP_SECONDS, within))
            return
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._event.wait(), within)
        self._event.clear()

    def _drain(self) -> None:
        os.read(self._descriptor, 65536)
        self._event.set()
