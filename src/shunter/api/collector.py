"""Python's garbage collector, for commands that read many objects and end."""

from __future__ import annotations

import gc


def collect_seldom() -> None:
    """Conversions and lists make many objects and few cycles: at its usual pace the collector takes a quarter of the time."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
