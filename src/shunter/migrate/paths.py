"""Where a value stands in an object: the keys and indexes that lead to it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from shunter.api.late_patterns import late_pattern
from shunter.api.paths import MISSING, Path, value_at

__all__ = ["MISSING", "Path", "has_more_leaves", "leaves", "mappings", "path_text", "value_at"]
_PLAIN_KEY = late_pattern(r"[A-Za-z_][A-Za-z0-9_-]*")


def path_text(path: Path) -> str:
    """`spec.containers[0].env`, and `metadata.labels['app/name']` for keys that are no plain words."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif _PLAIN_KEY.fullmatch(step):
            text += f".{step}" if text else step
        else:
            text += f"[{step!r}]"
    return text


def leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every leaf with its path, in the order of the object; an empty mapping or list is a leaf."""
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from leaves(inner, (*path, key))
    elif isinstance(value, list) and value:
        for index, inner in enumerate(value):
            yield from leaves(inner, (*path, index))
    else:
        yield path, value


def mappings(value: Any, path: Path = ()) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Every mapping with its path, each before those within it."""
    if isinstance(value, dict):
        yield path, value
        for key, inner in value.items():
            yield from mappings(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from mappings(inner, (*path, index))


def has_more_leaves(value: Any, count: int) -> bool:
    """Whether there are more leaves than `count`; no more of them are looked at than it takes."""
    left, found = [value], 0
    while left and found <= count:
        inner = left.pop()
        if not inner or not isinstance(inner, dict | list):
            found += 1
        elif len(inner) > count:
            return True
        else:
            left += inner.values() if isinstance(inner, dict) else inner
    return found > count
