"""Returning freed memory to the operating system."""

from __future__ import annotations

import ctypes
from contextlib import suppress


def return_freed_memory() -> None:
    """Returns freed memory that glibc keeps for the process: after a large list that is megabytes. No effect with other C
    libraries."""
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)
