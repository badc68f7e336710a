"""Texts of thousands of equal parts are read as one of them is, each part once."""

from __future__ import annotations

import pytest

from migrate.conversion.rules.test_indirect_reads import converted, shell
from shunter.migrate.conversion.launch.reads import TextLines
from shunter.migrate.conversion.launch.shell_words import matching


@pytest.mark.parametrize(
    ("part", "told"),
    [
        pytest.param("\n", set(), id="empty lines"),
        pytest.param("$(", set(), id="substitutions that are never closed"),
        pytest.param("$((", set(), id="arithmetic that is never closed"),
        pytest.param("${x:-", set(), id="parameters that are never closed"),
        pytest.param("x=1\n", set(), id="assignments"),
        pytest.param("cd a\n", set(), id="directories within directories"),
        pytest.param("env|", set(), id="a pipe"),
        pytest.param("cat < /etc/issue\n", set(), id="redirections"),
        pytest.param("echo $HOSTNAME ", {"HOST010"}, id="the host name in one line"),
        pytest.param("kubectl ", {"HOST012"}, id="requests in one line"),
        pytest.param("bert-worker-0 ", {"HOST003"}, id="names of pods in one line"),
        pytest.param("kubectl logs bert-worker-0; ping bert-worker-0; ", {"HOST003", "HOST015"}, id="both"),
    ],
)
def test_a_thousand_parts_are_told_of_as_one_is(part: str, told: set[str]) -> None:
    of_one, of_many = ({one.topic.id for one in converted(shell(part * count)).findings} for count in (1, 1500))
    assert told <= of_one
    assert {name for name in of_many if name.startswith("HOST")} == told


@pytest.mark.parametrize(
    ("text", "behind"),
    [
        ("(a (b) (c))d", "d"),
        ("(a ')' b)d", "d"),
        ('(a ")" b)d', "d"),
        ("(a \\) b)d", "d"),
        ("(a (b)", ""),
        ("(((((", ""),
    ],
    ids=["brackets within", "an apostrophe", "quotes", "an escape", "open", "open within open"],
)
def test_a_bracket_closes_where_those_within_it_are_closed(text: str, behind: str) -> None:
    assert text[matching(text, 0, len(text)) :] == behind
    assert matching(text, 0, 2) == 2, "what ends before it is open"


def test_a_quote_may_hold_the_brackets_of_another_one() -> None:
    text = '$(a "$(b ")" c) d") e'
    ends = [matching(text, place, len(text)) for place, character in enumerate(text) if character == "("]
    assert [text[:end] for end in ends] == ['$(a "$(b ")', '$(a "$(b ")" c)']


def test_places_of_a_line_share_one_text() -> None:
    lines = TextLines("one two\nthree\n")
    assert lines.around(0, 3) is lines.around(4, 7)
    assert [lines.around(8, 9), lines.around(4, 9), lines.around(14, 14)] == ["three", "one two\nthree", ""]
