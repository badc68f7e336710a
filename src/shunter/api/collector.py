"""Memory of processes that read many objects: when garbage is collected, and what was freed given back."""

from __future__ import annotations

import ctypes
import gc
from contextlib import suppress


def collect_seldom() -> None:
    """Conversions and lists make many objects and few cycles: at its usual pace the collector takes a quarter of the time."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


def return_freed_memory() -> None:
    """Gives the system back what was freed, where the C library keeps it (glibc): a large list leaves megabytes behind."""
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)
