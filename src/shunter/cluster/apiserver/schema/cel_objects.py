"""Objects and JSON patches that expressions of mutations make: `Object{spec: Object.spec{replicas: 1}}`, `JSONPatch{op: 'add'}`.

The library makes only messages that it knows, so it gets maps instead, in which TYPE is the name of the type; what it returns is
made JSON of here. Source: k8s.io/apiserver 1.36 `cel/mutation`.
"""

from __future__ import annotations

import base64
import functools
from collections.abc import Sequence
from typing import Any, Final

from shunter.cluster.apiserver.schema.typecheck.syntax import Token, UnreadableError, tokens

TYPE: Final = "kubernetes.type"
_ROOTS = ("Object", "JSONPatch")
_CLOSING = {"{": "}", "[": "]", "(": ")"}


class WrongTypeError(ValueError):
    """An object whose type is not that of the field it is in."""


@functools.lru_cache(maxsize=256)
def with_maps(expression: str) -> str:
    """The expression for the library."""
    try:
        found = tokens(expression)
    except UnreadableError:
        return expression
    pieces, end, open_brackets = [], 0, [""]
    for index, token in enumerate(found):
        replaced, start = "", token.at
        if token.text == "{" and (first := _type_start(found, index)) is not None:
            name = "".join(one.text for one in found[first:index])
            replaced, start = f"{{'{TYPE}': '{name}'" + (", " if found[index + 1].text != "}" else ""), found[first].at
            pieces.append(expression[end:start] + replaced)
            open_brackets.append("message")
        elif token.kind == "sign" and token.text in _CLOSING:
            open_brackets.append(token.text)
        elif token.kind == "sign" and token.text in _CLOSING.values():
            open_brackets.pop()
        elif open_brackets[-1] == "message" and _is_field(found, index):
            pieces.append(f"{expression[end:start]}'{token.text.strip('`')}'")
        else:
            continue
        if replaced or token.kind != "sign":
            end = token.at + len(token.text)
    return "".join(pieces) + expression[end:]


def _type_start(found: Sequence[Token], brace: int) -> int | None:
    """Where the name of the type before a brace begins, if it is one of ours."""
    first = brace
    while first >= 1 and found[first - 1].kind == "name" and (first == brace or found[first].text == "."):
        first -= 1
        if first >= 1 and found[first - 1].text == ".":
            first -= 1
        else:
            break
    return first if first < brace and found[first].text in _ROOTS else None


def _is_field(found: Sequence[Token], index: int) -> bool:
    before = found[index - 1] if found[index - 1].text != "?" else found[index - 2]
    return found[index].kind in ("name", "escaped") and found[index + 1].text == ":" and before.text in ("{", ",")


def as_json(value: Any, path: str = "Object") -> Any:
    """A value that such an expression returned, as JSON. Raises WrongTypeError where an object in it is not of the type that
    its place has, from the root at `path`."""
    if isinstance(value, dict):
        kind = value.get(TYPE)
        if kind is None:
            return {name: as_json(item, path) for name, item in value.items()}
        if kind != path:
            text = f'unexpected type name "{kind}", expected "{path}", which matches field name path from root Object type'
            raise WrongTypeError(text)
        return {name: as_json(item, f"{path}.{name}") for name, item in value.items() if name != TYPE}
    if isinstance(value, list):
        return [as_json(item, path) for item in value]
    if isinstance(value, bytes | bytearray):
        return base64.b64encode(value).decode()
    return value.ToJsonString() if hasattr(value, "ToJsonString") else getattr(value, "value", value)
