"""One reconcile of a Job: what to write about its pods and its status."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Literal

import msgspec

from shunter.api.batch import JOB_TRACKING_FINALIZER, Job, JobStatus
from shunter.api.core import Pod
from shunter.api.meta import as_json
from shunter.api.resources import JOBS, PODS
from shunter.cluster.controllers.job.backoff import Finish, finish_of
from shunter.cluster.controllers.job.pods import is_tracked, pod_of
from shunter.cluster.controllers.job.replicas import ReplicaChange, change_of
from shunter.cluster.controllers.job.status import Counts, counted, finished, judged, started, suspended_or_resumed
from shunter.cluster.controllers.job.tally import Tally
from shunter.cluster.controllers.job.tracking import settle
from shunter.cluster.controllers.job.verdict import Verdict, completed, deadline_in, verdict_of
from shunter.cluster.controllers.workloads.claiming import Owner, claims, controlled, finalizer_removal
from shunter.kube.controllers.plan import (
    FIRST_STATUS_SECONDS,
    NOTHING,
    Create,
    Delete,
    Failure,
    Note,
    Plan,
    Ref,
    StatusWrite,
    Write,
)


class Observed(msgspec.Struct, frozen=True, kw_only=True):
    """A Job, the pods of its namespace that it controls or could adopt, and how pods ended that are gone by now (by uid)."""

    job: Job
    pods: tuple[Pod, ...] = ()
    past: Mapping[str, Finish] = {}


def plan(observed: Observed, now: datetime) -> Plan:
    """What the Job controller writes now. `now` is cut to whole seconds, as times are stored."""
    job = observed.job
    if job.outcome is not None or job.is_managed_elsewhere:
        return NOTHING
    owner = Owner(JOBS, job.metadata)
    if writes := claims(owner, job.spec.selector, PODS, observed.pods, finalizer=JOB_TRACKING_FINALIZER):
        return Plan(writes=writes)
    now = now.replace(microsecond=0)
    pods = controlled(owner, observed.pods)
    job = msgspec.structs.replace(job, status=started(job.status, job, pods, now))
    tally = Tally.of(job, pods, now)
    verdict = verdict_of(tally, now)
    change = ReplicaChange()
    if verdict is not None:
        change = ReplicaChange(delete=tally.active)
    elif job.metadata.deletion_timestamp is None:
        change = change_of(tally, _finishes(tally, observed.past, now), now)
    counts = Counts(
        active=len(tally.active) - len(change.delete) + change.create,
        ready=tally.ready - sum(pod.is_ready for pod in change.delete),
        terminating=tally.terminating + len(change.delete),
    )
    status = job.status
    notes: tuple[Note, ...] = ()
    if verdict is None and (verdict := completed(tally, counts.active)) is None and job.metadata.deletion_timestamp is None:
        status, notes = suspended_or_resumed(status, job, now)
    settlement = settle(tally, verdict)
    status = counted(status, tally, settlement, counts)
    if verdict is not None and not verdict.standing:
        status = judged(status, verdict, now)
    elif verdict is not None and settlement.is_complete and counts.terminating == 0:
        status, notes = finished(status, job, pods, verdict, now)
    return Plan(
        writes=(*_removals(job, settlement.release, change, verdict), *_creations(job, change, tally)),
        status=StatusWrite.over(JOBS, job.metadata, as_json(observed.job.status), as_json(status)),
        status_after=FIRST_STATUS_SECONDS if change.create and observed.job.status == JobStatus() else 0.0,
        events=notes,
        requeue_after=None if verdict is not None else _next_look(job, status, change, now),
    )


def plan_failure(observed: Observed, failure: Failure, now: datetime) -> Plan:
    """After a refused pod the status says what runs without the new pods; any other refusal is only tried again."""
    if not isinstance(failure.write, Create):
        return NOTHING
    refused = plan(observed, now)
    if refused.status is None:
        return NOTHING
    creations = sum(isinstance(write, Create) for write in refused.writes)
    desired = dict(refused.status.desired)
    active = desired.pop("active", 0) - creations
    if active > 0:
        desired["active"] = active
    return Plan(status=msgspec.structs.replace(refused.status, desired=desired), events=refused.events)


def _finishes(tally: Tally, past: Mapping[str, Finish], now: datetime) -> Iterable[Finish]:
    """How the Job's pods ended: those gone, and those that are tracked still."""
    known = dict(past)
    for pod in tally.pods:
        if is_tracked(pod) and (finish := finish_of(pod, tally.job, now)):
            known[pod.metadata.uid] = finish
    return known.values()


def _removals(job: Job, release: tuple[Pod, ...], change: ReplicaChange, verdict: Verdict | None) -> Iterable[Write]:
    """Finalizers first, then deletions. The pods of a failing Job keep theirs: they are counted as failed before they go."""
    released = {pod.metadata.uid for pod in release}
    dropped: tuple[Pod, ...] = ()
    if verdict is None or verdict.success:
        dropped = tuple(pod for pod in change.delete if is_tracked(pod) and pod.metadata.uid not in released)
    yield from (finalizer_removal(PODS, pod.metadata, JOB_TRACKING_FINALIZER) for pod in (*release, *dropped))
    ref = Ref.of(JOBS, job.metadata)
    for pod in change.delete:
        yield Delete(
            ref=Ref.of(PODS, pod.metadata),
            succeeded=_note(ref, "Normal", "SuccessfulDelete", f"Deleted pod: {pod.metadata.name}"),
            failed=_note(ref, "Warning", "FailedDelete", "Error deleting: {error}"),
        )


def _creations(job: Job, change: ReplicaChange, tally: Tally) -> Iterable[Write]:
    ref = Ref.of(JOBS, job.metadata)
    indexes: tuple[int | None, ...] = change.indexes or (None,) * change.create
    for index in indexes:
        replaced = None if index is None else tally.awaiting_replacement.get(index)
        yield Create(
            resource=PODS,
            body=pod_of(job, index, replaced),
            succeeded=_note(ref, "Normal", "SuccessfulCreate", "Created pod: {name}"),
            failed=_note(ref, "Warning", "FailedCreate", "Error creating: {error}"),
        )


def _note(job: Ref, type: Literal["Normal", "Warning"], reason: str, message: str) -> Note:
    return Note(regarding=job, type=type, reason=reason, message=message)


def _next_look(job: Job, status: JobStatus, change: ReplicaChange, now: datetime) -> float | None:
    """Seconds until the deadline or until failed pods may be replaced, whichever comes first."""
    moments = [change.wait.total_seconds()] if change.wait else []
    remaining = deadline_in(msgspec.structs.replace(job, status=status), now)
    if remaining is not None:
        moments.append(remaining)
    return min(moments, default=None)
