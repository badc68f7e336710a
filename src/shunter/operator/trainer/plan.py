"""One look at a TrainJob: its snapshot, its JobSet and its status, as they should be now."""

from __future__ import annotations

from datetime import datetime

import msgspec

from shunter.api.jobset import JobSet
from shunter.api.meta import Condition, Json, stamp
from shunter.api.resources import CONFIG_MAPS, JOBSETS, TRAIN_JOBS
from shunter.api.trainer.trainjob import MANAGED_BY_US, TrainJob, TrainJobStatus
from shunter.kube.plan import NOTHING, Apply, Delete, Failure, Note, Plan, Ref, StatusWrite, Write
from shunter.operator.trainer import deadline
from shunter.operator.trainer.model import BuildError
from shunter.operator.trainer.render import objects_for, owned
from shunter.operator.trainer.snapshot import KINDS, as_go_writes, not_found, runtime_in, snapshot_of
from shunter.operator.trainer.status import (
    DEADLINE_EXCEEDED,
    FAILED,
    NOT_CREATED,
    find,
    is_finished,
    jobs_status,
    status_json,
    with_condition,
    with_jobset_installed,
    with_outcome,
    with_suspension,
    without_retryable_failure,
)
from shunter.operator.trainer.views import Snapshot

FIELD_MANAGER = "trainer"
LONGEST_CAUSE = 950
"""Characters of an error that go into an event."""


class Observed(msgspec.Struct, frozen=True, kw_only=True):
    """A job, the present runtime it refers to, its snapshot and its JobSet, as far as they exist."""

    job: TrainJob
    runtime: Json | None = None
    snapshot: Snapshot | None = None
    jobset: JobSet | None = None
    is_jobset_installed: bool = True


def plan(observed: Observed, now: datetime) -> Plan:
    """What the operator writes about this job now."""
    job = observed.job
    if job.spec.managed_by not in (None, MANAGED_BY_US) or job.metadata.deletion_timestamp is not None:
        return NOTHING
    reference = job.spec.runtime_ref
    if (reference.kind, reference.api_group) not in KINDS:
        return Plan(status=_status_write(job, _unsupported(job, _stamp(job, now))))
    status, remaining = _status(observed, _stamp(job, now))
    if is_finished(status):
        return Plan(writes=_stopped(observed, status), status=_status_write(job, status))
    if not observed.is_jobset_installed:
        is_new = find(job.status.conditions, NOT_CREATED.type) is None
        events = (_creation_failed(job, NOT_CREATED.message),) if is_new else ()
        return Plan(status=_status_write(job, status), events=events, requeue_after=remaining)
    try:
        writes = _wanted(observed)
    except BuildError as error:
        events = (_creation_failed(job, error.message),)
        return Plan(status=_status_write(job, status), events=events, requeue_after=remaining)
    return Plan(writes=writes, status=_status_write(job, status), requeue_after=remaining)


def plan_failure(observed: Observed, failure: Failure, now: datetime) -> Plan:
    """An object was refused: the job's events say so, and its status goes on telling what is there."""
    event = _creation_failed(observed.job, failure.message)
    if isinstance(failure.write, StatusWrite):
        return Plan(events=(event,))
    status, _ = _status(observed, _stamp(observed.job, now))
    return Plan(status=_status_write(observed.job, status), events=(event,))


def _wanted(observed: Observed) -> tuple[Write, ...]:
    """The snapshot if there is none, and the JobSet unless it runs already: a running JobSet is never touched (3.6)."""
    job, runtime = observed.job, observed.runtime
    writes: list[Write] = []
    if observed.snapshot is not None:
        runtime = runtime_in(job, observed.snapshot)
    elif runtime is None:
        raise not_found(job)
    else:
        writes.append(Apply(resource=CONFIG_MAPS, body=owned(job, snapshot_of(job, runtime)), field_manager=FIELD_MANAGER))
        runtime = as_go_writes(runtime)
    wanted = objects_for(job, runtime)
    jobset = observed.jobset
    is_running = jobset is not None and not job.spec.suspend and not jobset.spec.suspend
    if not is_running:
        writes.append(Apply(resource=JOBSETS, body=wanted[-1], field_manager=FIELD_MANAGER))
    return tuple(writes)


def _status(observed: Observed, now: datetime) -> tuple[TrainJobStatus, float | None]:
    """The status, and the seconds until the deadline while the job is unfinished."""
    job, jobset, status = observed.job, observed.jobset, observed.job.status
    conditions = without_retryable_failure(status.conditions)
    conditions = with_suspension(conditions, bool(job.spec.suspend), now)
    conditions = with_jobset_installed(conditions, observed.is_jobset_installed, now)
    counters = status.jobs_status
    missed_deadline = _has_missed_deadline(status)
    if jobset is not None:
        counters = jobs_status(jobset.status.replicated_jobs_status)
        if not missed_deadline:
            conditions = with_outcome(conditions, jobset, now)
    remaining = None
    failed = find(conditions, FAILED)
    if not is_finished(msgspec.structs.replace(status, conditions=conditions)) and (failed is None or not failed.is_true):
        remaining = deadline.remaining(job, conditions, now)
        if remaining is not None and remaining <= 0:
            conditions, remaining = with_condition(conditions, deadline.EXCEEDED, now), None
    return msgspec.structs.replace(status, conditions=conditions, jobs_status=counters), remaining


def _stamp(job: TrainJob, now: datetime) -> datetime:
    conditions = job.status.conditions
    return stamp(now, [job.metadata.creation_timestamp, *(condition.last_transition_time for condition in conditions)])


def _has_missed_deadline(status: TrainJobStatus) -> bool:
    failed = find(status.conditions, FAILED)
    return failed is not None and failed.is_true and failed.reason == DEADLINE_EXCEEDED


def _stopped(observed: Observed, status: TrainJobStatus) -> tuple[Write, ...]:
    """A job that missed its deadline loses its JobSet, also when that failed the first time (9-S13)."""
    jobset = observed.jobset
    if jobset is None or not _has_missed_deadline(status) or jobset.metadata.deletion_timestamp is not None:
        return ()
    owner = jobset.metadata.controller
    if owner is None or owner.uid != observed.job.metadata.uid:
        return ()
    metadata = jobset.metadata
    return (Delete(ref=Ref(JOBSETS, metadata.namespace, metadata.name, metadata.uid)),)


def _unsupported(job: TrainJob, now: datetime) -> TrainJobStatus:
    """A job that came past admission with a runtime of a kind we do not know (9-S1)."""
    reference = job.spec.runtime_ref
    condition = Condition(
        type=FAILED,
        status="True",
        reason="TrainingRuntimeNotSupported",
        message=f"unsupported runtime: {reference.kind}.{reference.api_group}",
    )
    return msgspec.structs.replace(job.status, conditions=with_condition(job.status.conditions, condition, now))


def _creation_failed(job: TrainJob, cause: str) -> Note:
    shown = cause if len(cause) <= LONGEST_CAUSE else f"{cause[:LONGEST_CAUSE]} ..."
    return Note(
        regarding=_ref(job),
        type="Warning",
        reason="TrainJobResourcesCreationFailed",
        message=f"TrainJob resources reconciliation failed: {shown}",
    )


def _status_write(job: TrainJob, status: TrainJobStatus) -> StatusWrite:
    return StatusWrite(ref=_ref(job), observed=status_json(job.status), wanted=status_json(status))


def _ref(job: TrainJob) -> Ref:
    return Ref(TRAIN_JOBS, job.metadata.namespace, job.metadata.name, job.metadata.uid)
