"""The plan for a training job of any kind: its pods, its services and its status as they should be."""

from __future__ import annotations

from datetime import datetime

import msgspec

from shunter.api.resources import PODS, SERVICES
from shunter.kube.controllers.plan import NOTHING, Create, Delete, Failure, Plan, StatusWrite, Write
from shunter.operator.training import autoscaler, failure_record, failures, gang, prerequisites
from shunter.operator.training.children import Children
from shunter.operator.training.framework import AnyFramework
from shunter.operator.training.observed import Observed
from shunter.operator.training.pod_warnings import abnormal_pod_events
from shunter.operator.training.policies import backoff, deadline, scale_in, suspend, ttl
from shunter.operator.training.policies.clean_pods import clean_up, deletions
from shunter.operator.training.progress import Progress
from shunter.operator.training.status import judged, settled

BACKOFF_EXCEEDED = "Job {name} has failed because it has reached the specified backoff limit"


def plan(framework: AnyFramework, observed: Observed, now: datetime) -> Plan:
    """What the operator writes for this job now."""
    job, children = observed.job, observed.children
    if job.metadata.deletion_timestamp is not None:
        return NOTHING
    if not job.run_policy.is_ours:
        return Plan(events=framework.events_if_managed_elsewhere(job))
    progress = Progress.of(job, now)
    if job.status.is_finished:
        return _finished(framework, observed, progress)
    progress = gang.gang_ready(progress.created(job.name), job)
    if not progress.status.is_true("Suspended"):
        progress = failure_record.with_new_failures(job, scale_in.evidence(children), progress)
    if (stopped := framework.stopped(observed, progress)) is not None:
        return _written(stopped)
    if job.run_policy.suspend or progress.status.is_true("Suspended"):
        return _suspended(framework, observed, progress)
    progress = progress.notes(abnormal_pod_events(job.ref, children.pods))
    job = msgspec.structs.replace(job, status=progress.status)
    observed = msgspec.structs.replace(observed, job=job)
    remaining = deadline.remaining(job, progress.now)
    if backoff.is_exceeded(job, scale_in.evidence(children)):
        progress = progress.notes(backoff.exits(job, children))
        progress = failures.with_exit_events(framework, observed, progress)
        return _over_limit(observed, progress, BACKOFF_EXCEEDED.format(name=job.name))
    if remaining is not None and remaining <= 0:
        return _over_limit(observed, progress, deadline.EXCEEDED.format(name=job.name))
    return _running(framework, observed, progress, remaining)


def plan_failure(framework: AnyFramework, observed: Observed, failure: Failure, now: datetime) -> Plan:
    """Events about a refused write. If it was of a pod, a service or a prerequisite, the status is still updated, unlike
    upstream's; after other refusals it stays as it is."""
    events, write = framework.refused(observed.job, failure), failure.write
    status = None
    is_prerequisite = prerequisites.is_prerequisite(write)
    if is_prerequisite and not prerequisites.has_started(observed):
        status = prerequisites.waiting(observed, Progress.of(observed.job, now), failure).status_write
    elif is_prerequisite or (isinstance(write, Create) and write.resource in (PODS, SERVICES)):
        planned = plan(framework, observed, now)
        status = _without_start(planned.status) if planned.status and not observed.children.pods else planned.status
        if status and status.desired != status.observed:
            events = (*planned.events, *events)
    return Plan(status=status, events=events)


def _without_start(status: StatusWrite) -> StatusWrite:
    """The same without a startTime: a job without pods has not started."""
    desired = {field: value for field, value in status.desired.items() if field != "startTime" or field in status.observed}
    return msgspec.structs.replace(status, desired=desired)


def _suspended(framework: AnyFramework, observed: Observed, progress: Progress) -> Plan:
    """Stops the job, and resumes it when none of its pods is left. The status is written before any pod is deleted or created, so
    that the next reconcile knows why pods end, and counts none of them, even if this one was interrupted."""
    job, children = observed.job, observed.children
    if not progress.status.is_true("Suspended"):
        if (ended := suspend.ended_before(framework, observed, progress)) is not None:
            return _written(ended)
        group, noted = _without_gang(observed, progress, is_news=True)
        return _written(suspend.suspended(progress if group else noted, job.name))
    if not job.run_policy.suspend and not children.pods:
        return _written(suspend.resumed(progress, job.name))
    group, progress = _without_gang(observed, progress, is_news=False)
    scaled = autoscaler.removed(job, observed.autoscaler)
    return _written(suspend.stopped(progress), [*group, *scaled, *deletions(job, children, set())])


def _running(framework: AnyFramework, observed: Observed, progress: Progress, remaining: float | None) -> Plan:
    """Creates missing pods and services, deletes failed and superfluous ones, and derives the status from those that exist."""
    job, children = observed.job, observed.children
    before = autoscaler.synced(job, observed.autoscaler)
    if observed.gang:
        if obstacle := gang.obstacle(job, observed.gang):
            if not children.pods:
                return _written(gang.without_group(progress, job, obstacle), before, remaining)
        else:
            before += gang.synced(job, observed.gang)
            if gang.holds_pods(observed.gang):
                if observed.gang.group and len(children.pods) < job.total_replicas:
                    progress = gang.waiting_for_group(progress, job, observed.gang.group, children.pods)
                is_news = observed.gang.group is None or job.status.last_reconcile_time is None
                return _written(progress.held_back() if is_news else progress, before, remaining)
    writes, progress = framework.sync_replicas(observed, progress)
    progress = judged(framework, job, scale_in.evidence(children), progress)
    if not progress.status.is_finished and progress.has_more_failures:
        # The status first: once a failed pod is gone, nothing else shows that it failed.
        writes = [write for write in writes if not isinstance(write, Delete)]
    writes, is_over = prerequisites.in_order(observed, before, writes), progress.status.is_finished
    is_new = progress.status.start_time is None and not children.pods
    if progress.status.start_time is None:
        progress = progress.started(_first_creation(children))
        remaining = deadline.remaining(msgspec.structs.replace(job, status=progress.status), progress.now)
    if is_over and not is_new:
        # A pod created after the end of the job would run on; if it were refused, the end would not be recorded.
        writes = [write for write in writes if not isinstance(write, Create)]
    planned = _written(progress, writes, None if is_over else remaining)
    return msgspec.structs.replace(planned, may_status_wait=is_new and not is_over and not progress.has_new_failures)


def _first_creation(children: Children) -> datetime | None:
    """When the first pod was created, if the status does not say yet that the job has started."""
    return min((made for pod in children.pods if (made := pod.metadata.creation_timestamp) is not None), default=None)


def _finished(framework: AnyFramework, observed: Observed, progress: Progress) -> Plan:
    """Deletes what cleanPodPolicy says, and the job itself when ttlSecondsAfterFinished has passed."""
    job, children = observed.job, observed.children
    remaining = ttl.remaining(job, progress.now)
    if remaining is not None and remaining <= 0:
        deleted = job.note("Normal", framework.info.ttl_event, f"Deleted job: {job.name}")
        return Plan(writes=(Delete(ref=job.ref, succeeded=deleted),))
    if job.status.is_true("Succeeded"):
        progress = settled(progress)
    else:
        progress = failure_record.with_late_failures(job, scale_in.evidence(children), progress)
    group, progress = _without_gang(observed, progress, is_news=False)
    scaled = autoscaler.removed(job, observed.autoscaler)
    return _written(progress, [*group, *scaled, *clean_up(job, children)], remaining)


def _over_limit(observed: Observed, progress: Progress, message: str) -> Plan:
    """Fails the job; later reconciles delete its pods as cleanPodPolicy says."""
    group, progress = _without_gang(observed, progress, is_news=True)
    return _written(progress.failed(message, "Normal"), group)


def _without_gang(observed: Observed, progress: Progress, *, is_news: bool) -> tuple[list[Delete], Progress]:
    """Deletes the PodGroup, with the events about it."""
    if observed.gang is None:
        return [], progress
    writes, notes = gang.release(observed.job, observed.gang, is_news=is_news)
    return writes, progress.notes(notes)


def _written(progress: Progress, writes: list[Write] | list[Delete] = [], requeue_after: float | None = None) -> Plan:  # noqa: B006
    return Plan(
        writes=tuple(writes),
        status=progress.status_write,
        is_status_first=progress.has_new_failures and any(isinstance(write, Delete) for write in writes),
        events=progress.events,
        requeue_after=requeue_after,
    )
