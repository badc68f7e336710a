"""Which fields of an object a refusal of the API server is about.

    Status.details.causes                                    CRD schemas, Kubernetes' rules: spec.a[0].b, spec.m.key, spec.m[key]
    [spec.a: Required value, spec.b: Invalid value: ...]     admission webhooks, as apimachinery writes field errors
    strict decoding error: unknown field "spec.a[0].b"       a create
    .spec.containers[name="main"].b: expected string, ...    server-side apply, before all else
    cannot unmarshal string into Go struct field T.spec.a.b of type int32    Go's decoder: no indexes, no keys of maps

A path is not taken apart: keys may have dots and slashes in them, with and without brackets. It is followed through the object
instead; one that leads nowhere, or to several places, leads nowhere.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple, TypeAlias

from shunter.api.late_patterns import late_pattern
from shunter.api.meta import Json
from shunter.kube.errors import Status

Path: TypeAlias = tuple[str | int, ...]

Fault: TypeAlias = Literal["unknown", "required", "other"]


class RefusedField(NamedTuple):
    """A field by the server's name for it, and what is wrong with it."""

    name: str
    fault: Fault = "other"
    decoded: str = ""
    """The JSON type in an error of Go's decoder."""


_QUOTED = r'"(?:[^"\\]|\\.)*"'
_ERROR = "((?:Required|Invalid|Unsupported|Duplicate) value|Forbidden|Not found|Too (?:long|many|few)|Internal error)"
_FIELD_ERROR = late_pattern(rf"(?<![\w.\])>])([A-Za-z_$][\w$-]*(?:\.[\w$/-]+|\[[^\]\n]*\])*): {_ERROR}")
_APPLY = late_pattern(r"^(?:failed to create typed patch object \(.*?\):|)\s+(\.\S[^\n]*?): (?:element (\d+): )?([^\n]*)", re.M)
_STRICT = late_pattern(rf"(?:strict decoding error: |, )unknown field ({_QUOTED})")
_GO = late_pattern(r"cannot unmarshal (\w+)(?: [-+.\deE]+)? into Go struct field (\w*)\.(\S+) of type ")
_INVALID = late_pattern(rf"(\w+)(?:\.[\w.-]+)? {_QUOTED} is invalid: ")


def refused_fields(status: Status, kind: str) -> list[RefusedField]:
    """The fields that a refusal of an object of the kind names, each once; none when it is about another object, such as one that
    a webhook made of it."""
    message = status.message
    if any(_singular(other[1]) != _singular(kind) for other in _INVALID.finditer(message)):
        return []
    causes = status.details.causes if status.details else ()
    found = [
        RefusedField(cause.field, "required" if cause.reason == "FieldValueRequired" else "other")
        for cause in causes
        if cause.field and cause.field != "<nil>"
    ]
    return list(dict.fromkeys(found or _named_in(message)))


def _singular(kind: str) -> str:
    """Some refusals name the resource (`foos.example.io "a" is invalid`)."""
    return kind.lower().removesuffix("s")


def _named_in(message: str) -> Iterator[RefusedField]:
    if "strict decoding error: " in message:
        for match in _STRICT.finditer(message):
            yield RefusedField(str(_read(match[1])), "unknown")
        return
    decoded = _GO.search(message)
    if decoded:
        # What stands in metadata of a custom kind is decoded by itself.
        alone = decoded[2] == "ObjectMeta" and "metadata" not in decoded[3].split(".")
        yield RefusedField(f"metadata.{decoded[3]}" if alone else decoded[3], "other", decoded[1])
        return
    without_texts = re.sub(_QUOTED, lambda text: '"' + "_" * (len(text[0]) - 2) + '"', message)
    if message.startswith("failed to create typed patch object"):
        for match in _APPLY.finditer(without_texts):
            name = message[match.start(1) : match.end(1)] + (f"[{match[2]}]" if match[2] else "")
            yield RefusedField(name, "unknown" if match[3].startswith("field not declared") else "other")
        return
    for match in _FIELD_ERROR.finditer(without_texts):
        name = message[match.start(1) : match.end(1)]
        yield RefusedField(name, "required" if match[2] == "Required value" else "other")


def path_of(field: RefusedField, obj: Json) -> Path | None:
    """The keys and indexes that lead to a field; for one that is required, as far as they are there. None where that is not
    one place."""
    if field.decoded:
        return _decoded(field, obj)
    name = field.name if field.name.startswith((".", "[")) else f".{field.name}"
    matches = list(_matches(name, obj))
    ends = {path for path, rest in matches if not rest}
    if not ends and field.fault == "required":
        least = min(len(rest) for _, rest in matches)
        ends = {path for path, rest in matches if len(rest) == least}
    return ends.pop() if len(ends) == 1 else None


def _matches(name: str, value: Any) -> Iterator[tuple[Path, str]]:
    """Every way to follow a path: to where, and what is left of it there."""
    yield (), name
    for step, inner, rest in _steps(name, value):
        for path, left in _matches(rest, inner):
            yield (step, *path), left


def _steps(name: str, value: Any) -> Iterator[tuple[str | int, Any, str]]:
    if isinstance(value, dict):
        for key, inner in ((str(key), inner) for key, inner in value.items()):
            for written in (f".{key}", f"[{key}]", f"[{json.dumps(key)}]", f"['{key}']"):
                rest = name.removeprefix(written)
                if rest != name and (not rest or rest[0] in ".["):
                    yield key, inner, rest
    elif isinstance(value, list):
        match = re.match(rf"\[((?:[^\]\"]|{_QUOTED})*)\]", name)
        for index, item in enumerate(value if match else ()):
            assert match is not None, "nothing is looked at otherwise"
            if _is_meant(match[1], index, item):
                yield index, item, name[match.end() :]


def _is_meant(selector: str, index: int, item: Any) -> bool:
    """Whether an item of a list is the one of `0`, `name="main"` (keys that it does not have are defaulted) or `="value"`."""
    if selector.isdigit():
        return int(selector) == index
    pairs = re.findall(rf'([^=,"]*)=({_QUOTED}|[^,]*)', selector)
    wanted = {key: _read(text) for key, text in pairs}
    if not wanted or "" in wanted:
        return bool(wanted) and item == wanted[""]
    return (
        isinstance(item, dict)
        and any(key in item for key in wanted)
        and all(item.get(key, wanted[key]) == wanted[key] for key in wanted)
    )


def _read(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


_JSON_TYPES = {str: "string", bool: "bool", int: "number", float: "number", list: "array", dict: "object"}


def _decoded(field: RefusedField, obj: Json) -> Path | None:
    """The value of the type that Go's decoder met: at the field, or as an item or a value of it. The field itself where several
    are of it."""
    exact, fields = set(), set()
    for path, value in _fields(tuple(field.name.split(".")), obj, inside=False):
        for inner, one in ((), value), *(((step,), below) for step, below in _below(value)):
            if _JSON_TYPES.get(type(one)) == field.decoded:
                exact.add((*path, *inner))
                fields.add(path)
    return next((found.pop() for found in (exact, fields) if len(found) == 1), None)


def _fields(parts: tuple[str, ...], value: Any, *, inside: bool) -> Iterator[tuple[Path, Any]]:
    """All that names of struct fields lead to: they say nothing of the items of lists and the keys of maps between them."""
    if not parts:
        yield (), value
    elif isinstance(value, dict) and parts[0] in value:
        for path, found in _fields(parts[1:], value[parts[0]], inside=True):
            yield (parts[0], *path), found
    elif inside:
        for step, below in _below(value):
            for path, found in _fields(parts, below, inside=True):
                yield (step, *path), found


def _below(value: Any) -> Iterator[tuple[str | int, Any]]:
    if isinstance(value, dict):
        yield from ((str(key), below) for key, below in value.items())
    elif isinstance(value, list):
        yield from enumerate(value)
