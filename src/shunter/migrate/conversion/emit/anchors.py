"""Blocks that stand in a manifest more than once, written once: `env: &env` and, where the same stands again, `env: *env`.

Only values of fields are looked at, and of a block that is an alias nothing inside. kubectl, kustomize, Helm and client libraries
resolve aliases; what a cluster stores has none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import msgspec

from shunter.api.meta import Json
from shunter.migrate.paths import Path


class Repeated(NamedTuple):
    """Which blocks of one manifest get an anchor, and which are aliases of them."""

    anchors: dict[Path, str]
    """The first place of each block, and its name."""
    aliases: dict[Path, str]
    """Where it stands again."""


NONE = Repeated({}, {})


def repeated(value: Json, fields: Callable[[Json, Path], Iterable[str]], is_block: Callable[[Any, Path], bool]) -> Repeated:
    """`fields` are those of a mapping in the order in which they are written; `is_block` says of a value whether it may be
    written once."""
    first: dict[bytes, Path] = {}
    again: dict[Path, bytes] = {}

    def visit(value: Any, path: Path) -> None:
        if isinstance(value, dict):
            for field in fields(value, path):
                visit_field(value[field], (*path, field))
        elif isinstance(value, list):
            for index, item in enumerate(value):
                visit(item, (*path, index))

    def visit_field(value: Any, path: Path) -> None:
        if is_block(value, path):
            key = msgspec.json.encode(value)
            if key in first:
                again[path] = key
                return
            first[key] = path
        visit(value, path)

    visit(value, ())
    anchors: dict[Path, str] = {}
    used: Counter[str] = Counter()
    for path in (first[key] for key in dict.fromkeys(again.values())):
        name = str(path[-1])
        used[name] += 1
        anchors[path] = f"{name}-{used[name]}" if used[name] > 1 else name
    return Repeated(anchors, {path: anchors[first[key]] for path, key in again.items()})
