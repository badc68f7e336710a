"""Validates the fields that a scale subresource names: 32-bit integers for replica counts, a string for the selector.

Source: apiextensions-apiserver 1.36 `registry/customresource` validator, apimachinery `unstructured` helpers.
"""

from __future__ import annotations

from typing import Any

from shunter.api.field_errors import FieldError, invalid
from shunter.api.meta import Json
from shunter.cluster.apiserver.kinds import ScalePaths

_LARGEST = 2**31 - 1
_GO_TYPES = {
    str: "string",
    bool: "bool",
    int: "int64",
    float: "float64",
    dict: "map[string]interface {}",
    list: "[]interface {}",
    type(None): "<nil>",
}
_ABSENT: Any = object()


class _AccessError(Exception):
    """A value on the path, or at its end, has the wrong type."""


def scale_errors(scale: ScalePaths, obj: Json) -> list[FieldError]:
    """Faults of the counts in spec and status and of the selector."""
    errors = [error for path in (scale.spec_replicas, scale.status_replicas) for error in _count_errors(path, obj)]
    if scale.label_selector:
        try:
            value = _at(obj, scale.label_selector)
            if value is not _ABSENT and type(value) is not str:
                raise _wrong(scale.label_selector, value, "string")
        except _AccessError as error:
            errors.append(invalid(f".{scale.label_selector}", "", str(error)))
    return errors


def _count_errors(path: str, obj: Json) -> list[FieldError]:
    try:
        value = _at(obj, path)
        if value is not _ABSENT and type(value) is not int:
            raise _wrong(path, value, "int64")
    except _AccessError as error:
        return [invalid(f".{path}", 0, str(error))]
    if value is _ABSENT:
        return []
    if value < 0:
        return [invalid(f".{path}", value, "should be a non-negative integer")]
    return [invalid(f".{path}", value, f"should be less than or equal to {_LARGEST}")] if value > _LARGEST else []


def _at(obj: Json, path: str) -> Any:
    value: Any = obj
    names = path.split(".")
    for depth, name in enumerate(names, 1):
        if type(value) is not dict:
            raise _wrong(".".join(names[:depth]), value, "map[string]interface{}")
        if name not in value:
            return _ABSENT
        value = value[name]
    return value


def _wrong(path: str, value: Any, expected: str) -> _AccessError:
    shown = str(value).lower() if type(value) is bool else "<nil>" if value is None else str(value)
    return _AccessError(f".{path} accessor error: {shown} is of the type {_GO_TYPES[type(value)]}, expected {expected}")
