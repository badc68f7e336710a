"""What YAML can say and JSON cannot: bytes, sets, times, numbers that are none, keys that are no text. Kubernetes takes JSON."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from shunter.migrate.paths import Path


class NoJson(NamedTuple):
    """Where the value stands, and what it is."""

    path: Path
    found: str
    """`bytes`, or what is wrong with the value."""


def no_json(value: Any, path: Path = ()) -> NoJson | None:
    """The first value at or below `path` that JSON does not have, None where there is none."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if not isinstance(key, str):
                return NoJson(path, f"a key that is no text, {key!r}")
            if not isinstance(inner, str) and (found := no_json(inner, (*path, key))) is not None:
                return found
    elif isinstance(value, list):
        for index, item in enumerate(value):
            if not isinstance(item, str) and (found := no_json(item, (*path, index))) is not None:
                return found
    elif isinstance(value, float):
        return None if math.isfinite(value) else NoJson(path, f"{value}, which is no number")
    elif not isinstance(value, str | int | None):
        return NoJson(path, f"`{type(value).__name__}`")
    return None
