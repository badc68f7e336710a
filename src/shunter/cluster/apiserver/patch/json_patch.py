"""JSON patch (RFC 6902) with the liberties that kube-apiserver's implementation (evanphx/json-patch v4) takes.

A missing field of an object counts as null: it may be replaced, tested for null and copied. Negative indices count from the end.
`add` and `test` without a value mean null. Only `remove` and `move` insist that a field is there.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from shunter.api.meta import Json
from shunter.cluster.apiserver.patch.errors import FailedTestError, PatchError, inapplicable, malformed

MAX_OPERATIONS = 10_000
Container = dict[str, Any] | list[Any]
_Edit = Callable[[Any, str], None]

_INDEX = re.compile(r"[+-]?\d+\Z")


def apply(document: Json, operations: Any) -> Json:
    """`document` after the operations, which is never changed itself.

    Raises PatchError: 400 for what is no list of operations, 422 when one of them does not apply.
    """
    result: Any = document
    for operation in _checked(operations):
        result = _applied(result, operation)
    if not isinstance(result, dict):
        raise inapplicable("the patched document is no object")
    return result


def _checked(operations: Any) -> list[Json]:
    if operations is None:
        return []
    if not isinstance(operations, list):
        raise malformed(_cannot_decode(operations, "value", "[]handlers.jsonPatchOp"))
    if len(operations) > MAX_OPERATIONS:
        raise PatchError(
            413,
            "RequestEntityTooLarge",
            "Request entity too large: The allowed maximum operations in a JSON patch is "
            f"{MAX_OPERATIONS}, got {len(operations)}",
        )
    checked: list[Json] = [{} if operation is None else operation for operation in operations]
    for operation in checked:
        if not isinstance(operation, dict):
            raise malformed(_cannot_decode(operation, "value", "handlers.jsonPatchOp"))
        for name in ("op", "path", "from"):
            if not isinstance(operation.get(name), str | None):
                raise malformed(_cannot_decode(operation[name], f"struct field jsonPatchOp.{name}", "string"))
    return checked


def _applied(document: Any, operation: Json) -> Any:
    value = operation.get("value")
    match operation.get("op"):
        case "add":
            return _edited(document, _pointer(operation, "path"), _adder(value))
        case "remove":
            return _edited(document, _pointer(operation, "path"), _remove)
        case "replace":
            if operation.get("path") == "":
                return _new_root(value)
            return _edited(document, _pointer(operation, "path"), _replacer(value))
        case "test":
            _test(document, operation, value)
            return document
        case "copy":
            copied = _value_at(document, _pointer(operation, "from"))
            return _edited(document, _pointer(operation, "path"), _adder(copied))
        case "move":
            source = _pointer(operation, "from")
            moved = _value_at(document, source)
            return _edited(_edited(document, source, _remove), _pointer(operation, "path"), _adder(moved))
    raise inapplicable(f"Unexpected kind: {operation.get('op') or 'unknown'}")


def _pointer(operation: Json, name: str) -> list[str]:
    pointer = operation.get(name)
    if pointer is None:
        raise inapplicable(f"{operation['op']} operation has no {name}")
    tokens = [token.replace("~1", "/").replace("~0", "~") for token in pointer.split("/")[1:]]
    if not tokens:
        raise inapplicable(f"{operation['op']} operation does not apply: doc is missing path: {pointer!r}")
    return tokens


def _edited(document: Any, tokens: list[str], edit: _Edit) -> Any:
    """A copy of `document`, copied only along the path, with the container at its end edited."""
    if not isinstance(document, dict | list):
        raise inapplicable(f"doc is missing path: {'/'.join(tokens)}")
    result = document.copy()
    token, *rest = tokens
    if not rest:
        edit(result, token)
        return result
    child = _edited(_get(document, token), rest, edit)
    if isinstance(result, list):
        result[_index(token, len(result))] = child
    else:
        result[token] = child
    return result


def _value_at(document: Any, tokens: list[str]) -> Any:
    for token in tokens:
        if not isinstance(document, dict | list):
            raise inapplicable(f"doc is missing path: {'/'.join(tokens)}")
        document = _get(document, token)
    return document


def _get(container: Container, token: str) -> Any:
    if isinstance(container, dict):
        return container.get(token)
    return container[_index(token, len(container))]


def _index(token: str, length: int) -> int:
    """The position of an existing item, or with the length one greater, of a new one."""
    if not _INDEX.match(token):
        raise inapplicable(f"value was not a proper array index: '{token}'")
    index = int(token)
    if not -length <= index < length:
        raise inapplicable(f"Unable to access invalid index: {index}")
    return index + length if index < 0 else index


def _adder(value: Any) -> _Edit:
    def add(container: Any, token: str) -> None:
        if isinstance(container, dict):
            container[token] = value
        elif token == "-":
            container.append(value)
        else:
            container.insert(_index(token, len(container) + 1), value)

    return add


def _replacer(value: Any) -> _Edit:
    def replace(container: Any, token: str) -> None:
        container[token if isinstance(container, dict) else _index(token, len(container))] = value

    return replace


def _remove(container: Any, token: str) -> None:
    if isinstance(container, list):
        del container[_index(token, len(container))]
    elif token in container:
        del container[token]
    else:
        raise inapplicable(f"Unable to remove nonexistent key: {token}")


def _new_root(value: Any) -> Any:
    if not isinstance(value, dict | list):
        raise inapplicable("replace operation value must be object or array")
    return value


def _test(document: Any, operation: Json, value: Any) -> None:
    path = operation.get("path")
    found = document if path == "" else _value_at(document, _pointer(operation, "path"))
    if not _equal(found, value):
        raise inapplicable(f"testing value {path} failed", FailedTestError)


def _equal(left: Any, right: Any) -> bool:
    """JSON equality: unlike Python's it tells true from 1 and 1 from 1.0."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_equal(value, right[name]) for name, value in left.items())
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_equal, left, right))
    return type(left) is type(right) and bool(left == right)


def _cannot_decode(value: Any, place: str, expected: str) -> str:
    return f"error decoding patch: json: cannot unmarshal {_json_type(value)} into Go {place} of type {expected}"


def _json_type(value: Any) -> str:
    match value:
        case bool():
            return "bool"
        case int() | float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
    return "object"
