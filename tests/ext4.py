"""What ext4 says of a directory."""

from __future__ import annotations

import fcntl
import os
import struct
from pathlib import Path

_GET_FLAGS, _TOP_DIRECTORY = 0x80086601, 0x00020000


def is_on_ext4(directory: Path) -> bool:
    """Whether it is in such a file system: that of all mounted ones which has its number."""
    number = directory.stat().st_dev
    device = f"{os.major(number)}:{os.minor(number)}"
    mounts = [line.split() for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    return any(words[2] == device and words[words.index("-") + 1] == "ext4" for words in mounts)


def is_spread(directory: Path) -> bool:
    """Whether ext4 puts what is made in it at other places of the disk, as lsattr(1) shows it."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        (flags,) = struct.unpack_from("=I", fcntl.ioctl(descriptor, _GET_FLAGS, bytes(8)))
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return bool(flags & _TOP_DIRECTORY)
