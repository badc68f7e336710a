"""How the real API server reads and writes built-in kinds: as values of Go structs.

Reading drops and reports unknown fields, refuses wrong types in the words of Go's decoder, and leaves out what a Go struct leaves
out when it is written again (empty strings, lists, false, 0, nulls), while structs that are no pointers are always written. So a
stored object looks like one from a real cluster, and defaulting need not tell empty from absent.
The table of types is made by scripts/go_types from k8s.io/api. Source of the rules: sigs.k8s.io/json, Go's encoding/json.
"""

from __future__ import annotations

import base64
import binascii
import gzip
import re
from collections.abc import Callable
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Any, Protocol

import msgspec

from shunter.api.formats.quantity import canonical, canonical_resource
from shunter.api.formats.times import MICRO_LAYOUT, moment
from shunter.api.meta import Json, rfc3339, rfc3339_micro
from shunter.cluster.apiserver.kinds import MalformedError

Decode = Callable[[Any, list[str]], Any]
"""Takes a value other than None and the list of unknown paths (relative to it) to add to; returns it in Go's form."""

_TABLE = Path(__file__).parent.parent / "data" / "go-types.json.gz"
_JSON_NAMES = {str: "string", bool: "bool", int: "number", float: "number", list: "array", dict: "object"}
_NAMED = re.compile(r"([A-Za-z0-9]+\.[A-Za-z0-9]+)=")
_RANGES = {"int32": (-(2**31), 2**31 - 1), "int64": (-(2**63), 2**63 - 1), "uint32": (0, 2**32 - 1), "int": (-(2**63), 2**63 - 1)}
_EXACT: dict[str, type] = {"string": str, "bool": bool}
_ZEROES: dict[str, Any] = {"string": "", "bool": False, "float64": 0} | dict.fromkeys(_RANGES, 0)


class _MismatchError(Exception):
    """A value of the wrong type; the structs around it add where it is."""

    def __init__(self, value: Any, expected: str, *, literal: bool = False) -> None:
        super().__init__()
        name = _JSON_NAMES[type(value)]
        self.found = f"{name} {msgspec.json.encode(value).decode()}" if literal else name
        self.expected = expected
        self.struct = ""
        self.fields: list[str] = []

    def __str__(self) -> str:
        if not self.struct:
            return f"json: cannot unmarshal {self.found} into Go value of type {self.expected}"
        where = ".".join(reversed(self.fields))
        return f"json: cannot unmarshal {self.found} into Go struct field {self.struct}.{where} of type {self.expected}"


class Reader(Protocol):
    """Brings an object into Go's form in place and returns the unknown paths. Raises MalformedError with the decoder's text."""

    def __call__(self, obj: Json, old: Json | None = None) -> list[str]:
        """Values that are the same Python objects as in `old`, which is in Go's form, are kept as they are."""


def reader(definition: str) -> Reader:
    """The reader of objects of this definition (`io.k8s.api.core.v1.Pod`)."""
    struct = _struct(definition)

    def read(obj: Json, old: Json | None = None) -> list[str]:
        unknown: list[str] = []
        try:
            decoded = struct.decode(obj, unknown, old or {})
        except (_MismatchError, ValueError) as error:
            raise MalformedError(str(error)) from None
        obj.clear()
        obj.update(decoded)
        return unknown

    return read


def empty(definition: str, field: str) -> Any:
    """What is written for an unset field of this definition; KeyError when nothing is."""
    zero = _struct(definition).fields[field].zero
    if zero is None:
        raise KeyError(field)
    return zero()


class _Field(msgspec.Struct, frozen=True):
    decode: Decode
    exact: type | None
    """The Python type whose values need no further decoding; None when there is no such type."""
    keeps_empty: bool
    """Written even when empty: pointers that are set, structs, fields without omitempty."""
    zero: Callable[[], Any] | None
    """Makes what is written for an absent field; None where nothing is."""
    inside: str
    """The embedded Go struct that holds the field; only errors show it."""
    struct: _Struct | None = None
    """The type of a field that is a struct."""


class _Struct:
    """One Go struct. Fields are compiled on first use: types refer to themselves."""

    def __init__(self, definition: str, rows: list[list[str]]) -> None:
        self.name = definition.rpartition(".")[2]
        self.text = f"{definition.split('.')[-2]}.{self.name}"
        self._rows = rows
        self._places = {row[0]: place for place, row in enumerate(rows)}

    @cached_property
    def fields(self) -> dict[str, _Field]:
        return {name: _compile_field(shape, keep=bool(keep), inside=inside) for name, shape, keep, inside in self._rows}

    @cached_property
    def _always(self) -> frozenset[str]:
        """The fields that are written even when absent."""
        return frozenset(name for name, field in self.fields.items() if field.zero is not None)

    def decode(self, value: Any, unknown: list[str], old: Any = None) -> Json:
        if type(value) is not dict:
            raise _MismatchError(value, self.text)
        fields = self.fields
        read: Json = {}
        for name, item in value.items():
            field = fields.get(name)
            if field is None:
                unknown.append(name)
            elif type(item) is field.exact:
                read[name] = item
            elif item is not None:
                before = len(unknown)
                try:
                    if not old:
                        read[name] = field.decode(item, unknown)
                    elif item is old.get(name):
                        read[name] = item
                    elif field.struct is not None:
                        read[name] = field.struct.decode(item, unknown, old.get(name))
                    else:
                        read[name] = field.decode(item, unknown)
                except _MismatchError as mismatch:
                    mismatch.struct = mismatch.struct or self.name
                    mismatch.fields.append(f"{field.inside}.{name}" if field.inside else name)
                    raise
                if len(unknown) > before:
                    unknown[before:] = [name + (path if path.startswith("[") else f".{path}") for path in unknown[before:]]
        return self.written(read)

    def written(self, read: Json) -> Json:
        """The fields in Go's order, without empty ones that Go leaves out and with absent ones that it writes."""
        fields = self.fields
        result: Json = {}
        for name in sorted(read.keys() | self._always, key=self._places.__getitem__):
            field = fields[name]
            item = read.get(name)
            if item is None:
                if field.zero is not None:
                    result[name] = field.zero()
            elif item or field.keeps_empty:
                result[name] = item
        return result


@cache
def _struct(definition: str) -> _Struct:
    return _Struct(definition, _table()[definition])


@cache
def _table() -> dict[str, list[list[str]]]:
    return msgspec.json.decode(gzip.decompress(_TABLE.read_bytes()), type=dict[str, list[list[str]]])


def _compile_field(shape: str, *, keep: bool, inside: str) -> _Field:
    decode = _compile(shape)
    exact = _EXACT.get(_split(shape.lstrip("*"))[1])
    if shape.startswith("*"):
        return _Field(decode, exact, True, _null if keep else None, inside)
    core = _split(shape)[1]
    if core.startswith("@"):
        struct = _struct(core[1:])
        return _Field(decode, exact, keep, (lambda: struct.written({})) if keep else None, inside, struct)
    if core.startswith("!"):
        return _Field(decode, exact, True, _null if keep and core in ("!v1.Time", "!v1.MicroTime") else None, inside)
    if not keep:
        return _Field(decode, exact, False, None, inside)
    if core[0] in "[{" or core == "bytes":
        return _Field(decode, exact, True, _null, inside)
    zero = _ZEROES[core]
    return _Field(decode, exact, True, lambda: zero, inside)


def _null() -> None:
    return None


def _compile(shape: str) -> Decode:
    """The decoder of one shape; scripts/go_types defines the notation of shapes."""
    text, core = _split(shape.lstrip("*"))
    match core[0]:
        case "@":
            struct = _struct(core[1:])
            return lambda value, unknown: struct.decode(value, unknown)
        case "[":
            return _list_of(core[1:], text)
        case "{":
            return _map_of(core[1:], text)
        case "!":
            return _SELF_DECODING[core[1:]]
    if core == "string":
        return _string(text)
    if core == "bool":
        return _exact(bool, text)
    if core == "bytes":
        return _bytes
    if core == "float64":
        return _float(text)
    return _integer(text, *_RANGES[core])


def _split(shape: str) -> tuple[str, str]:
    """What reflect calls the type, and its shape without a name."""
    named = _NAMED.match(shape)
    return (named[1], shape[named.end() :]) if named else (_text(shape), shape)


def _text(core: str) -> str:
    """The name that Go's reflect gives to an unnamed type."""
    match core[0]:
        case "@":
            package, name = core[1:].split(".")[-2:]
            return f"{package}.{name}"
        case "[":
            return "[]" + _split(core[1:])[0]
        case "{":
            return "map[string]" + _split(core[1:])[0]
        case "!":
            return core[1:]
        case "*":
            return "*" + _text(core[1:])
    return "[]uint8" if core == "bytes" else core


def _string(text: str) -> Decode:
    def decode(value: Any, unknown: list[str]) -> Any:
        if type(value) is not str:
            raise _MismatchError(value, text)
        return value

    return decode


def _exact(expected: type, text: str) -> Decode:
    def decode(value: Any, unknown: list[str]) -> Any:
        if type(value) is not expected:
            raise _MismatchError(value, text)
        return value

    return decode


def _integer(text: str, low: int, high: int) -> Decode:
    def decode(value: Any, unknown: list[str]) -> Any:
        if type(value) is int and low <= value <= high:
            return value
        raise _MismatchError(value, text, literal=type(value) in (int, float))

    return decode


def _float(text: str) -> Decode:
    def decode(value: Any, unknown: list[str]) -> Any:
        if type(value) is not int and type(value) is not float:
            raise _MismatchError(value, text)
        return value

    return decode


def _bytes(value: Any, unknown: list[str]) -> Any:
    if type(value) is not str:
        raise _MismatchError(value, "[]uint8")
    text = value.replace("\n", "").replace("\r", "")
    try:
        base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise ValueError(f"illegal base64 data at input byte {_base64_fault(text)}") from None
    return text


def _base64_fault(text: str) -> int:
    """The position where Go stops reading: the first invalid byte, or the start of an unfinished group of four."""
    for index, char in enumerate(text):
        if not (char.isascii() and (char.isalnum() or char in "+/")):
            return index
    return len(text) - len(text) % 4


def _list_of(item_shape: str, text: str) -> Decode:
    decode_item = _compile(item_shape)
    zero = _zero_of(item_shape)

    def decode(value: Any, unknown: list[str]) -> Any:
        if type(value) is not list:
            raise _MismatchError(value, text)
        items = []
        for index, item in enumerate(value):
            before = len(unknown)
            items.append(zero() if item is None else decode_item(item, unknown))
            if len(unknown) > before:
                unknown[before:] = [f"[{index}]" + (path if path.startswith("[") else f".{path}") for path in unknown[before:]]
        return items

    return decode


def _map_of(item_shape: str, text: str) -> Decode:
    decode_item = _compile(item_shape)
    if text == "v1.ResourceList":
        decode_item = _resource
    zero = _zero_of(item_shape)

    def decode(value: Any, unknown: list[str]) -> Any:
        if type(value) is not dict:
            raise _MismatchError(value, text)
        items = {}
        for key in sorted(value):
            item = value[key]
            before = len(unknown)
            items[key] = zero() if item is None else decode_item(item, unknown)
            if len(unknown) > before:
                unknown[before:] = [f"{key}.{path}" for path in unknown[before:]]
        return items

    return decode


def _zero_of(shape: str) -> Callable[[], Any]:
    core = _split(shape)[1]
    if core[0] == "@":
        struct = _struct(core[1:])
        return lambda: struct.written({})
    if core == "!resource.Quantity":
        return lambda: "0"
    zero = _ZEROES.get(core)
    return lambda: zero


def _quantity(value: Any, unknown: list[str]) -> Any:
    return canonical(_quantity_text(value))


def _resource(value: Any, unknown: list[str]) -> Any:
    return canonical_resource(_quantity_text(value))


def _quantity_text(value: Any) -> str:
    return value if type(value) is str else msgspec.json.encode(value).decode()


def _int_or_string(value: Any, unknown: list[str]) -> Any:
    return value if type(value) is str else _integer("int32", *_RANGES["int32"])(value, unknown)


def _time(value: Any, unknown: list[str]) -> Any:
    return _whole_seconds(_checked_text(value))


def _micro_time(value: Any, unknown: list[str]) -> Any:
    return rfc3339_micro(moment(_checked_text(value), MICRO_LAYOUT))


def _checked_text(value: Any) -> str:
    if type(value) is not str:
        raise _MismatchError(value, "string")
    return value


@lru_cache(maxsize=1024)
def _whole_seconds(value: str) -> str:
    return rfc3339(moment(value))


def _anything(value: Any, unknown: list[str]) -> Any:
    return value


def _schema_or(kind: type) -> Decode:
    """JSONSchemaPropsOrBool and its relatives: a schema, or a plain value of the other type."""

    def decode(value: Any, unknown: list[str]) -> Any:
        if type(value) is dict:
            return _struct("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps").decode(value, unknown)
        if type(value) is kind:
            return value
        raise ValueError("boolean or JSON schema expected" if kind is bool else "unmarshal error")

    return decode


_SELF_DECODING: dict[str, Decode] = {
    "resource.Quantity": _quantity,
    "intstr.IntOrString": _int_or_string,
    "v1.Time": _time,
    "v1.MicroTime": _micro_time,
    "runtime.RawExtension": _anything,
    "v1.FieldsV1": _anything,
    "v1.JSON": _anything,
    "v1.JSONSchemaPropsOrBool": _schema_or(bool),
    "v1.JSONSchemaPropsOrArray": _schema_or(list),
    "v1.JSONSchemaPropsOrStringArray": _schema_or(list),
}
