"""The value at a path of an object: keys of mappings and indexes of lists."""

from __future__ import annotations

from typing import Any, TypeAlias

Path: TypeAlias = tuple[str | int, ...]

MISSING = object()
"""What `value_at` gives for a path that leads nowhere; None is a value."""


def value_at(value: Any, path: Path) -> Any:
    """The value that the path leads to, or MISSING."""
    for step in path:
        if isinstance(value, dict):
            value = value.get(step, MISSING)
        elif isinstance(value, list) and isinstance(step, int) and 0 <= step < len(value):
            value = value[step]
        else:
            return MISSING
    return value
