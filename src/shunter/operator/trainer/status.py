"""A TrainJob's status from its own spec and its JobSet. Conditions are kept as apimachinery's list of conditions."""

from __future__ import annotations

from datetime import datetime

import msgspec

from shunter.api.jobset import ENDS, ReplicatedJobStatus
from shunter.api.meta import Condition, Json, as_json, condition_json, condition_of, true_condition
from shunter.api.rank_failures import RankFailures
from shunter.api.trainer.trainjob import TrainJobJobStatus, TrainJobStatus
from shunter.operator.trainer.views import LiveJobSet

SUSPENDED, COMPLETE, FAILED = "Suspended", "Complete", "Failed"
DEADLINE_EXCEEDED = "DeadlineExceeded"

Conditions = tuple[Condition, ...]


def is_finished(status: TrainJobStatus) -> bool:
    """Whether the job has ended for good. Any failure but a missed deadline is taken back when its JobSet is made anew."""
    return has_missed_deadline(status) or true_condition(status.conditions, COMPLETE) is not None


def has_missed_deadline(status: TrainJobStatus) -> bool:
    """Whether the job failed because it exceeded its active deadline."""
    failed = true_condition(status.conditions, FAILED)
    return failed is not None and failed.reason == DEADLINE_EXCEEDED


def with_condition(conditions: Conditions, desired: Condition, now: datetime) -> Conditions:
    """The list with this condition in its type's place, or at the end. The transition time stays while the status does; a new
    one is the desired condition's own, or now."""
    current = condition_of(conditions, desired.type)
    if current is not None and current.status == desired.status:
        changed = current.last_transition_time
    else:
        changed = desired.last_transition_time or now
    condition = msgspec.structs.replace(desired, last_transition_time=changed)
    if current is None:
        return (*conditions, condition)
    return tuple(condition if other.type == desired.type else other for other in conditions)


def with_only(conditions: Conditions, type: str, desired: Condition | None, now: datetime) -> Conditions:
    """With the condition of this type if there is one, else without."""
    if desired is not None:
        return with_condition(conditions, desired, now)
    return tuple(condition for condition in conditions if condition.type != type)


def with_suspension(conditions: Conditions, is_suspended: bool, now: datetime, *, waiting: str = "") -> Conditions:
    """Suspended is True while the job is suspended, and False with reason Resumed once it no longer waits for anything."""
    current = condition_of(conditions, SUSPENDED)
    if is_suspended:
        desired = Condition(type=SUSPENDED, status="True", reason="Suspended", message="TrainJob is suspended")
        return with_condition(conditions, desired, now)
    if current is None or not current.is_true:
        return conditions
    if waiting:
        return with_condition(conditions, msgspec.structs.replace(current, message=waiting), now)
    desired = Condition(type=SUSPENDED, status="False", reason="Resumed", message="TrainJob is resumed")
    return with_condition(conditions, desired, now)


def without_retryable_failure(conditions: Conditions) -> Conditions:
    """The list without Failed, unless the job missed its deadline: any other failure must be that of the present JobSet."""
    return tuple(condition for condition in conditions if condition.type != FAILED or condition.reason == DEADLINE_EXCEEDED)


def with_outcome(conditions: Conditions, jobset: LiveJobSet, now: datetime) -> Conditions:
    """The end of the JobSet is the end of the job, in its words and with its time."""
    for type, own in ENDS.items():
        if condition := true_condition(jobset.status.conditions, type):
            conditions = with_condition(conditions, msgspec.structs.replace(condition, type=own), now)
    return conditions


def jobs_status(statuses: tuple[ReplicatedJobStatus, ...]) -> tuple[TrainJobJobStatus, ...]:
    """The JobSet's counters of Jobs, in its order."""
    return tuple(
        TrainJobJobStatus(
            name=status.name,
            ready=status.ready,
            succeeded=status.succeeded,
            failed=status.failed,
            active=status.active,
            suspended=status.suspended,
        )
        for status in statuses
    )


def status_json(status: TrainJobStatus) -> Json:
    """Conditions and counters as they are stored, required fields included; what others write into the status is left out."""
    written: Json = {}
    if status.conditions:
        written["conditions"] = [condition_json(condition) for condition in status.conditions]
    if status.jobs_status:
        written["jobsStatus"] = [
            {field: getattr(entry, field) for field in ("name", "ready", "succeeded", "failed", "active", "suspended")}
            for entry in status.jobs_status
        ]
    return {**written, **failures_json(status.rank_failures)}


def failures_json(record: RankFailures | None) -> Json:
    """The record of what failed as it is stored."""
    return {} if record is None else {"rankFailures": as_json(record)}
