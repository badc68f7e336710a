"""One look at a training job of any kind: its pods, its services and its status, as they should be now."""

from __future__ import annotations

from datetime import datetime

import msgspec

from shunter.api.field_errors import FieldError, aggregate
from shunter.api.training.job import MANAGED_BY_US
from shunter.kube.plan import NOTHING, Delete, Note, Plan, Write
from shunter.operator.training import autoscaler, backoff, deadline, gang, restart, suspend, ttl
from shunter.operator.training.abnormal import abnormal_pod_events
from shunter.operator.training.autoscaler import Autoscaler
from shunter.operator.training.children import Children, index
from shunter.operator.training.clean_pods import clean_up, deletions
from shunter.operator.training.conditions import is_true
from shunter.operator.training.framework import AnyFramework, AnyJob
from shunter.operator.training.gang import Gang
from shunter.operator.training.progress import Progress
from shunter.operator.training.replicas import replicas, sets_own_restart_policy
from shunter.operator.training.services import services
from shunter.operator.training.status import judged, replica_counts, settled
from shunter.operator.training.writes import create_pod, create_service, delete_pod, delete_service

BACKOFF_EXCEEDED = "Job {name} has failed because it has reached the specified backoff limit"
DEADLINE_EXCEEDED = "Job {name} has failed because it was active longer than specified deadline"


class Observed(msgspec.Struct, frozen=True, kw_only=True):
    """A job with its defaults, what admission would say about it, and the pods and services that are its own.

    Faults count until the job has started: what a running job became later (the scale subresource asks no webhook) is acted upon
    as far as possible.
    """

    job: AnyJob
    faults: tuple[FieldError, ...] = ()
    children: Children = Children()
    gang: Gang | None = None
    """None when the operator schedules no gangs."""
    autoscaler: Autoscaler | None = None


def plan(framework: AnyFramework, observed: Observed, now: datetime) -> Plan:
    """What the operator writes about this job now."""
    job, children = observed.job, observed.children
    managed_elsewhere = job.run_policy.managed_by not in (None, MANAGED_BY_US)
    if managed_elsewhere or job.metadata.deletion_timestamp is not None:
        return NOTHING
    progress = Progress.of(job, now)
    if job.status.is_finished:
        return _finished(framework, observed, progress)
    if not progress.conditions:
        progress = progress.condition("Created", f"{job.kind} {job.name} is created.")
    if observed.faults and job.status.start_time is None:
        return _written(_failed(progress, _what_is_wrong(job, observed.faults), "Warning"))
    if job.run_policy.suspend:
        group, progress = _without_gang(observed, progress, is_news=not is_true(progress.conditions, "Suspended"))
        scaled = autoscaler.removed(job, observed.autoscaler)
        return _written(suspend.suspended(progress, job.name), [*group, *scaled, *deletions(job, children, set())])
    progress = suspend.resumed(progress, job.name)
    progress = progress.notes(abnormal_pod_events(job.ref, children.pods))
    job = msgspec.structs.replace(job, status=progress.status)
    remaining = deadline.remaining(job, progress.now)
    if backoff.is_exceeded(job, children):
        return _over_limit(observed, progress, BACKOFF_EXCEEDED.format(name=job.name))
    if remaining is not None and remaining <= 0:
        return _over_limit(observed, progress, DEADLINE_EXCEEDED.format(name=job.name))
    return _running(framework, msgspec.structs.replace(observed, job=job), progress, remaining)


def _running(framework: AnyFramework, observed: Observed, progress: Progress, remaining: float | None) -> Plan:
    """Missing pods and services are made, failed and superfluous ones go, and what is there decides about the status."""
    job, children = observed.job, observed.children
    before = autoscaler.synced(job, observed.autoscaler)
    if observed.gang:
        if obstacle := gang.obstacle(job, observed.gang):
            if not children.pods:
                return _written(gang.waiting(progress, job, obstacle), before, remaining)
        else:
            progress = gang.waiting_no_more(progress, job)
            before += gang.synced(job, observed.gang)
            if gang.keeps_pods_back(observed.gang):
                is_news = observed.gang.group is None or job.status.last_reconcile_time is None
                return _written(progress.held_back() if is_news else progress, before, remaining)
    pod_writes: list[Write] = []
    service_writes: list[Write] = []
    for replica_type in job.replicas:
        writes, progress = _pods(framework, observed, replica_type, progress)
        pod_writes += writes
        service_writes += _services(framework, job, children, replica_type)
    progress = progress.counts(replica_counts(framework, job, children))
    if not progress.is_failed:
        progress = judged(framework, job, progress)
    if progress.status.start_time is None:
        progress = progress.started()
        remaining = job.run_policy.active_deadline_seconds
    is_over = progress.status.is_finished
    return _written(progress, [*before, *pod_writes, *service_writes], None if is_over else remaining)


def _pods(framework: AnyFramework, observed: Observed, replica_type: str, progress: Progress) -> tuple[list[Write], Progress]:
    """The pods of one role (R4, R5, R6): deletions first, then creations; and what failures mean for the status."""
    job, children = observed.job, observed.children
    wanted = job.replica_count(replica_type)
    policy = job.replicas[replica_type].restart_policy
    pods = children.pods_of(replica_type)
    superfluous = [pod for pod in pods if index(pod) >= wanted and pod.metadata.deletion_timestamp is None]
    present = [pod for pod in pods if index(pod) < wanted]
    known = progress.observed.replica_statuses.get(replica_type)
    for pod in restart.newly_finished(framework, present, known.succeeded + known.failed if known else 0):
        code = restart.exit_code(pod, framework.container)
        if code is not None:
            message = f"Pod: {pod.metadata.namespace}.{pod.metadata.name} exited with code {code}"
            progress = progress.note("Normal", "ExitedWithCode", message)
    consequences = [(pod, restart.consequence(pod, policy, framework.container)) for pod in present]
    replaced = [pod for pod, consequence in consequences if consequence == "replace"]
    if any(consequence == "fail" for _, consequence in consequences):
        message = f'job "{job.name}" is failing because "{replica_type}" replica(s) failed.'
        progress = _failed(progress, message, "Warning")
    elif replaced:
        message = f"job {job.name} is restarting because {replica_type} replica(s) failed."
        progress = progress.condition("Restarting", message).event("Warning", "Restarting", message)
    there = {index(pod) for pod in present}
    missing = [number for number in range(wanted) if number not in there]
    if missing and sets_own_restart_policy(job, replica_type):
        text = "Restart policy in pod template will be overwritten by restart policy in replica spec"
        progress = progress.note("Warning", "SetPodTemplateRestartPolicy", text)
    bodies = replicas(framework, job, replica_type, missing)
    if group := observed.gang:
        if missing and gang.names_another_scheduler(job, group):
            progress = progress.note("Warning", "SetPodTemplateSchedulerName", gang.ANOTHER_SCHEDULER)
        bodies = (gang.member(body, job, replica_type, group) for body in bodies)
    created = [create_pod(job.ref, body) for body in bodies]
    deleted = [delete_pod(job.ref, pod) for pod in (*superfluous, *replaced)]
    return [*deleted, *created], progress


def _services(framework: AnyFramework, job: AnyJob, children: Children, replica_type: str) -> list[Write]:
    """The services of one role: one for each index, none beyond."""
    wanted = job.replica_count(replica_type)
    present = children.services_of(replica_type)
    superfluous = [service for service in present if index(service) >= wanted and not service.metadata.deletion_timestamp]
    there = {index(service) for service in present}
    missing = [number for number in range(wanted) if number not in there]
    return [
        *(delete_service(job.ref, service) for service in superfluous),
        *(create_service(job.ref, body) for body in services(framework, job, replica_type, missing)),
    ]


def _finished(framework: AnyFramework, observed: Observed, progress: Progress) -> Plan:
    """What the clean-up policy says goes; when its time is over the job itself."""
    job, children = observed.job, observed.children
    remaining = ttl.remaining(job, progress.now)
    if remaining is not None and remaining <= 0:
        deleted = Note(regarding=job.ref, type="Normal", reason=framework.ttl_event, message=f"Deleted job: {job.name}")
        return Plan(writes=(Delete(ref=job.ref, succeeded=deleted),))
    if job.status.is_true("Succeeded"):
        progress = settled(progress)
    group, progress = _without_gang(observed, progress, is_news=False)
    scaled = autoscaler.removed(job, observed.autoscaler)
    return _written(progress, [*group, *scaled, *clean_up(job, children)], remaining)


def _over_limit(observed: Observed, progress: Progress, message: str) -> Plan:
    """The job has failed for good; its pods are a matter of the clean-up."""
    group, progress = _without_gang(observed, progress, is_news=True)
    return _written(_failed(progress, message, "Normal"), group)


def _without_gang(observed: Observed, progress: Progress, *, is_news: bool) -> tuple[list[Delete], Progress]:
    """The group's deletion, and the job told so."""
    if observed.gang is None:
        return [], progress
    writes, notes = gang.released(observed.job, observed.gang, is_news=is_news)
    return writes, progress.notes(notes)


def _failed(progress: Progress, message: str, event_type: str) -> Progress:
    """The job has failed for good."""
    progress = progress.note("Warning" if event_type == "Warning" else "Normal", progress.reason("Failed"), message)
    return progress.completed().condition("Failed", message)


def _what_is_wrong(job: AnyJob, faults: tuple[FieldError, ...]) -> str:
    """For a job that came past admission: what stands in the way, and what to do."""
    return f"{job.kind} {job.name} is invalid: {aggregate([*faults])}. Correct the field(s) and create the job again."


def _written(progress: Progress, writes: list[Write] | list[Delete] = [], requeue_after: float | None = None) -> Plan:  # noqa: B006
    return Plan(writes=tuple(writes), status=progress.status_write, events=progress.events, requeue_after=requeue_after)
