"""Shares equal schemas as one object: every kind of job contains the same pod template, which is most of its schema."""

from __future__ import annotations

from typing import Any

_shared_values: dict[tuple[Any, ...], Any] = {}


def shared(value: Any) -> Any:
    """An equal value that is shared, so it must not be changed. Containers are compared by the identity of their contents, which
    are shared too and never freed."""
    kind = type(value)
    if kind is dict:
        fields = {name: shared(item) for name, item in value.items()}
        return _shared_values.setdefault((dict, *fields, *map(id, fields.values())), fields)
    if kind is list:
        items = [shared(item) for item in value]
        return _shared_values.setdefault((list, *map(id, items)), items)
    return _shared_values.setdefault((kind, value), value)
