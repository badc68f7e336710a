"""One reconcile of a CronJob: the Job that is due, the Jobs that are over, and its status."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

import msgspec

from shunter.api.batch import CronJob, CronJobStatus, Job
from shunter.api.formats import cron
from shunter.api.meta import EPOCH, Json, as_json
from shunter.api.resources import CRON_JOBS, JOBS
from shunter.cluster.controllers.cronjob.times import due, seconds_to_next
from shunter.cluster.controllers.workloads.claiming import Owner
from shunter.cluster.controllers.workloads.pods import note
from shunter.kube.controllers.plan import NOTHING, Create, Delete, Failure, Note, Plan, Ref, StatusWrite, Write

SCHEDULED_AT = "batch.kubernetes.io/cronjob-scheduled-timestamp"


class Observed(msgspec.Struct, frozen=True, kw_only=True):
    """A CronJob and the Jobs that it controls."""

    cron_job: CronJob
    jobs: tuple[Job, ...] = ()

    @property
    def owner(self) -> Owner:
        """The CronJob as the owner that its Jobs name."""
        return Owner(CRON_JOBS, self.cron_job.metadata)


class _Start(NamedTuple):
    """What starting the Job that is due takes, and when to look again."""

    writes: tuple[Write, ...] = ()
    events: tuple[Note, ...] = ()
    scheduled: datetime | None = None
    replaced: frozenset[str] = frozenset()
    requeue_after: float | None = None


def plan(observed: Observed, now: datetime) -> Plan:
    """What the controller writes now."""
    cron_job = observed.cron_job
    removals = [*_removals(observed)]
    status, events = _with_jobs(observed)
    start = _Start() if cron_job.metadata.deletion_timestamp is not None else _start(observed, status, now)
    if start.scheduled is not None:
        kept = tuple(one for one in status.active if one["uid"] not in start.replaced)
        status = msgspec.structs.replace(status, active=kept, last_schedule_time=start.scheduled)
    return Plan(
        writes=(*removals, *start.writes),
        status=StatusWrite.over(CRON_JOBS, cron_job.metadata, as_json(cron_job.status), as_json(status)),
        events=(*events, *start.events),
        requeue_after=start.requeue_after,
    )


def plan_failure(observed: Observed, failure: Failure, now: datetime) -> Plan:
    """An event for a Job that could not be created; none when its name is taken."""
    if not isinstance(failure.write, Create) or failure.reason == "AlreadyExists":
        return NOTHING
    return Plan(events=(note(observed.owner, "Warning", "FailedCreate", f"Error creating job: {failure.message}"),))


def _with_jobs(observed: Observed) -> tuple[CronJobStatus, list[Note]]:
    """The status with the running Jobs and the time of the last success, and the events about changes."""
    status, owner = observed.cron_job.status, observed.owner
    jobs = {job.metadata.uid: job for job in observed.jobs}
    events: list[Note] = []
    active: list[Json] = []
    for one in status.active:
        job = jobs.get(one["uid"])
        if job is None:
            events.append(note(owner, "Normal", "MissingJob", f"Active job went missing: {one['name']}"))
        elif job.outcome is not None:
            message = f"Saw completed job: {one['name']}, condition: {job.outcome.type}"
            events.append(note(owner, "Normal", "SawCompletedJob", message))
        else:
            active.append(one)
    known = {one["uid"] for one in status.active}
    for job in sorted(observed.jobs, key=_age):
        if job.metadata.uid in known or job.outcome is not None:
            continue
        if SCHEDULED_AT in job.metadata.annotations:
            active.append(_reference(job))
        else:
            message = f"Saw a job that the controller did not create or forgot: {job.metadata.name}"
            events.append(note(owner, "Warning", "UnexpectedJob", message))
    ends = [job.status.completion_time for job in observed.jobs if job.status.condition("Complete")]
    succeeded = max(filter(None, [*ends, status.last_successful_time]), default=None)
    return msgspec.structs.replace(status, active=tuple(active), last_successful_time=succeeded), events


def _start(observed: Observed, status: CronJobStatus, now: datetime) -> _Start:
    """Starts what is due, unless it is suspended, too late, started already, or another Job still runs that must not."""
    cron_job, owner, spec = observed.cron_job, observed.owner, observed.cron_job.spec
    try:
        zone = cron.time_zone(spec.time_zone or "")
    except ValueError as error:
        return _warned(owner, "UnknownTimeZone", f'invalid timeZone: "{spec.time_zone}": {error}')
    if spec.suspend:
        return _Start()
    try:
        schedule = cron.schedule(spec.schedule, zone)
    except ValueError as error:
        return _warned(owner, "UnparseableSchedule", f'unparseable schedule: "{spec.schedule}" : {error}')
    try:
        at, too_many = due(cron_job, schedule, now)
        wait = seconds_to_next(cron_job, schedule, now)
    except ValueError as error:
        return _warned(owner, "InvalidSchedule", f"invalid schedule: {spec.schedule} : {error}")
    if at is None:
        return _Start(requeue_after=wait)
    events: tuple[Note, ...] = ()
    if too_many:
        message = "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew"
        events = (note(owner, "Warning", "TooManyMissedTimes", message),)
    if (deadline := spec.starting_deadline_seconds) is not None and (now - at).total_seconds() > deadline:
        message = f"Missed scheduled time to start a job: {at.strftime('%a, %d %b %Y %H:%M:%S +0000')}"
        return _Start(events=(*events, note(owner, "Warning", "MissSchedule", message)), requeue_after=wait)
    name = job_name(cron_job, at)
    if cron_job.status.last_schedule_time == at:
        return _Start(events=events, requeue_after=wait)
    if any(job.metadata.name == name for job in observed.jobs):
        # Made by a process that ended before it could say so in the status.
        return _Start(events=events, scheduled=at, requeue_after=wait)
    if spec.concurrency_policy == "Forbid" and status.active:
        message = "Not starting job because prior execution is running and concurrency policy is Forbid"
        return _Start(events=(*events, note(owner, "Normal", "JobAlreadyActive", message)), requeue_after=wait)
    replaced = [job for job in observed.jobs if job.metadata.uid in {one["uid"] for one in status.active}]
    if spec.concurrency_policy != "Replace":
        replaced = []
    creation = Create(
        resource=JOBS,
        body=_job(cron_job, owner, at, name),
        succeeded=note(owner, "Normal", "SuccessfulCreate", "Created job {name}"),
    )
    following = msgspec.structs.replace(cron_job, status=msgspec.structs.replace(status, last_schedule_time=at))
    return _Start(
        writes=(*(_deletion(owner, job) for job in replaced), creation),
        events=events,
        scheduled=at,
        replaced=frozenset(job.metadata.uid for job in replaced),
        requeue_after=seconds_to_next(following, schedule, now),
    )


def job_name(cron_job: CronJob, at: datetime) -> str:
    """The name of the Job for a time: with its minutes since 1970."""
    return f"{cron_job.metadata.name}-{int(at.timestamp()) // 60}"


def _job(cron_job: CronJob, owner: Owner, at: datetime, name: str) -> Json:
    template = cron_job.spec.job_template
    source = template.get("metadata") or {}
    local = at.astimezone(cron.time_zone(cron_job.spec.time_zone or ""))
    stamp = local.isoformat(timespec="seconds")
    metadata: Json = {
        "name": name,
        "namespace": cron_job.metadata.namespace,
        "annotations": {
            **(source.get("annotations") or {}),
            SCHEDULED_AT: stamp.removesuffix("+00:00") + "Z" if stamp.endswith("+00:00") else stamp,
        },
        "ownerReferences": [owner.reference],
    }
    if source.get("labels"):
        metadata["labels"] = source["labels"]
    return JOBS.typed({"metadata": metadata, "spec": template.get("spec") or {}})


def _removals(observed: Observed) -> Iterable[Delete]:
    """The oldest Jobs that ended, beyond as many as are to be kept."""
    spec = observed.cron_job.spec
    for type, limit in (("Complete", spec.successful_jobs_history_limit), ("Failed", spec.failed_jobs_history_limit)):
        ended = [job for job in observed.jobs if job.outcome is not None and job.outcome.type == type]
        for job in sorted(ended, key=_age)[: max(len(ended) - limit, 0)]:
            if job.metadata.deletion_timestamp is None:
                yield _deletion(observed.owner, job)


def _deletion(owner: Owner, job: Job) -> Delete:
    return Delete(
        ref=Ref.of(JOBS, job.metadata),
        succeeded=note(owner, "Normal", "SuccessfulDelete", f"Deleted job {job.metadata.name}"),
        failed=note(owner, "Warning", "FailedDelete", "Deleted job: {error}"),
    )


def _age(job: Job) -> tuple[bool, datetime, str]:
    return job.status.start_time is None, job.status.start_time or EPOCH, job.metadata.name


def _reference(job: Job) -> Json:
    metadata = job.metadata
    return {
        "kind": JOBS.kind,
        "namespace": metadata.namespace,
        "name": metadata.name,
        "uid": metadata.uid,
        "apiVersion": JOBS.api_version,
        "resourceVersion": metadata.resource_version,
    }


def _warned(owner: Owner, reason: str, message: str) -> _Start:
    return _Start(events=(note(owner, "Warning", reason, message),))
