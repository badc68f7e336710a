"""Durations as Go writes them."""

from __future__ import annotations

import pytest

from shunter.api.formats.durations import nanoseconds, option_seconds, seconds
from shunter.errors import InputError


@pytest.mark.parametrize(
    ("text", "expected"),
    [("15s", 15), ("1h30m", 5400), ("1m30.5s", 90.5), (".5h", 1800), ("1500ms", 1.5), ("250us", 250e-6), ("0s", 0)],
)
def test_a_duration_is_the_sum_of_numbers_with_units(text: str, expected: float) -> None:
    assert seconds(text) == pytest.approx(expected)


@pytest.mark.parametrize("text", ["", "5", "5 minutes", "1d", "1h 30m", "٣s", "-5s", "1m30", "soon"])
def test_a_text_that_is_no_duration_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(InputError, match=f"'{text}' is not a duration") as refusal:
        seconds(text)
    assert refusal.value.remedy == "Write it like 15s or 1m30s."


def test_the_seconds_of_an_option_are_rounded_up_and_none_where_it_is_not_given() -> None:
    assert option_seconds("--grace", "1m30s") == 90
    assert option_seconds("--grace", "1ms") == 1
    assert option_seconds("--grace", "") is None


@pytest.mark.parametrize(("text", "fault"), [("5", "'5' is not a duration"), ("0s", "'0s' is not a positive duration")])
def test_an_option_that_is_no_positive_duration_is_refused_by_its_name(text: str, fault: str) -> None:
    with pytest.raises(InputError, match=f"--grace: {fault}"):
        option_seconds("--grace", text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *(("0", 0), ("-0", 0), ("+1m30s", 90 * 10**9), ("-1.5h", -5400 * 10**9), ("5µs", 5000), ("5μs", 5000)),
        *(("2562047h47m16.854775807s", 2**63 - 1), ("-2562047h47m16.854775808s", -(2**63)), ("1.9999ns", 1)),
    ],
)
def test_signs_and_nothing_without_a_unit_are_read_as_go_reads_them(text: str, expected: int) -> None:
    assert nanoseconds(text) == expected


@pytest.mark.parametrize("text", ["", "+", "--1s", "1", "00", "-5", "1s-1s", "2562047h47m16.854775808s"])
def test_what_go_does_not_read_is_no_signed_duration(text: str) -> None:
    with pytest.raises(InputError, match="is not a duration"):
        nanoseconds(text)
