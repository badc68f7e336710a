"""Completion indexes as Jobs write them."""

from __future__ import annotations

import pytest

from shunter.cluster.apiserver.builtin.job.indexes import IndexesError, parse_indexes


def test_indexes_and_intervals() -> None:
    assert parse_indexes("0,2-5,+7", 10) == [(0, 0), (2, 5), (7, 7)]


@pytest.mark.parametrize("text", ["²", "٣", " 5", "1_0", "9" * 5000, "x"])
def test_only_ascii_digits_are_an_index(text: str) -> None:
    with pytest.raises(IndexesError, match="cannot convert string to integer"):
        parse_indexes(text, 1000)
