"""JSON merge patch (RFC 7386): the difference between two values, and its application. Pure; inputs are not changed."""

from typing import Any

from shunter.api.meta import Json


def merge_patch(target: Any, patch: Any) -> Any:
    """`target` with `patch` applied: objects merge, null removes, everything else replaces."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge_patch(merged.get(key), value)
    return merged


def difference(observed: Json, desired: Json) -> Json:
    """The smallest merge patch that turns `observed` into `desired`; empty when they are equal."""
    patch: Json = {key: None for key in observed if key not in desired}
    for key, value in desired.items():
        before = observed.get(key)
        if before == value and key in observed:
            continue
        if isinstance(before, dict) and isinstance(value, dict):
            patch[key] = difference(before, value)
        else:
            patch[key] = value
    return patch
