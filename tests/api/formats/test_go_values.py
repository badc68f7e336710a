"""Values in the words of Go's `fmt`."""

from __future__ import annotations

from typing import Any

import pytest

from shunter.api.formats.go_values import go_quoted, go_syntax, go_type, go_value


@pytest.mark.parametrize(
    ("value", "type_", "plain", "syntax"),
    [
        (None, "%!s(<nil>)", "<nil>", "<nil>"),
        (True, "bool", "true", "true"),
        ('a "b"\\', "string", 'a "b"\\', '"a \\"b\\"\\\\"'),
        (7, "int64", "7", "7"),
        (1.5, "float64", "1.5", "1.5"),
        ([1, "a"], "[]interface {}", "[1 a]", '[]interface {}{1, "a"}'),
        (
            {"b": 1, "a": {"c": False}},
            "map[string]interface {}",
            "map[a:map[c:false] b:1]",
            'map[string]interface {}{"a":map[string]interface {}{"c":false}, "b":1}',
        ),
    ],
)
def test_a_value_is_written_as_go_writes_it(value: Any, type_: str, plain: str, syntax: str) -> None:
    assert (go_type(value), go_value(value), go_syntax(value)) == (type_, plain, syntax)


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("plain é \U0001f600", '"plain é \U0001f600"'),
        ('a"b\\', '"a\\"b\\\\"'),
        ("\a\b\f\n\r\t\v", r'"\a\b\f\n\r\t\v"'),
        ("\x00\x1b\x7f", r'"\x00\x1b\x7f"'),
        ("\xa0\u2028\U000e0001", r'"\u00a0\u2028\U000e0001"'),
    ],
    ids=["printable", "quote and backslash", "named", "ASCII", "beyond"],
)
def test_a_text_is_quoted_as_go_quotes_it(text: str, quoted: str) -> None:
    assert go_quoted(text) == quoted
