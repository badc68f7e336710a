"""The times before the lines of logs."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from shunter.jobs.logs.metrics import timed
from shunter.kube.pods.log_times import split_time, time_key, time_of


def test_times_are_ordered_whatever_they_look_like() -> None:
    times = ["2026-01-01T00:00:00Z", "2026-01-01T00:00:00.1Z", "2026-01-01T01:00:00.100000001+01:00", "2026-01-01T00:00:00.11Z"]
    keys = [time_key(time) for time in times]
    assert None not in keys
    assert keys == sorted(keys)  # type: ignore[type-var]


@pytest.mark.parametrize(
    ("text", "second", "microsecond"),
    [("2026-11-25T20:00:07Z", 7, 0), ("2026-11-25T20:00:07.123456789Z", 7, 123456), ("2026-11-25T21:00:07.5+01:00", 7, 500000)],
)
def test_a_time_is_read_with_and_without_fractions(text: str, second: int, microsecond: int) -> None:
    assert time_of(text) == datetime(2026, 11, 25, 20, 0, second, microsecond, UTC)


@pytest.mark.parametrize(
    "text",
    ["unable", "2026-13-01T00:00:00Z", "2026-02-30T00:00:00Z", "0001-01-01T00:00:00+23:00", "2026-01-01T00:00:00+99:00", ""],
)
def test_what_only_looks_like_a_time_is_none(text: str) -> None:
    assert time_key(text) is None
    assert time_of(text) is None
    assert split_time(f"{text} loss=1") == ("", f"{text} loss=1")
    assert timed(f"{text} loss=1") == (None, f"{text} loss=1")


@pytest.mark.parametrize("line", ["2026-11-25T20:00:07Z", "2026-11-25T20:00:07Z "])
def test_an_empty_line_has_its_time(line: str) -> None:
    assert split_time(line) == ("2026-11-25T20:00:07Z", "")
    assert timed(line) == (datetime(2026, 11, 25, 20, 0, 7, tzinfo=UTC), "")
