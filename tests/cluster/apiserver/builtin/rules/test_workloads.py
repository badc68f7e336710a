"""Counts and percentages of workloads and disruption budgets."""

from __future__ import annotations

import pytest

from shunter.cluster.apiserver.builtin.rules.workloads import share_errors, whole_errors


@pytest.mark.parametrize("value", [0, 200, "0%", "100%"])
def test_counts_and_percentages_up_to_100_pass(value: int | str) -> None:
    assert share_errors("f", value) + whole_errors("f", value) == []


@pytest.mark.parametrize("value", [-1, "5", "²%", "٣%", "101%"])
def test_other_texts_and_more_than_100_percent_are_refused(value: int | str) -> None:
    assert share_errors("f", value) + whole_errors("f", value)


@pytest.mark.parametrize("digits", ["9" * 20, "9" * 5000, "0" * 30 + "101", str(2**63)])
def test_a_percentage_of_many_digits_is_more_than_100(digits: str) -> None:
    """Go's Atoi reads the largest number that it knows."""
    assert share_errors("f", f"{digits}%") == []
    assert ["must not be greater than 100%" in error.body for error in whole_errors("f", f"{digits}%")] == [True]


def test_zeros_in_front_do_not_count() -> None:
    assert whole_errors("f", f"{'0' * 30}100%") == []
