"""What values of a schema are to expressions: their types, and how large they may be.

Fields are those that the schema declares, under their escaped names; what is declared nowhere cannot be read. Source:
k8s.io/apiserver 1.36 `cel/common/schemas.go`, `cel/types.go`, `cel/limits.go`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from shunter.api.meta import Json
from shunter.cluster.apiserver.schema.cel import escaped
from shunter.cluster.apiserver.schema.typecheck import types
from shunter.cluster.apiserver.schema.typecheck.types import DYN, STRING, Type

LARGEST_REQUEST: Final = 3 * 1024 * 1024
"""Bytes."""
_BYTES_PER_LETTER = 4
_TEXT = {"type": "string"}
_METADATA: Json = {"type": "object", "properties": {"name": _TEXT, "generateName": _TEXT}}
_TIMES = {"duration": (3, 32), "date": (12, 12), "date-time": (21, 32)}
"""The fewest and the most bytes of a text."""
_PLAIN = {"boolean": ("bool", 4), "number": ("double", 1), "integer": ("int", 1)}


class Declared(NamedTuple):
    """What a schema declares."""

    type: Type
    """The type: for an object `struct`, without a name yet; for a list or map without its element type."""
    smallest: int
    """The fewest bytes that a value takes in JSON."""
    largest: int = 0
    """The most letters or items that a value may have."""
    fields: Mapping[str, Declared] | None = None
    item: Declared | None = None
    """The declaration of the items of a list, or of the values of a map."""


def declared(schema: Json, *, is_resource: bool) -> Declared | None:
    """What the values of a schema are; None for those that expressions cannot read. `is_resource`: the whole object, or one
    embedded in it."""
    if schema.get("x-kubernetes-int-or-string"):
        return Declared(DYN, 1, _most_letters(schema, LARGEST_REQUEST - 2))
    properties = schema.get("properties") or {}
    if is_resource:
        properties = _with_metadata(properties)
    match schema.get("type"):
        case "array":
            return _list(schema)
        case "object":
            further = schema.get("additionalProperties")
            return _map(schema, further) if isinstance(further, dict) else _object(schema, properties)
        case "string":
            return _text(schema)
        case kind:
            name, smallest = _PLAIN.get(str(kind), ("", 0))
            return Declared(Type(name), smallest) if name else None


def named(one: Declared, name: str, structs: dict[str, Mapping[str, Type]]) -> Type:
    """The type, with names for the objects in it, whose fields go into `structs`."""
    if one.fields is not None:
        structs[name] = {field: named(inner, f"{name}.{field}", structs) for field, inner in one.fields.items()}
        return Type("struct", name)
    if one.item is None:
        return one.type
    if one.type.kind == "map":
        return types.map_of(STRING, named(one.item, f"{name}.@elem", structs))
    return types.list_of(named(one.item, f"{name}.@idx", structs))


def _with_metadata(properties: Json) -> Json:
    metadata = properties.get("metadata") or {}
    texts = [properties.get("kind"), properties.get("apiVersion")]
    texts += [(metadata.get("properties") or {}).get(name) for name in ("name", "generateName")]
    if metadata.get("type") == "object" and all((one or {}).get("type") == "string" for one in texts):
        return properties
    return {**properties, "kind": _TEXT, "apiVersion": _TEXT, "metadata": _METADATA}


def _of(schema: Json) -> Declared | None:
    return declared(schema, is_resource=bool(schema.get("x-kubernetes-embedded-resource")))


def _list(schema: Json) -> Declared | None:
    item = _of(schema["items"]) if isinstance(schema.get("items"), dict) else None
    if item is None:
        return None
    most = (LARGEST_REQUEST - 2) // (item.smallest + 1)
    return Declared(Type("list"), 2, _limit(schema, "maxItems", most), item=item)


def _map(schema: Json, further: Json) -> Declared | None:
    item = _of(further)
    if item is None:
        return None
    most = (LARGEST_REQUEST - 2) // (item.smallest + 6)
    return Declared(Type("map"), 2, _limit(schema, "maxProperties", most), item=item)


def _object(schema: Json, properties: Json) -> Declared:
    fields, smallest = {}, 2
    for name, inner in properties.items():
        found = _of(inner)
        if found is None:
            continue
        if escape := escaped(name):
            fields[escape] = found
        if name in (schema.get("required") or ()) and "default" not in inner:
            smallest += len(name.encode()) + found.smallest + 4
    return Declared(Type("struct"), smallest, fields=fields)


def _text(schema: Json) -> Declared:
    kind = schema.get("format")
    if kind in _TIMES:
        smallest, largest = _TIMES[kind]
        return Declared(Type("duration" if kind == "duration" else "timestamp"), smallest, largest)
    if kind == "byte":
        return Declared(Type("bytes"), 2, _limit(schema, "maxLength", LARGEST_REQUEST - 2))
    words = [len(word.encode()) for word in schema.get("enum") or () if isinstance(word, str)]
    return Declared(STRING, 2, _most_letters(schema, max(words, default=0) if schema.get("enum") else LARGEST_REQUEST - 2))


def _most_letters(schema: Json, otherwise: int) -> int:
    return max(0, schema["maxLength"]) * _BYTES_PER_LETTER if schema.get("maxLength") is not None else otherwise


def _limit(schema: Json, keyword: str, otherwise: int) -> int:
    return max(0, schema[keyword]) if schema.get(keyword) is not None else otherwise
