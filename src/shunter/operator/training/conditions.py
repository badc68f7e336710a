"""The condition list of a job as upstream keeps it: its order is contract, as the last entry is what `kubectl get` shows."""

from __future__ import annotations

from datetime import datetime

from shunter.api.meta import condition_of, true_condition
from shunter.api.training.job import JobCondition

Conditions = tuple[JobCondition, ...]

_EXCLUDES = {"Running": "Restarting", "Restarting": "Running"}
_ENDS = ("Succeeded", "Failed")


def with_condition(
    conditions: Conditions, type: str, reason: str, message: str, now: datetime, *, status: str = "True"
) -> Conditions:
    """The list with this condition at its end.

    Nothing changes once the job has failed, or when the condition has this status and reason already (its message stays).
    Running and Restarting take each other's place; the end of a job turns Running to False where it stands.
    """
    if true_condition(conditions, "Failed"):
        return conditions
    current = condition_of(conditions, type)
    if current is not None and (current.status, current.reason) == (status, reason):
        return conditions
    changed = current is None or current.status != status
    condition = JobCondition(
        type=type,
        status=status,
        reason=reason,
        message=message,
        last_update_time=now,
        last_transition_time=now if changed or current is None else current.last_transition_time,
    )
    excluded = (type, _EXCLUDES.get(type, type))
    kept = (other for other in conditions if other.type not in excluded)
    return (*(_stopped(other) if type in _ENDS else other for other in kept), condition)


def _stopped(condition: JobCondition) -> JobCondition:
    if condition.type != "Running":
        return condition
    return JobCondition(
        type=condition.type,
        status="False",
        reason=condition.reason,
        message=condition.message,
        last_update_time=condition.last_update_time,
        last_transition_time=condition.last_transition_time,
    )
