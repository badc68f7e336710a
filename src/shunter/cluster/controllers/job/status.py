"""The status of a Job after a plan, and the events that go with its changes."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

import msgspec

from shunter.api.batch import Job, JobCondition, JobStatus
from shunter.api.core import Pod
from shunter.api.resources import JOBS
from shunter.cluster.controllers.job.tally import Tally
from shunter.cluster.controllers.job.tracking import Settlement
from shunter.cluster.controllers.job.verdict import Verdict
from shunter.kube.controllers.plan import Note, Ref


class Counts(NamedTuple):
    """Pods after the plan's writes."""

    active: int
    ready: int
    terminating: int


def started(status: JobStatus, job: Job, pods: Iterable[Pod], now: datetime) -> JobStatus:
    """With the start time of a Job that runs for the first time. `pods` are its own."""
    if status.start_time is not None or job.spec.suspend:
        return status
    start = now if status.condition("Suspended") else _first_start(job, pods, now)
    return msgspec.structs.replace(status, start_time=start)


def suspended_or_resumed(status: JobStatus, job: Job, now: datetime) -> tuple[JobStatus, tuple[Note, ...]]:
    """With the Suspended condition as the spec has it. Suspending forgets the start time and resuming sets it anew, so that
    the deadline counts active time only."""
    if job.spec.suspend:
        conditions, changed = with_condition(status.conditions, "Suspended", "True", "JobSuspended", "Job suspended", now)
        if not changed:
            return status, ()
        note = Note(regarding=Ref.of(JOBS, job.metadata), type="Normal", reason="Suspended", message="Job suspended")
        return msgspec.structs.replace(status, conditions=conditions, start_time=None), (note,)
    conditions, changed = with_condition(status.conditions, "Suspended", "False", "JobResumed", "Job resumed", now)
    if not changed:
        return status, ()
    note = Note(regarding=Ref.of(JOBS, job.metadata), type="Normal", reason="Resumed", message="Job resumed")
    return msgspec.structs.replace(status, conditions=conditions, start_time=now), (note,)


def counted(status: JobStatus, tally: Tally, settlement: Settlement, counts: Counts) -> JobStatus:
    """With all counters as they are after the plan's writes."""
    status = msgspec.structs.replace(
        status,
        active=counts.active,
        ready=counts.ready,
        terminating=counts.terminating,
        succeeded=settlement.succeeded,
        failed=settlement.failed,
        uncounted_terminated_pods=settlement.uncounted,
    )
    if not tally.job.is_indexed:
        return status
    return msgspec.structs.replace(
        status,
        completed_indexes=str(settlement.completed_indexes),
        failed_indexes=None if tally.failed_indexes is None else str(tally.failed_indexes),
    )


def judged(status: JobStatus, verdict: Verdict, now: datetime) -> JobStatus:
    """With the interim condition of a new verdict."""
    kind = "SuccessCriteriaMet" if verdict.success else "FailureTarget"
    conditions, _ = with_condition(status.conditions, kind, "True", verdict.reason, verdict.message, now)
    return msgspec.structs.replace(status, conditions=conditions)


def finished(
    status: JobStatus, job: Job, pods: Iterable[Pod], verdict: Verdict, now: datetime
) -> tuple[JobStatus, tuple[Note, ...]]:
    """With the terminal condition; nothing touches the Job after it. `pods` are its own: one that was suspended while they
    ended has no start time, which the API server requires of what has finished."""
    ref = Ref.of(JOBS, job.metadata)
    if status.start_time is None and job.spec.completions != 0:
        status = msgspec.structs.replace(status, start_time=_first_start(job, pods, now))
    kind = "Complete" if verdict.success else "Failed"
    conditions, _ = with_condition(status.conditions, kind, "True", verdict.reason, verdict.message, now)
    status = msgspec.structs.replace(status, conditions=conditions)
    if not verdict.success:
        return status, (Note(regarding=ref, type="Warning", reason=verdict.reason, message=verdict.message),)
    notes = [Note(regarding=ref, type="Normal", reason="Completed", message="Job completed")]
    if job.spec.completions is not None and status.succeeded > job.spec.completions:
        message = "Too many succeeded pods running after completion count reached"
        notes.insert(0, Note(regarding=ref, type="Warning", reason="TooManySucceededPods", message=message))
    return msgspec.structs.replace(status, completion_time=now), tuple(notes)


def _first_start(job: Job, pods: Iterable[Pod], now: datetime) -> datetime:
    """When the oldest pod was created, or now without pods. That is earlier than now where the status of that moment was not
    written; adopted pods may be older than the Job."""
    oldest = min((pod.metadata.creation_timestamp or now for pod in pods), default=now)
    return min(now, max(oldest, job.metadata.creation_timestamp or oldest))


def with_condition(
    conditions: tuple[JobCondition, ...], type: str, status: str, reason: str, message: str, now: datetime
) -> tuple[tuple[JobCondition, ...], bool]:
    """The list with this condition, in its place or at the end, and whether that changed anything. A condition that was never
    there is not added as False."""
    desired = JobCondition(
        type=type, status=status, last_probe_time=now, last_transition_time=now, reason=reason, message=message
    )
    for position, condition in enumerate(conditions):
        if condition.type == type:
            if (condition.status, condition.reason, condition.message) == (status, reason, message):
                return conditions, False
            return (*conditions[:position], desired, *conditions[position + 1 :]), True
    return (conditions, False) if status == "False" else ((*conditions, desired), True)
