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


def test_a_percentage_of_thousands_of_digits_is_read_as_go_reads_it() -> None:
    """Go's Atoi fails for it, and the rule about 100% then does not apply."""
    assert share_errors("f", "9" * 5000 + "%") + whole_errors("f", "9" * 5000 + "%") == []
