"""What belongs together, in lists. Pure."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


def grouped_by(values: Iterable[V], key: Callable[[V], K]) -> dict[K, list[V]]:
    """The values by their key: keys in the order of the first value of each, values in their own order."""
    groups: dict[K, list[V]] = {}
    for value in values:
        groups.setdefault(key(value), []).append(value)
    return groups
