"""How a caller is told how far work is, which may take longer than a second."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TypeAlias

Advance: TypeAlias = Callable[[int], None]
"""Says that so many more are done."""
Progress: TypeAlias = Callable[[str, int | None], AbstractContextManager[Advance]]
"""Entered around work of a name, with the number of things to do where it is known."""


@contextmanager
def silent(what: str, total: int | None = None) -> Iterator[Advance]:
    """Tells nobody."""
    yield lambda count: None
