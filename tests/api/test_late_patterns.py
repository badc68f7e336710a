"""Regular expressions that are compiled when they are first asked."""

from __future__ import annotations

import re

import pytest

from shunter.api.late_patterns import late_pattern


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
