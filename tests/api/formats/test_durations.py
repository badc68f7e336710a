"""Durations as Go writes them."""

from __future__ import annotations

import pytest

from shunter.api.formats.durations import seconds
from shunter.errors import InputError


@pytest.mark.parametrize(
    ("text", "expected"),
    [("15s", 15), ("1h30m", 5400), ("1m30.5s", 90.5), (".5h", 1800), ("1500ms", 1.5), ("250us", 250e-6), ("0s", 0)],
)
def test_a_duration_is_the_sum_of_numbers_with_units(text: str, expected: float) -> None:
    assert seconds(text) == pytest.approx(expected)


@pytest.mark.parametrize("text", ["", "5", "5 minutes", "1d", "1h 30m", "-5s", "1m30", "soon"])
def test_a_text_that_is_no_duration_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(InputError, match=f"'{text}' is not a duration") as refusal:
        seconds(text)
    assert refusal.value.remedy == "Write it like 15s or 1m30s."
