"""ttlSecondsAfterFinished: a finished JobSet is deleted, with all it owns, when its time is over."""

from __future__ import annotations

from datetime import datetime, timedelta

from shunter.api.jobset import JobSet


def remaining(jobset: JobSet, now: datetime) -> float | None:
    """Seconds until the finished JobSet is deleted, 0 or less when it is due; None without a ttl."""
    ttl = jobset.spec.ttl_seconds_after_finished
    ended = next(
        (c.last_transition_time for c in jobset.status.conditions if c.type in ("Completed", "Failed") and c.is_true), None
    )
    if ttl is None or ended is None:
        return None
    return (ended + timedelta(seconds=ttl) - now).total_seconds()
