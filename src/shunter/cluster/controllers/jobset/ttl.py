"""ttlSecondsAfterFinished: a finished JobSet is deleted, with all it owns, when its time is over."""

from __future__ import annotations

from datetime import datetime, timedelta

from shunter.api.jobset import JobSet, end_of


def remaining(jobset: JobSet, now: datetime) -> float | None:
    """Seconds until the finished JobSet is deleted, 0 or less when it is due; None without a ttl."""
    ttl, end = jobset.spec.ttl_seconds_after_finished, end_of(jobset.status.conditions)
    if ttl is None or end is None or end.last_transition_time is None:
        return None
    return (end.last_transition_time + timedelta(seconds=ttl) - now).total_seconds()
