"""JSON Patch (RFC 6902) made from two values: what a mutating webhook answers. Pure; inputs are not changed."""

from __future__ import annotations

from typing import Any

from shunter.api.meta import Json


def difference(before: Any, after: Any, path: str = "") -> list[Json]:
    """The operations that turn `before` into `after`; objects are compared by key, lists by position."""
    if type(before) is type(after) and before == after:
        return []
    if isinstance(before, dict) and isinstance(after, dict):
        return _of_objects(before, after, path)
    if isinstance(before, list) and isinstance(after, list):
        return _of_lists(before, after, path)
    return [{"op": "replace", "path": path, "value": after}]


def _of_objects(before: Json, after: Json, path: str) -> list[Json]:
    operations: list[Json] = [{"op": "remove", "path": f"{path}/{_token(key)}"} for key in before if key not in after]
    for key, value in after.items():
        place = f"{path}/{_token(key)}"
        if key in before:
            operations += difference(before[key], value, place)
        else:
            operations.append({"op": "add", "path": place, "value": value})
    return operations


def _of_lists(before: list[Any], after: list[Any], path: str) -> list[Json]:
    operations: list[Json] = []
    for position, (old, new) in enumerate(zip(before, after, strict=False)):
        operations += difference(old, new, f"{path}/{position}")
    # From the end, so that the positions of those still to be removed stay right.
    operations += [{"op": "remove", "path": f"{path}/{at}"} for at in range(len(before) - 1, len(after) - 1, -1)]
    operations += [{"op": "add", "path": f"{path}/-", "value": value} for value in after[len(before) :]]
    return operations


def _token(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")
