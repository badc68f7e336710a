"""JSON values in the words of Go's `fmt`, for messages that Kubernetes writes with `%v`, `%T` and `%#v`. Pure."""

from __future__ import annotations

from typing import Any


def go_type(value: Any) -> str:
    """A type as `%T` names it."""
    match value:
        case None:
            return "%!s(<nil>)"
        case bool():
            return "bool"
        case str():
            return "string"
        case int():
            return "int64"
        case float():
            return "float64"
        case list():
            return "[]interface {}"
    return "map[string]interface {}"


def go_value(value: Any) -> str:
    """A value as `%v` prints it."""
    match value:
        case None:
            return "<nil>"
        case bool():
            return "true" if value else "false"
        case dict():
            return "map[" + " ".join(f"{name}:{go_value(value[name])}" for name in sorted(value)) + "]"
        case list():
            return "[" + " ".join(map(go_value, value)) + "]"
    return str(value)


def go_syntax(value: Any) -> str:
    """A value as `%#v` prints it."""
    match value:
        case str():
            return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
        case dict():
            return "map[string]interface {}{" + ", ".join(f'"{name}":{go_syntax(value[name])}' for name in sorted(value)) + "}"
        case list():
            return "[]interface {}{" + ", ".join(map(go_syntax, value)) + "}"
    return go_value(value)
