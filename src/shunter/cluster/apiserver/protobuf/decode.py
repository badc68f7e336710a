r"""Protobuf bodies of Kubernetes as the JSON that the same client would have sent.

A body is the magic `k8s\0` and a `runtime.Unknown`: apiVersion, kind, and the bytes of the object. Go writes fields that are
empty as well; whether an empty field means something follows from its Go type, as in JSON.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import msgspec

from shunter.api.meta import EPOCH, Json, rfc3339, rfc3339_micro
from shunter.cluster.apiserver.protobuf.tables import META, Field, fields, message_of
from shunter.cluster.apiserver.protobuf.wire import Value, fields_of, malformed, signed, varint
from shunter.cluster.apiserver.status import bad_request

MAGIC = b"k8s\0"

_CRD = "k8s.io.apiextensions_apiserver.pkg.apis.apiextensions.v1"
_ABSENT: Any = object()


def decode(body: bytes) -> Json:
    """The object in a body of type `application/vnd.kubernetes.protobuf`. Raises StatusError 400 for anything else."""
    if not body.startswith(MAGIC):
        raise malformed("the magic number is missing")
    unknown = dict(fields_of(body[len(MAGIC) :]))
    type_meta = dict(fields_of(_bytes(unknown.get(1, b""))))
    api_version, kind = _text(type_meta.get(1, b"")), _text(type_meta.get(2, b""))
    message = message_of(api_version, kind)
    if message is None:
        raise bad_request(f'no kind "{kind}" is registered for version "{api_version}"')
    return {"apiVersion": api_version, "kind": kind, **_object(_bytes(unknown.get(2, b"")), message)}


def _object(data: bytes, message: str) -> Json:
    table = fields(message)
    result: Json = {}
    for number, value in fields_of(data):
        field = table.get(number)
        if field is None:
            continue
        match field.shape:
            case "list":
                result.setdefault(field.name, []).extend(_items(value, field))
            case "map":
                name, part = _map_entry(_bytes(value), field)
                result.setdefault(field.name, {})[name] = part
            case "one":
                part = _value(value, field)
                if field.name == "":
                    result.update(part)
                elif part is not _ABSENT and (part or field.keeps_zero or isinstance(part, dict)):
                    result[field.name] = part
    return result


def _items(value: Value, field: Field) -> list[Any]:
    """One field of a repeated one; numbers may come many to a field."""
    if field.type == "i" and isinstance(value, bytes):
        numbers, position = [], 0
        while position < len(value):
            number, position = varint(value, position)
            numbers.append(signed(number))
        return numbers
    return [_value(value, field)]


def _map_entry(data: bytes, field: Field) -> tuple[str, Any]:
    entry = dict(fields_of(data))
    empty: Value = 0 if field.type in ("i", "b") and not field.is_wrapped else b""
    return _text(entry.get(1, b"")), _value(entry.get(2, empty), field)


def _value(value: Value, field: Field) -> Any:
    if field.is_wrapped:
        return [_scalar_or_object(item, field.type) for _, item in fields_of(_bytes(value))]
    return _scalar_or_object(value, field.type)


def _scalar_or_object(value: Value, kind: str) -> Any:
    match kind:
        case "s":
            return _text(value)
        case "i":
            return signed(_int(value))
        case "b":
            return bool(_int(value))
        case "d":
            return struct.unpack("<d", _bytes(value))[0]
        case "y":
            return base64.b64encode(_bytes(value)).decode()
    special = _SPECIAL.get(kind)
    return special(_bytes(value)) if special else _object(_bytes(value), kind)


def _time(data: bytes) -> Any:
    return rfc3339(_moment(data)) if data else _ABSENT


def _micro_time(data: bytes) -> Any:
    return rfc3339_micro(_moment(data)) if data else _ABSENT


def _moment(data: bytes) -> datetime:
    parts = dict(fields_of(data))
    seconds, nanoseconds = signed(_int(parts.get(1, 0))), signed(_int(parts.get(2, 0)))
    return EPOCH + timedelta(seconds=seconds, microseconds=nanoseconds // 1000)


def _quantity(data: bytes) -> str:
    return _text(dict(fields_of(data)).get(1, b"")) or "0"


def _int_or_string(data: bytes) -> int | str:
    parts = dict(fields_of(data))
    if parts.get(1, 0):
        return _text(parts.get(3, b""))
    return signed(_int(parts.get(2, 0)))


def _raw_json(data: bytes) -> Any:
    raw = _bytes(dict(fields_of(data)).get(1, b""))
    if not raw:
        return _ABSENT
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise malformed(f"an embedded object is not JSON: {error}") from None


def _schema_or_array(data: bytes) -> Any:
    return _schema_or_list(data, lambda item: _object(item, f"{_CRD}.JSONSchemaProps"))


def _schema_or_strings(data: bytes) -> Any:
    return _schema_or_list(data, _text)


def _schema_or_list(data: bytes, item: Callable[[bytes], Any]) -> Any:
    parts = [(number, _bytes(value)) for number, value in fields_of(data)]
    for number, value in parts:
        if number == 1:
            return _object(value, f"{_CRD}.JSONSchemaProps")
    return [item(value) for _, value in parts]


def _schema_or_bool(data: bytes) -> Any:
    parts = dict(fields_of(data))
    return _object(_bytes(parts[2]), f"{_CRD}.JSONSchemaProps") if 2 in parts else bool(_int(parts.get(1, 0)))


_SPECIAL: dict[str, Callable[[bytes], Any]] = {
    f"{META}.Time": _time,
    f"{META}.MicroTime": _micro_time,
    f"{META}.FieldsV1": _raw_json,
    "k8s.io.apimachinery.pkg.api.resource.Quantity": _quantity,
    "k8s.io.apimachinery.pkg.runtime.RawExtension": _raw_json,
    "k8s.io.apimachinery.pkg.util.intstr.IntOrString": _int_or_string,
    f"{_CRD}.JSON": _raw_json,
    f"{_CRD}.JSONSchemaPropsOrArray": _schema_or_array,
    f"{_CRD}.JSONSchemaPropsOrBool": _schema_or_bool,
    f"{_CRD}.JSONSchemaPropsOrStringArray": _schema_or_strings,
}
"""Messages whose JSON is not an object of their fields."""


def _bytes(value: Value) -> bytes:
    if isinstance(value, int):
        raise malformed("a number where bytes were expected")
    return value


def _int(value: Value) -> int:
    if isinstance(value, bytes):
        raise malformed("bytes where a number was expected")
    return value


def _text(value: Value) -> str:
    try:
        return _bytes(value).decode()
    except UnicodeDecodeError:
        raise malformed("a string is not UTF-8") from None
