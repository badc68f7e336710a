"""A Swagger 2.0 document in protobuf, the only form in which kubectl asks for it: when it meets a kind that is not served.

Source: gnostic-models `openapiv2/OpenAPIv2.proto`; the numbers are those of its fields. Keywords it does not define (`anyOf`,
`oneOf`) are left out, as in a kube-apiserver's document.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from shunter.api.meta import Json

MEDIA_TYPE = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
_ASKED_FOR = (MEDIA_TYPE, "application/com.github.proto-openapi.spec.v2@v1.0+protobuf")

Field = Callable[[int, Any], bytes]
"""A field with its number, from its JSON value."""


def is_requested(accept: str) -> bool:
    """Whether an Accept header asks for this format, by its current name or the older one that clients still use."""
    return any(name in accept for name in _ASKED_FOR)


def encoded(document: Json) -> bytes:
    """The message Document."""
    return _fields(document, _DOCUMENT)


def _fields(value: Mapping[str, Any], known: Mapping[str, tuple[int, Field]], extension: int = 0) -> bytes:
    """The fields of a message; members that start with `x-` are its vendor extensions."""
    parts = []
    for name, content in value.items():
        if name in known:
            number, field = known[name]
            parts.append(field(number, content))
        elif extension and name.startswith("x-"):
            parts.append(_delimited(extension, _text(1, name) + _any(2, content)))
    return b"".join(parts)


def _message(known: Mapping[str, tuple[int, Field]], extension: int = 0) -> Field:
    return lambda number, value: _delimited(number, _fields(value, known, extension))


def _several(field: Field) -> Field:
    return lambda number, values: b"".join(field(number, value) for value in values)


def _named(field: Field) -> Field:
    """Each member of an object as a message of name and value."""
    return lambda number, members: b"".join(
        _delimited(number, _text(1, name) + field(2, value)) for name, value in members.items()
    )


def _within(numbers: Iterable[int], field: Field) -> Field:
    """A field inside of messages that hold nothing else, outermost first."""
    *outer, innermost = numbers

    def nested(number: int, value: Any) -> bytes:
        body = field(innermost, value)
        for one in reversed(outer):
            body = _delimited(one, body)
        return _delimited(number, body)

    return nested


def _text(number: int, value: str) -> bytes:
    return _delimited(number, value.encode())


def _integer(number: int, value: int) -> bytes:
    return _varint(number << 3) + _varint(value & 0xFFFF_FFFF_FFFF_FFFF)


def _double(number: int, value: float) -> bytes:
    return _varint(number << 3 | 1) + struct.pack("<d", value)


def _any(number: int, value: Any) -> bytes:
    """Any value, as YAML; JSON is YAML."""
    return _delimited(number, _delimited(2, msgspec.json.encode(value)))


def _delimited(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)


def _schema(number: int, value: Json) -> bytes:
    return _delimited(number, _fields(value, _SCHEMA, 31))


def _parameter(number: int, value: Json) -> bytes:
    """A ParametersItem: which message it holds depends on where the parameter is."""
    inside = {"body": _BODY, "path": _PATH, "query": _QUERY}[value["in"]]
    return _delimited(number, inside(1, value))


_TEXTS = _several(_text)
_SCHEMA: Mapping[str, tuple[int, Field]] = {
    "$ref": (1, _text),
    "format": (2, _text),
    "title": (3, _text),
    "description": (4, _text),
    "default": (5, _any),
    "maximum": (7, _double),
    "exclusiveMaximum": (8, _integer),
    "minimum": (9, _double),
    "exclusiveMinimum": (10, _integer),
    "maxLength": (11, _integer),
    "minLength": (12, _integer),
    "pattern": (13, _text),
    "maxItems": (14, _integer),
    "minItems": (15, _integer),
    "maxProperties": (17, _integer),
    "minProperties": (18, _integer),
    "required": (19, _TEXTS),
    "enum": (20, _several(_any)),
    "additionalProperties": (21, _within([1], _schema)),
    "type": (22, _within([1], _text)),
    "items": (23, _within([1], _schema)),
    "allOf": (24, _several(_schema)),
    "properties": (25, _within([1], _named(_schema))),
}
_BODY = _within([1], _message({"name": (2, _text), "in": (3, _text), "required": (4, _integer), "schema": (5, _schema)}, 6))
_QUERY = _within([2, 3], _message({"in": (2, _text), "name": (4, _text), "type": (6, _text)}, 23))
_PATH = _within([2, 4], _message({"required": (1, _integer), "in": (2, _text), "name": (4, _text), "type": (5, _text)}, 22))
_OPERATION = _message(
    {
        "operationId": (5, _text),
        "produces": (6, _TEXTS),
        "consumes": (7, _TEXTS),
        "parameters": (8, _several(_parameter)),
        "responses": (9, _within([1], _named(_within([1], _message({"description": (1, _text)}))))),
    },
    13,
)
_PATH_ITEM = _message(
    {
        "get": (2, _OPERATION),
        "put": (3, _OPERATION),
        "post": (4, _OPERATION),
        "delete": (5, _OPERATION),
        "patch": (8, _OPERATION),
        "parameters": (9, _several(_parameter)),
    }
)
_DOCUMENT: Mapping[str, tuple[int, Field]] = {
    "swagger": (1, _text),
    "info": (2, _message({"title": (1, _text), "version": (2, _text)})),
    "paths": (8, _within([2], _named(_PATH_ITEM))),
    "definitions": (9, _within([1], _named(_schema))),
}
