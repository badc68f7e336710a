"""The field that a rule says its fault is at: `.spec.name`, `.labels['app']`. A field of a list's items cannot be named.

Source: apiextensions-apiserver 1.36 `apiserver/schema/cel/validation.go`.
"""

from __future__ import annotations

from shunter.api.late_patterns import late_pattern
from shunter.api.meta import Json

_TOKEN = late_pattern(r"'(?:[^'\\]|\\.)*'|[.\[\]]|[^.\[\]'][^.\[\]]*")
_ESCAPE = late_pattern(r"\\(.)")
_ESCAPED = "abfnrtv'\\"


def is_field_path(path: str, schema: Json) -> bool:
    """Whether the path leads to a field that is declared below the schema."""
    tokens = _TOKEN.findall(path)
    if "".join(tokens) != path:
        return False
    while tokens:
        if tokens[0] == "[":
            if len(tokens) < 3 or tokens[2] != "]" or not _is_quoted(tokens[1]):
                return False
            name, tokens = _ESCAPE.sub(r"\1", tokens[1][1:-1]), tokens[3:]
        elif tokens[0] == "." and len(tokens) > 1:
            name, tokens = tokens[1], tokens[2:]
        else:
            return False
        inner = _below(schema, name)
        if inner is None:
            return False
        schema = inner
    return True


def _is_quoted(token: str) -> bool:
    return len(token) > 1 and token[0] == token[-1] == "'" and all(letter in _ESCAPED for letter in _ESCAPE.findall(token))


def _below(schema: Json, name: str) -> Json | None:
    if "properties" in schema:
        found: Json | None = schema["properties"].get(name)
        return found
    further = schema.get("additionalProperties")
    return further if isinstance(further, dict) else None
