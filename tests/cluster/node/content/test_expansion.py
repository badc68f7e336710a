"""Which variables a text refers to, and what takes their place."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shunter.cluster.node.content.expansion import expand, literal, variable_references


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("$(A)-$(A)", "1-1", id="every-reference"),
        pytest.param("$(B)", "$(B)", id="unknown-stays"),
        pytest.param("$$(A)", "$(A)", id="escaped"),
        pytest.param("$$$(A)", "$1", id="escaped-dollar-then-reference"),
        pytest.param("$A ${A} $", "$A ${A} $", id="shell-syntax-is-the-shells"),
    ],
)
def test_references(text: str, expected: str) -> None:
    assert expand(text, {"A": "1"}) == expected


@pytest.mark.parametrize("text", ["$HOME", "$", "$$", "$$$", "$(A)", "$$(A)", "$$$(A) $(", "$$x", "$($(A))", "a"])
def test_a_literal_is_expanded_to_itself(text: str) -> None:
    assert expand(literal(text), {"A": "1"}) == text


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("$(A)/$(b-2.c)/$(A)", ["A", "b-2.c", "A"]),
        ("$$(A)", []),
        ("$$$(A)", ["A"]),
        ("$(date +$(A))", []),
        ("$() $(A", []),
    ],
    ids=["in their order", "escaped", "after an escaped sign", "within what is no name", "without an end"],
)
def test_a_text_refers_to_what_is_replaced_in_it(text: str, names: list[str]) -> None:
    assert [one.name for one in variable_references(text)] == names
    assert [text[one.start : one.end] for one in variable_references(text)] == [f"$({name})" for name in names]
    assert (expand(text, dict.fromkeys(names, "x")) != expand(text, {})) == bool(names)


def test_a_literal_that_no_kubelet_would_change_stays_readable() -> None:
    assert literal("$HOME ${x} $") == "$HOME ${x} $"


@given(
    st.text("$()AB x", max_size=20),
    st.dictionaries(st.sampled_from(["A", "B", "AB", ""]), st.text("$()AB1", max_size=6), max_size=4),
)
def test_references_are_replaced_from_left_to_right_and_never_twice(text: str, variables: dict[str, str]) -> None:
    by_hand, at = "", 0
    while at < len(text):
        end = text.find(")", at)
        if text.startswith("$$", at):
            by_hand, at = f"{by_hand}$", at + 2
        elif text.startswith("$(", at) and end >= 0:
            name = text[at + 2 : end]
            by_hand, at = by_hand + variables.get(name, f"$({name})"), end + 1
        else:
            by_hand, at = by_hand + text[at], at + 1
    assert expand(text, variables) == by_hand


def test_a_text_that_begins_a_hundred_thousand_references_is_read_in_seconds() -> None:
    """Work that grows with the square would take this test minutes."""
    assert expand("$(A)" + "$(A $$" * 100_000, {"A": "1"}) == "1" + "$(A $" * 100_000
    assert expand("$(A)" + "$(A " * 100_000, {"A": "1"}) == "1" + "$(A " * 100_000
