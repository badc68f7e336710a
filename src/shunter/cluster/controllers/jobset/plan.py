"""One reconcile of a JobSet: what to write about its Jobs, its service, its claims and its status."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

import msgspec

from shunter.api.batch import Job
from shunter.api.jobset import CONTROLLER, JobSet, ReplicatedJob, ReplicatedJobStatus, end_of
from shunter.api.ownership import is_of_former
from shunter.api.resources import JOBS, JOBSETS, PERSISTENT_VOLUME_CLAIMS, SERVICES
from shunter.cluster.controllers.jobset import depends_on, failure_policy, startup_policy, success_policy, suspension, ttl
from shunter.cluster.controllers.jobset.children import Children, replicated_job_of
from shunter.cluster.controllers.jobset.jobs import job_of
from shunter.cluster.controllers.jobset.names import job_name
from shunter.cluster.controllers.jobset.progress import Progress, status_json
from shunter.cluster.controllers.jobset.replicated_status import replicated_status
from shunter.cluster.controllers.jobset.service import service_of
from shunter.cluster.controllers.jobset.volume_claims import claims_of
from shunter.kube.controllers.plan import FIRST_STATUS_SECONDS, NOTHING, Create, Delete, Note, Plan, Ref, StatusWrite, Write


class Observed(msgspec.Struct, frozen=True, kw_only=True):
    """A JobSet, the Jobs it controls, and the names of all services and claims in its namespace that it may want."""

    jobset: JobSet
    jobs: tuple[Job, ...] = ()
    named: Mapping[str, Job] = {}
    """The Jobs that have the names of its Jobs, whatever controls them."""
    services: frozenset[str] = frozenset()
    claims: frozenset[str] = frozenset()


def plan(observed: Observed, now: datetime) -> Plan:
    """What the JobSet controller writes now."""
    jobset = observed.jobset
    managed_elsewhere = jobset.spec.managed_by not in (None, CONTROLLER)
    if managed_elsewhere or jobset.metadata.deletion_timestamp is not None:
        return NOTHING
    children = Children.of(jobset, observed.jobs)
    progress = Progress.of(jobset, now)
    statuses = replicated_status(jobset, children)
    progress = msgspec.structs.replace(progress, status=msgspec.structs.replace(progress.status, replicated_jobs_status=statuses))
    if is_finished(jobset):
        return _finished(jobset, children, progress, now)
    writes = [*_deletions(children.previous)]
    if not jobset.spec.suspend and _all_ready(jobset, statuses):
        progress = progress.condition("RestartingJobSet", False, "JobsReady", "all jobs are ready")
    if children.failed:
        return _written(jobset, failure_policy.applied(jobset, children.failed, progress), writes)
    if success_policy.is_met(jobset, children):
        return _written(jobset, success_policy.completed(progress), writes)
    writes += _network_and_claims(observed, progress.jobset)
    created, progress, more = _creations(observed, children, statuses, progress)
    writes += created
    if more:
        return Plan(writes=tuple(writes))
    if jobset.spec.suspend:
        writes += suspension.suspensions(children.active)
        progress = suspension.suspended(progress)
    else:
        resumed, progress = _resumptions(jobset, children, statuses, progress)
        writes += resumed
    planned = _written(jobset, progress, writes)
    is_first = not jobset.status.replicated_jobs_status and not startup_policy.in_order(jobset)
    is_made_at_once = bool(created) and len(created) == sum(job.replicas for job in jobset.spec.replicated_jobs)
    if is_first and is_made_at_once and not jobset.spec.suspend:
        return msgspec.structs.replace(planned, status_after=FIRST_STATUS_SECONDS)
    return planned


def is_finished(jobset: JobSet) -> bool:
    """Whether its stored status has the condition Completed or Failed: it never runs again."""
    return end_of(jobset.status.conditions) is not None


def _finished(jobset: JobSet, children: Children, progress: Progress, now: datetime) -> Plan:
    """What still runs is deleted, and when its time is over the JobSet itself."""
    written = _written(jobset, progress, [*_deletions(children.active)])
    remaining = ttl.remaining(jobset, now)
    if remaining is None:
        return written
    if remaining > 0:
        return msgspec.structs.replace(written, requeue_after=remaining)
    return Plan(writes=(*written.writes, Delete(ref=progress.jobset, propagation="Foreground")))


def _written(jobset: JobSet, progress: Progress, writes: list[Write]) -> Plan:
    status = None
    if progress.status != jobset.status:
        status = StatusWrite.over(JOBSETS, jobset.metadata, status_json(jobset.status), status_json(progress.status))
    return Plan(writes=tuple(writes), status=status, events=progress.notes)


def _deletions(jobs: tuple[Job, ...]) -> Iterable[Write]:
    """In the foreground: a Job's name is free for its successor only when its pods are gone."""
    for job in jobs:
        if job.metadata.deletion_timestamp is None:
            yield Delete(ref=Ref.of(JOBS, job.metadata), propagation="Foreground")


def _all_ready(jobset: JobSet, statuses: tuple[ReplicatedJobStatus, ...]) -> bool:
    return sum(status.ready + status.succeeded for status in statuses) == sum(job.replicas for job in jobset.spec.replicated_jobs)


def _network_and_claims(observed: Observed, ref: Ref) -> Iterable[Write]:
    service = service_of(observed.jobset)
    if service is not None and service["metadata"]["name"] not in observed.services:
        yield Create(resource=SERVICES, body=service, failed=_warning(ref, "HeadlessServiceCreationFailed", "{error}"))
    for claim in claims_of(observed.jobset):
        if claim["metadata"]["name"] not in observed.claims:
            failed = _warning(ref, "PVCCreationFailed", "{error}")
            yield Create(resource=PERSISTENT_VOLUME_CLAIMS, body=claim, failed=failed)


def _creations(
    observed: Observed, children: Children, statuses: tuple[ReplicatedJobStatus, ...], progress: Progress
) -> tuple[list[Write], Progress, bool]:
    """The Jobs that are missing and may start, of one replicated job: the next look, which these Jobs bring about, takes the
    next, so that a refused Job holds up those listed after it. True when there may be more to create.

    In order, none after the first replicated job that has not started.
    """
    jobset = observed.jobset
    one_by_one = startup_policy.in_order(jobset) and not jobset.spec.suspend
    policy = jobset.spec.failure_policy
    held = policy is not None and policy.restart_strategy == "BlockingRecreate" and bool(children.previous)
    released = [job for job in jobset.spec.replicated_jobs if depends_on.is_released(jobset, job, statuses)]
    for job in released:
        if one_by_one and startup_policy.has_started(job, statuses):
            continue
        writes = [] if held else [*_missing(observed, job, children, progress.jobset)]
        if one_by_one:
            return writes, startup_policy.starting(progress), False
        if writes:
            return writes, progress, job is not released[-1]
    return [], startup_policy.started(progress) if one_by_one else progress, False


def _missing(observed: Observed, job: ReplicatedJob, children: Children, ref: Ref) -> Iterable[Write]:
    """Not those whose names Jobs of an earlier JobSet have, which would be refused: the end of those wakes the JobSet."""
    owner = observed.jobset.metadata
    taken = children.names | {name for name, one in observed.named.items() if is_of_former(one.metadata, JOBSETS, owner)}
    for index in range(job.replicas):
        name = job_name(observed.jobset, job.name, index)
        if name not in taken:
            failed = _warning(ref, "JobCreationFailed", f'job "{name}" creation failed with error: {{error}}')
            yield Create(resource=JOBS, body=job_of(observed.jobset, job, index), failed=failed)


def _resumptions(
    jobset: JobSet, children: Children, statuses: tuple[ReplicatedJobStatus, ...], progress: Progress
) -> tuple[list[Write], Progress]:
    """Resumes suspended Jobs; in order, only those of the first replicated job that has not started."""
    writes: list[Write] = []
    one_by_one = startup_policy.in_order(jobset)
    for replicated_job in jobset.spec.replicated_jobs:
        if not depends_on.is_released(jobset, replicated_job, statuses):
            continue
        if one_by_one and startup_policy.has_started(replicated_job, statuses):
            continue
        for job in children.active:
            if replicated_job_of(job) == replicated_job.name and job.spec.suspend:
                writes += suspension.resumptions(job, replicated_job)
        if one_by_one:
            return writes, startup_policy.starting(progress)
    return writes, suspension.resumed(progress)


def _warning(jobset: Ref, reason: str, message: str) -> Note:
    return Note(regarding=jobset, type="Warning", reason=reason, message=message)
