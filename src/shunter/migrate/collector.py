"""Python's garbage collector, for processes that convert."""

from __future__ import annotations

import gc


def collect_seldom() -> None:
    """Conversions make many objects and few cycles: at its usual pace the collector takes a quarter of the time."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
