"""When an event last occurred, and how often."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from shunter.api.meta import EPOCH, Json
from shunter.operator.causes.events import event_count, event_time


def at(hour: int) -> str:
    return f"2026-11-21T{hour:02}:00:00Z"


@pytest.mark.parametrize(
    ("event", "hour"),
    [
        ({"firstTimestamp": at(1), "lastTimestamp": at(2)}, 2),
        ({"eventTime": at(3), "firstTimestamp": None, "lastTimestamp": None}, 3),
        ({"eventTime": at(3), "series": {"count": 4, "lastObservedTime": at(5)}}, 5),
        ({"firstTimestamp": at(1)}, 1),
        ({"metadata": {"creationTimestamp": at(6)}}, 6),
    ],
    ids=["of core/v1", "of events.k8s.io", "a series", "once", "without a time of its own"],
)
def test_an_event_counts_at_its_last_time(event: Json, hour: int) -> None:
    assert event_time(event) == datetime(2026, 11, 21, hour, tzinfo=UTC)


def test_an_event_without_any_time_is_old() -> None:
    assert event_time({}) == event_time({"lastTimestamp": None, "metadata": {}}) == EPOCH


@pytest.mark.parametrize(
    ("event", "count"), [({}, 1), ({"count": 0}, 1), ({"count": 3}, 3), ({"count": None, "series": {"count": 7}}, 7)]
)
def test_both_forms_of_an_event_are_counted(event: Json, count: int) -> None:
    assert event_count(event) == count
