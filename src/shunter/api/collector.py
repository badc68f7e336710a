"""Python's garbage collector, for commands: they import much, read many objects and end."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


def collect_seldom() -> None:
    """Conversions and lists make many objects and few cycles: at its usual pace the collector takes a quarter of the time."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


@contextmanager
def paused() -> Iterator[None]:
    """Collects nothing inside, and afterwards nothing of what is there by then: imports leave little garbage, and looking for it
    takes up to a quarter of a command's start. A collector that is off stays off."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if was_on:
            gc.enable()
