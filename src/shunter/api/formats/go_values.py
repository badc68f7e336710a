"""JSON values in the words of Go's `fmt`, for messages that Kubernetes writes with `%v`, `%T`, `%q` and `%#v`. Pure."""

from __future__ import annotations

from typing import Any, Final

_ESCAPES: Final = {'"': '\\"', "\\": "\\\\"} | dict(zip("\a\b\t\n\v\f\r", (rf"\{letter}" for letter in "abtnvfr"), strict=True))


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
            return go_quoted(value)
        case dict():
            parts = (f"{go_quoted(name)}:{go_syntax(value[name])}" for name in sorted(value))
            return f"map[string]interface {{}}{{{', '.join(parts)}}}"
        case list():
            return "[]interface {}{" + ", ".join(map(go_syntax, value)) + "}"
    return go_value(value)


def go_quoted(text: str) -> str:
    """A text as `%q` prints it, and `strconv.Quote`."""
    return f'"{"".join(map(_escaped, text))}"'


def _escaped(letter: str) -> str:
    if letter in _ESCAPES or letter.isprintable():
        return _ESCAPES.get(letter, letter)
    code = ord(letter)
    return f"\\x{code:02x}" if code < 128 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
