"""activeDeadlineSeconds: counted from creation, or from the last resume; a suspended or finished job has no deadline."""

from __future__ import annotations

from datetime import datetime

from shunter.api.meta import Condition, condition_of
from shunter.api.trainer.trainjob import TrainJob
from shunter.operator.trainer.status import DEADLINE_EXCEEDED, FAILED, SUSPENDED, Conditions

EXCEEDED = Condition(type=FAILED, status="True", reason=DEADLINE_EXCEEDED, message="TrainJob exceeded its active deadline")


def remaining(job: TrainJob, conditions: Conditions, now: datetime) -> float | None:
    """Seconds until the deadline, 0 or less when it is over; None without one."""
    seconds = job.spec.active_deadline_seconds
    if not seconds or job.spec.suspend:
        return None
    suspension = condition_of(conditions, SUSPENDED)
    if suspension is not None and suspension.is_true:
        return None  # it is to be resumed, and waits for its pods of before
    start = suspension.last_transition_time if suspension is not None else job.metadata.creation_timestamp
    if start is None:
        return None
    return seconds - (now - start).total_seconds()
