"""Files that a process locks for as long as it lives: the kernel drops the lock however it ends. Standard library only: the
supervisor of an embedded cluster imports nothing else."""

from __future__ import annotations

import fcntl
import time
from typing import BinaryIO

_ATTEMPTS = 50
_RETRY_SECONDS = 0.02


def take(handle: BinaryIO) -> bool:
    """Whether this process has locked the file, until it closes it. Tries for a second: who looks by `is_held` holds the lock for
    an instant."""
    for _ in range(_ATTEMPTS):
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(_RETRY_SECONDS)
        else:
            return True
    return False


def is_held(handle: BinaryIO) -> bool:
    """Whether another process has locked the file by `take`."""
    try:  # shared, so that two who look at the same time do not take each other for it
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    return False
