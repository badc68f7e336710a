"""Text of single values: what PyYAML and kubectl (YAML 1.1 with Go's numbers) read in it is the value again."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from shunter.api.yaml import LenientLoader, load_yaml
from shunter.migrate.conversion.emit.scalars import block, inline, inline_in_flow, is_ambiguous, lifted, same

TEXTS = st.one_of(
    st.text(max_size=12), st.text("01579.eE+-_xXobaFf:~TZinNyY<= ", max_size=8), st.text("a \n\t#:-[{'\"|>", max_size=9)
)


def node(text: str) -> yaml.ScalarNode:
    whole = yaml.compose(text, Loader=LenientLoader)
    assert isinstance(whole, yaml.MappingNode)
    value = whole.value[0][1]
    assert isinstance(value, yaml.ScalarNode)
    return value


@settings(max_examples=300, derandomize=True, database=None)
@given(TEXTS)
def test_both_readers_take_what_is_written_for_the_same_text(value: str) -> None:
    value = value.encode("utf-8", "ignore").decode()
    for read in (yaml.safe_load, load_yaml):
        assert read(f"k: {inline(value)}\n") == {"k": value}
        assert read(f"k: [x, {inline_in_flow(value)}, z]\n") == {"k": ["x", value, "z"]}
        if (lines := block(value, 2)) is not None:
            assert read("k: " + "\n".join(lines) + "\n") == {"k": value}


@pytest.mark.parametrize(
    "text",
    [
        *("", "y", "No", "on", "~", "null", "=", "<<", "---"),
        *(
            "12:30",
            "1e3",
            "1_000",
            "0o17",
            "017",
            "0x1F",
            "2026-01-01",
            "1.5",
            ".5",
            "-.5",
            "+.5",
            "-.5e3",
            "-._5",
            "+1",
            ".inf",
            "-.inf",
            ".nan",
        ),
    ],
)
def test_text_that_some_reader_takes_for_something_else_is_quoted(text: str) -> None:
    assert inline(text)[0] in "\"'"
    assert is_ambiguous(node(f"k: {text}")) == (node(f"k: {text}").tag == "tag:yaml.org,2002:str" and text != "")


@pytest.mark.parametrize(
    "text", ["train.py", "--lr=1e-3", "/data", "$(NODES)", "a:b", "nginx:1.27", "1.2.3-rc.1", "-m", "torch==2.9"]
)
def test_text_that_every_reader_takes_for_text_is_not_quoted(text: str) -> None:
    assert inline(text) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        (0, "0"),
        (-1, "-1"),
        (1.5, "1.5"),
        (1e16, "1.0e+16"),
        (1e-7, "1.0e-07"),
        ([], "[]"),
        ({}, "{}"),
    ],
)
def test_other_values_are_written_so_that_they_keep_their_type(value: Any, text: str) -> None:
    assert inline(value) == text
    assert same(yaml.safe_load(text), value)


@pytest.mark.parametrize(
    ("left", "right", "is_same"),
    [
        pytest.param(1, True, False, id="one is not true"),
        pytest.param(1, 1.0, False, id="an integer is no float"),
        pytest.param({"a": [0]}, {"a": [False]}, False, id="within a list of a mapping"),
        pytest.param({"a": 1, "b": 2}, {"b": 2, "a": 1}, True, id="in another order"),
        pytest.param([1, 2], [2, 1], False, id="a list in another order"),
        pytest.param(None, "", False, id="null is no text"),
    ],
)
def test_values_are_the_same_only_with_their_types(left: Any, right: Any, is_same: bool) -> None:
    assert same(left, right) == is_same


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        pytest.param("k: 'it''s'", ["'it''s'"], id="its quotes"),
        pytest.param('k: "a\\tb"', ['"a\\tb"'], id="its escapes"),
        pytest.param("k: |\n  a\n    b\n", ["|", "    a", "      b"], id="a block at another indentation"),
        pytest.param("k: |2\n    a\n", None, id="a block that says its indentation"),
        pytest.param("k: !!str 5", None, id="a tag"),
        pytest.param("k: 12:30", None, id="a text that YAML 1.1 takes for a number"),
    ],
)
def test_text_is_lifted_only_where_it_says_the_value_by_itself(text: str, lines: list[str] | None) -> None:
    assert lifted(node(text), text, 4) == lines
