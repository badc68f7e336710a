"""Numbers of things in words."""

from __future__ import annotations

import pytest

from shunter.api.formats.counts import count, joined, listed, noun


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (count(0, "node"), "0 nodes"),
        (count(1, "node"), "1 node"),
        (count(2, "node"), "2 nodes"),
        (count(1234, "file"), "1,234 files"),
        (count(1, "process", "processes"), "1 process"),
        (count(2, "process", "processes"), "2 processes"),
        (noun(1, "pod"), "pod"),
        (noun(3, "pod"), "pods"),
    ],
)
def test_one_thing_is_singular(words: str, expected: str) -> None:
    assert words == expected


@pytest.mark.parametrize(
    ("names", "most", "expected"),
    [
        ([], 3, ""),
        (["a"], 3, "a"),
        (["a", "b", "c"], 3, "a, b, c"),
        (["a", "b", "c", "d", "e"], 3, "a, b, c and 2 more"),
        (["a", "b"], 1, "a and 1 more"),
    ],
)
def test_names_are_listed_up_to_a_number(names: list[str], most: int, expected: str) -> None:
    assert listed(names, most) == expected


@pytest.mark.parametrize(("names", "expected"), [(["a"], "a"), (["a", "b"], "a and b"), (["a", "b", "c"], "a, b and c")])
def test_names_are_joined_as_in_a_sentence(names: list[str], expected: str) -> None:
    assert joined(names) == expected
