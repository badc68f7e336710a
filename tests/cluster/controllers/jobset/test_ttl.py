"""When a finished JobSet is deleted."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec
import pytest

from shunter.api.jobset import JobSet
from shunter.cluster.controllers.jobset.ttl import remaining

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
ENDED = "2026-11-21T11:59:00Z"


@pytest.mark.parametrize(
    ("ttl", "condition", "status", "seconds"),
    [
        (100, "Completed", "True", 40),
        (100, "Failed", "True", 40),
        (60, "Completed", "True", 0),
        (0, "Failed", "True", -60),
        (100, "Completed", "False", None),
        (100, "Suspended", "True", None),
        (None, "Completed", "True", None),
    ],
)
def test_the_time_counts_from_the_end(ttl: int | None, condition: str, status: str, seconds: float | None) -> None:
    ended = {"type": condition, "status": status, "lastTransitionTime": ENDED, "reason": "R", "message": ""}
    of = {"spec": {"ttlSecondsAfterFinished": ttl}, "status": {"conditions": [ended]}}
    assert remaining(msgspec.convert(of, JobSet), NOW) == seconds
