"""How much room is left where a cluster keeps its files, and the warning when it is too little."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import NamedTuple

LOW_SHARE = 0.05
LOW_BYTES = 2**30
"""Less than either causes a warning: a training job writes about as much in a minute."""
LOW_FILES_SHARE = 0.01
FULL = (errno.ENOSPC, errno.EDQUOT)
"""How the system says that a disk, or what a user may have of it, is full."""


class DiskSpace(NamedTuple):
    """A file system as we may use it: bytes, and how many files more there can be (totals of 0 where it does not say)."""

    free: int
    total: int
    free_files: int = 0
    files: int = 0


def disk_space(path: Path) -> DiskSpace:
    """The disk space of the file system that contains `path`. Raises OSError."""
    found = os.statvfs(path)
    return DiskSpace(found.f_bavail * found.f_frsize, found.f_blocks * found.f_frsize, found.f_favail, found.f_files)


def shortage(path: Path, space: DiskSpace) -> str:
    """What to warn of; empty when there is room enough."""
    consequence = "On a full disk nothing new is created and lines of logs are lost. Make room"
    if space.free < LOW_BYTES or space.free < LOW_SHARE * space.total:
        return f"the disk of {path} has {amount(space.free)} of {amount(space.total)} left. {consequence}."
    if space.files and space.free_files < LOW_FILES_SHARE * space.files:
        return f"the disk of {path} has room for {space.free_files} more files (inodes). {consequence}: delete files."
    return ""


def amount(count: int) -> str:
    """Bytes for people: `812 MiB`, `1.5 GiB`."""
    for unit, size in (("TiB", 2**40), ("GiB", 2**30)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count // 2**20} MiB" if count >= 2**20 else f"{count} bytes"
