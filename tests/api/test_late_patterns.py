"""Regular expressions that are compiled when they are first asked."""

from __future__ import annotations

import ast
import copy
import re
from pathlib import Path

import pytest

import shunter
from shunter.api.late_patterns import late_pattern

SOURCES = Path(shunter.__file__).parent


def test_it_answers_as_the_compiled_expression_does() -> None:
    late = late_pattern(r"(?P<key>[a-z]+)=(\d+)", re.IGNORECASE)
    compiled = re.compile(r"(?P<key>[a-z]+)=(\d+)", re.IGNORECASE)
    text = "A=1, b=22"

    assert [match.groups() for match in late.finditer(text)] == [match.groups() for match in compiled.finditer(text)]
    assert late.sub(r"\2", text) == compiled.sub(r"\2", text)
    assert (late.pattern, late.flags) == (compiled.pattern, compiled.flags)


def test_a_fault_of_the_expression_is_raised_at_its_first_use() -> None:
    late = late_pattern("(")

    with pytest.raises(re.error):
        late.search("text")


def test_a_copy_answers_alike() -> None:
    assert copy.copy(late_pattern("a+")).fullmatch("aa")


def test_every_expression_of_the_package_that_is_compiled_late_is_one() -> None:
    compiled = 0
    for path in SOURCES.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if "late_pattern(" not in text:
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "late_pattern":
                expression = node.args[0]
                if isinstance(expression, ast.Constant) and isinstance(expression.value, str):
                    re.compile(expression.value)
                    compiled += 1
    assert compiled > 100
