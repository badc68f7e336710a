"""A disk of a few megabytes that a test can fill up and make room on: a tmpfs, which takes the right to mount."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest


class SmallDisk:
    """The file system at `path`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._filler = path / "filler"

    @property
    def free(self) -> int:
        found = os.statvfs(self.path)
        return found.f_bavail * found.f_frsize

    def fill(self, *, leave: int = 0) -> None:
        """Takes all of what is free but `leave` bytes."""
        with self._filler.open("ab") as filler:
            # Not all at once: others may write meanwhile.
            if (most := self.free - leave - 2**20) > 0:
                os.posix_fallocate(filler.fileno(), filler.tell(), most)
                filler.seek(0, os.SEEK_END)
            with suppress(OSError):
                while self.free > leave:
                    os.write(filler.fileno(), b"x" * min(4096, self.free - leave))

    def make_room(self) -> None:
        """Gives back what `fill` took."""
        self._filler.unlink()


@contextmanager
def mounted(path: Path, megabytes: int) -> Iterator[SmallDisk]:
    """Skips the test where nothing can be mounted."""
    path.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(path)], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        pytest.skip(f"a small disk takes the right to mount: {done.stderr.strip()}")
    try:
        yield SmallDisk(path)
    finally:
        subprocess.run(["umount", "--lazy", str(path)], check=True)
