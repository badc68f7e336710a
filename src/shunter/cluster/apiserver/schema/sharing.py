"""Schemas that say the same are one object: every kind of job holds the same pod template, which is most of its schema."""

from __future__ import annotations

from typing import Any

_known: dict[tuple[Any, ...], Any] = {}


def shared(value: Any) -> Any:
    """An equal value that others may hold as well, so nobody may change it. Containers are told apart by what they hold, which
    is shared itself and never goes away, so that it is known by its identity."""
    match value:
        case dict():
            fields = {name: shared(item) for name, item in value.items()}
            return _known.setdefault((dict, *fields, *map(id, fields.values())), fields)
        case list():
            items = [shared(item) for item in value]
            return _known.setdefault((list, *map(id, items)), items)
        case _:
            return _known.setdefault((type(value), value), value)
