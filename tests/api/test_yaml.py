"""The dialect against kubectl's own reading, text by text, and what is written against three readers."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from shunter.api.yaml import LenientLoader, dump_yaml, load_yaml, readable_yaml

pytestmark = pytest.mark.integration

KUBECTL = Path(sys.executable).with_name("kubectl")
WORDS = tuple(
    """
    y n Y N yes No on OFF true True tRUE null Null ~ 12:30 12:30:00 1e3 1e-3 1E5 1.e3 .5 5. +.5 0o17 017 08 09.5 0x1F 0b11 0b12
    -0x1F 1_000 1_0.5 _1 0x_f = << 2001-01-01 2001-12-14t21:59:43.10-05:00 1e400 99999999999999999999 18446744073709551615
    9223372036854775807 9223372036854775808 -9223372036854775809 0.1e+2 1e+ +1 -1 + . ... 0 00 0o 0o8 0x 1:2 1__0 0_ -_1 .1_0
    +12:30 1e 685.230_15e+03 190:20:30.15 0b1010_0111 +0o7 -0 1.0 1E+2 0x7fffffffffffffffff infinity NaN inf 0e0 -.5e1 .e3
    .1_ ._1 -._1 -.1_ .1__0 .1_0e1 0123.5 1p3 0x1p3 1f nO nUll -~ .inF
    """.split()  # noqa: SIM905
)
DOCUMENTS = [
    pytest.param("1: a\n1.5: b\n1e3: c\n0x10: d\n010: e\n12:30: f\n=: g", id="keys that are numbers"),
    pytest.param("a: &x {b: 1}\nc: {<<: *x, d: 2}", id="a merge key"),
    pytest.param("a: &x {b: 1}\nc: {<<: *x, b: 3}", id="a key that overrides a merged one"),
    pytest.param("a: &x {b: 1}\nc: {b: 3, <<: *x}", id="a merge key that overrides a key before it"),
    pytest.param("a: &x {b: 1}\ne: &y {b: 2, f: 2}\nc: {<<: [*x, *y]}", id="two mappings merged"),
    pytest.param('a: !!str 12\nb: !!int "3"\nc: !!float 3\nd: !!timestamp 2001-01-01\ne: !!bool y', id="tags"),
    pytest.param("a:\nb: ''\nc: |\n  y\nd: 'n'\ne: \"1e3\"", id="quoted text and blocks"),
]


def kubectl_reads(value: str) -> Any:
    """What kubectl makes of a value in YAML, as JSON."""
    indented = "".join(f"  {line}\n" for line in value.splitlines())
    manifest = f"apiVersion: example.com/v1\nkind: Thing\nmetadata: {{name: a}}\nspec:\n{indented}"
    command = [str(KUBECTL), "annotate", "--local", "-o", "json", "-f", "-", "a=b"]
    answer = subprocess.run(command, input=manifest, capture_output=True, text=True, check=True, timeout=60)
    return json.loads(answer.stdout)["spec"]


def kubectl_numbers(value: str) -> list[int | float]:
    """Its numbers, integers where a server takes them for such: within 64 bits."""
    return [float(one) if isinstance(one, int) and not -(2**63) <= one < 2**63 else one for one in kubectl_reads(value)]


def as_json(value: Any) -> Any:
    """With numbers as they are compared: 1000.0 is 1000."""
    return json.loads(json.dumps(value), parse_int=float)


def test_every_word_means_what_it_means_to_kubectl() -> None:
    assert as_json(load_yaml("\n".join(f"- {word}" for word in WORDS))) == as_json(
        kubectl_reads("\n".join(f"- {word}" for word in WORDS))
    )


@pytest.mark.parametrize(
    "word", ["3.0", "3e0", "1E+2", "-2.", "0.0", "1e18", "!!float 3", "3.5", "1e-3", "1e19", "9223372036854775808"]
)
def test_whole_numbers_are_integers_as_kubectl_sends_them(word: str) -> None:
    text = f"- {word}"
    assert [(type(one), one) for one in load_yaml(text)] == [(type(one), one) for one in kubectl_numbers(text)]


@given(st.lists(st.text("yYnNoOefFtTrRuUsSlL0123456789abx_.:+-=~<EIi", min_size=1, max_size=6), min_size=1, max_size=60))
@settings(max_examples=40, deadline=None)
def test_any_word_means_what_it_means_to_kubectl(words: list[str]) -> None:
    plain = [word for word in words if word[-1] != ":" and not (set(word) == {"-"} or word in (".inf", "-.inf", "+.inf", ".nan"))]
    plain = [
        word
        for word in plain
        if not word.lower().lstrip("+-").startswith((".inf", ".nan")) and word[0] != "<" and ": " not in word
    ]
    text = "\n".join(f"- {word}" for word in ["a", *plain])
    assert as_json(load_yaml(text)) == as_json(kubectl_reads(text))


@pytest.mark.parametrize("text", DOCUMENTS)
def test_a_document_means_what_it_means_to_kubectl(text: str) -> None:
    assert as_json(load_yaml(text)) == as_json(kubectl_reads(text))


@pytest.mark.parametrize(("word", "is_right"), [(".inf", math.isinf), ("-.INF", math.isinf), (".NaN", math.isnan)])
def test_numbers_without_end_are_numbers(word: str, is_right: Any) -> None:
    assert is_right(load_yaml(word))


@pytest.mark.parametrize("text", ["a: 1\na: 2", "a: &x {b: 1}\nc: {<<: *x, d: 1, d: 2}"])
def test_a_key_that_stands_twice_is_refused_and_kubectl_keeps_the_last(text: str) -> None:
    with pytest.raises(yaml.YAMLError, match="is duplicated in one object"):
        load_yaml(text)
    assert as_json(yaml.load(text, LenientLoader)) == as_json(kubectl_reads(text))


@pytest.mark.parametrize(
    "text", ["!!int x", "!!bool maybe", "!!float x", "{<<: 3}", "? [a]\n: b", "&a {<<: *a}", "x: &a {<<: [*a], c: 1}"]
)
def test_what_is_wrong_is_a_yaml_error(text: str) -> None:
    for read in (load_yaml, lambda text: yaml.load(text, LenientLoader)):
        with pytest.raises(yaml.YAMLError):
            read(text)


@given(st.lists(st.sampled_from(WORDS) | st.text("yn0o1e:=.-_+ x#'\"\n", max_size=6), min_size=1, max_size=40))
@settings(max_examples=40, deadline=None)
def test_text_that_is_written_is_text_for_every_reader(texts: list[str]) -> None:
    for written in (dump_yaml(texts), readable_yaml(texts)):
        assert load_yaml(written) == texts
        assert yaml.safe_load(written) == texts
        assert kubectl_reads(written) == texts


@pytest.mark.slow
@given(
    st.recursive(st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | st.text(), st.lists)
)
@settings(max_examples=200, deadline=None)
def test_a_value_that_is_written_is_read_back(value: Any) -> None:
    assert load_yaml(dump_yaml({"a": value})) == {"a": value}


def test_an_alias_is_the_very_object_that_it_stands_for() -> None:
    found = load_yaml("first: &both {names: [a, b]}\nsecond: *both\n")

    assert found["second"] is found["first"]
    assert found["second"] == {"names": ["a", "b"]}


def test_an_alias_may_stand_within_what_it_stands_for() -> None:
    found = load_yaml("&whole {name: a, within: [*whole]}")

    assert found["within"][0] is found


def test_collections_of_other_kinds_hold_whole_mappings() -> None:
    assert load_yaml("!!pairs [a: {b: [1, {c: d}]}]") == [("a", {"b": [1, {"c": "d"}]})]


def test_a_mapping_that_is_called_text_is_refused() -> None:
    with pytest.raises(yaml.YAMLError):
        load_yaml("? !!str {a: b}\n: c\n")
