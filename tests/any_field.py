"""Every field of the nine kinds, as their definitions list them, set to every kind of JSON value."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import yaml

from shunter.api.meta import Json

DEFINITIONS = Path(__file__).parents[1] / "deploy" / "crds"

ITEM, ENTRY = "[]", "{}"
"""Steps of a path beside names of fields: the first item of a list, an entry of a map."""
KEY = "key"
"""The entry of a map that is set where there is none."""
DEPTH = 900

FieldPath: TypeAlias = tuple[str, ...]


def _deep() -> Any:
    value: Any = "bottom"
    for level in range(DEPTH):
        value = {"a": value} if level % 2 else [value]
    return value


MEGABYTE = "a megabyte"
VALUES: dict[str, Any] = {
    "string": "x",
    "number": 7.5,
    "boolean": True,
    "list": ["x"],
    "object": {"x": "y"},
    "null": None,
    "deep nesting": _deep(),
    MEGABYTE: "x" * 2**20,
}


@cache
def schema_of(kind: str) -> Json:
    """The schema of one of the kinds that the operator serves."""
    (file,) = DEFINITIONS.glob(f"{kind.lower()}s.*.yaml")
    schema: Json = yaml.load(file.read_text(), Loader=yaml.CSafeLoader)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return schema


def fields(schema: Json, path: FieldPath = ()) -> Iterator[tuple[FieldPath, str]]:
    """Every field below `schema` and its type, items of lists and entries of maps included."""
    steps = [*(schema.get("properties") or {}).items(), (ITEM, schema.get("items")), (ENTRY, schema.get("additionalProperties"))]
    for step, below in steps:
        if isinstance(below, dict):
            yield (*path, step), below.get("type", "")
            yield from fields(below, (*path, step))


def mutations(kind: str, base: Json, *, in_turns: bool) -> Iterator[tuple[str, Json]]:
    """The object with each field of its kind set to each value, and what that is called. `in_turns`: in pod templates, which are
    one type with a thousand fields, every field gets one of the values. A megabyte is only for texts: it is slow."""
    for path, type in fields(schema_of(kind)):
        is_in_template = "template" in path
        for number, (name, value) in enumerate(VALUES.items()):
            if name == MEGABYTE and (is_in_template or type != "string"):
                continue
            if is_in_template and in_turns and number != _turn(path):
                continue
            yield f"{'.'.join(path)}: {name}", with_value(base, path, value)


def _turn(path: FieldPath) -> int:
    return zlib.crc32("/".join(path).encode()) % (len(VALUES) - 1)


def with_value(obj: Any, path: FieldPath, value: Any) -> Any:
    """A copy of the object with the value at the path; what is missing on the way is made, and what is not on it is shared."""
    if not path:
        return value
    step, below = path[0], path[1:]
    if step == ITEM:
        items = obj if isinstance(obj, list) else []
        return [with_value(items[0] if items else None, below, value), *items[1:]]
    present = obj if isinstance(obj, dict) else {}
    key = next(iter(present), KEY) if step == ENTRY else step
    return {**present, key: with_value(present.get(key), below, value)}
