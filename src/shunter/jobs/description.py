"""The whole description of one job. Pure: objects in, lines out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from shunter.api.core import container_statuses
from shunter.api.meta import EPOCH, Json
from shunter.jobs.ages import age, duration
from shunter.jobs.failure_record import cell, failure_record, heading
from shunter.jobs.failure_record import lines as failure_lines_of
from shunter.jobs.failures import NamedCause, cause_and_remedy, failure_lines, stop_text
from shunter.jobs.pods_up import requested_ranks, up
from shunter.jobs.progress_text import lines as progress_lines
from shunter.jobs.progress_text import stop_position
from shunter.operator.causes import Evidence, cause, owned_by
from shunter.operator.causes.events import event_count, event_time
from shunter.operator.diagnosis import RANK_FAILED, faults, recorded_failure
from shunter.operator.overview import is_pod_of, limits, overview, was_pod_of
from shunter.operator.pod_places import Member, Members
from shunter.operator.restarts import restarts
from shunter.operator.training_progress import Progress


def description(
    job: Json,
    evidence: Evidence,
    logs: dict[str, list[str]],
    now: datetime,
    progress: Progress | None = None,
    details: Iterable[tuple[str, str]] = (),
    named: NamedCause | None = None,
) -> Iterator[str]:
    """Everything that `shunter describe` shows of a job, line by line. `progress` is that of its training, if known; `details`
    are further lines, each with its title; empty ones are left out; `named` is the diagnosis of a failed job."""
    row = overview(job)
    pods = [pod for pod in evidence.pods if is_pod_of(job, pod)]
    events = events_about(job, pods, evidence)
    yield row.title
    yield f"  State    {row.state}{f' ({row.reason})' if row.reason else ''}"
    record = failure_record(job)
    why, remedy = cause_and_remedy(job, pods, events, logs, named) if row.state == "Failed" else ("", "")
    if why:
        yield f"  Cause    {why}"
    if remedy:
        yield f"           {remedy}"
    if row.message and row.message != why:
        yield f"           {row.message}"
    yield from _cause_lines(job, evidence, now, stop_position(progress) if row.state == "Suspended" else "")
    if progress is not None:
        yield from progress_lines(progress, pods, now, is_running=row.is_running)
    yield from (f"  {title:<8} {text}" for title, text in details if text)
    children = owned_by(evidence, job)
    jobset = next((child for child in children if child.get("kind") == "JobSet"), None)
    ranks = "?" if (number := requested_ranks(job, jobset)) is None else str(number)
    running = "?" if (number_up := up(job, pods)) is None else str(number_up)
    yield f"  Ranks    {ranks if row.is_finished else f'{running} of {ranks} up'}"
    if jobset is not None and (counts := restarts(jobset)) is not None:
        yield f"  Restarts {counts}"
    if record is not None:
        yield f"  Failures {cell(record, now)}"
    if limited := limits(job):
        yield f"  Limits   {limited}"
    yield f"  Age      {age(row.created, now)}{f', ran {duration(row.ran)}' if row.ran is not None else ''}"
    yield "Conditions"
    for condition in job.get("status", {}).get("conditions", []):
        reason, message = condition.get("reason", ""), condition.get("message", "")
        yield f"  {condition['type']:<11} {condition['status']:<6} {reason:<24} {message}"
    yield "Pods"
    members = Members(job, pods)
    for member, pod in sorted(((members.of(pod), pod) for pod in pods), key=lambda one: (one[0].rank is None, one[0].rank or 0)):
        yield pod_line(member, pod)
    if failed := faults(pods):
        stops = all(stop_text(job, pods, fault, logs) for fault in failed)
        yield "Stopped from outside" if stops else "Faults, the likely cause first"
        for line in failure_lines(job, pods, logs):
            yield f"  {line}"
    rank_failures = [event for event in sorted(events, key=event_time) if event.get("reason") == RANK_FAILED]
    if record is not None:
        yield f"Failures: {heading(record)}"
        yield from (f"  {line}" for line in failure_lines_of(record, now, dict(map(recorded_failure, rank_failures))))
    elif rank_failures and not failed:
        yield "Faults, the first to fail first, of deleted pods"
        for event in rank_failures:
            yield from (f"  {line}" for line in event.get("message", "").splitlines())
    yield "Events"
    for event in sorted(events, key=event_time):
        about = event.get("involvedObject", {}).get("name", "")
        count = f" (x{times})" if (times := event_count(event)) > 1 else ""
        message = event.get("message", "").strip()
        if event.get("reason") == RANK_FAILED:
            message, _ = recorded_failure(event)
        when = event_time(event)
        since = age(None if when == EPOCH else when, now)
        yield f"  {since:>5} {event.get('type', ''):<8} {event.get('reason', ''):<24} {about}: {message}{count}"


def _cause_lines(job: Json, evidence: Evidence, now: datetime, stopped_at: str) -> Iterator[str]:
    """What keeps the job from training, where it stopped, and which kinds could not be listed."""
    if (found := cause(job, evidence, now)) is not None:
        yield f"  Cause    {'; '.join(part for part in (f'{found.word}: {found.sentence}', stopped_at) if part)}"
        if found.remedy:
            yield f"           {found.remedy[0].upper()}{found.remedy[1:]}"
    if evidence.unread:
        yield f"  Not read {', '.join(evidence.unread)}: they could not be listed, so causes that they show are missing"


def pod_line(member: Member, pod: Json) -> str:
    """Label, rank, phase, restarts of its containers (not of init containers), address and name."""
    status = pod.get("status", {})
    containers = status.get("containerStatuses", [])
    restarts = sum(container.get("restartCount", 0) for container in containers)
    rank = f"rank {member.rank}" if member.rank is not None else ""
    address, name = status.get("podIP", ""), pod["metadata"]["name"]
    return f"  {member.label:<12} {rank:<8} {phase(pod):<18} restarts {restarts:<3} {address:<14} {name}"


def phase(pod: Json) -> str:
    """The phase, or the reason why a container waits, which is more specific."""
    status = pod.get("status", {})
    for container in container_statuses(pod):
        waiting = container.get("state", {}).get("waiting", {}).get("reason", "")
        if waiting not in ("", "PodInitializing"):
            return str(waiting)
    return str(status.get("reason") or status.get("phase") or "Pending")


def events_about(job: Json, pods: Sequence[Json], evidence: Evidence) -> list[Json]:
    """The events about the job; the evidence may contain all events of the namespace."""
    children = owned_by(evidence, job)
    return own_events(job, pods, evidence.events, children)


def own_events(job: Json, pods: Sequence[Json], events: Iterable[Json], children: Sequence[Json] = ()) -> list[Json]:
    """Events about the job, its JobSet or Jobs (`children`), its pods, or earlier pods of it."""
    uids = {obj["metadata"].get("uid") for obj in (job, *pods, *children)} - {None}

    def is_about(event: Json) -> bool:
        about = event.get("involvedObject", {})
        if about.get("uid") in uids:
            return True
        return about.get("kind") == "Pod" and was_pod_of(job, about.get("name", ""), event_time(event))

    return [event for event in events if is_about(event)]
