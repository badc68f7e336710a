"""ttlSecondsAfterFinished: a finished job is deleted, and its pods and services with it, when its time is over."""

from __future__ import annotations

from datetime import datetime, timedelta

from shunter.api.meta import true_condition
from shunter.operator.training.job import AnyJob


def remaining(job: AnyJob, now: datetime) -> float | None:
    """Seconds until the finished job is to be deleted, 0 or less when it is time; None without a time to live or when suspended.

    A finished job without a completion time (its status was written by hand, or by upstream) counts from its last condition.
    """
    seconds = job.run_policy.ttl_seconds_after_finished
    if seconds is None or job.run_policy.suspend:
        return None
    finished = job.status.completion_time
    if finished is None:
        end = true_condition(job.status.conditions, "Failed") or true_condition(job.status.conditions, "Succeeded")
        finished = (end.last_transition_time if end else None) or now
    return (finished + timedelta(seconds=seconds) - now).total_seconds()
