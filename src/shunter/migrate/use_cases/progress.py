"""Progress of work that may take longer than a second."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TypeAlias

Advance: TypeAlias = Callable[[int], None]
"""Called with the number of things done since the last call."""
Progress: TypeAlias = Callable[[str, int | None], AbstractContextManager[Advance]]
"""A context manager around work with this name and, if known, number of things to do."""


@contextmanager
def silent(what: str, total: int | None = None) -> Iterator[Advance]:
    """Shows no progress."""
    yield lambda count: None
