"""Texts about jobs: what failed and in whose words, and the whole description of one job. Pure: objects in, lines out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime

from shunter.api.meta import Json
from shunter.operator.diagnosis import Fault, faults
from shunter.operator.overview import limits, member, moment, overview, was_pod_of

LAST_LINES = 20
"""Log lines shown of a container that failed: Open MPI writes 14 after the reason why a node was not reached."""
READ_LINES = 48
"""Log lines read of it: those that say nothing are left out."""
_NATIVE_FRAME = re.compile(r"\s*\[bt\] \(\d+\) |Stack trace:\s*$")
"""Lines of XGBoost and its kin after a message: addresses in their libraries, of no use to who called them."""


def failure_lines(job: Json, pods: list[Json], logs: dict[str, list[str]]) -> list[str]:
    """What failed first, with the last lines that it wrote; then the other faults, one line each."""
    found = faults(pods)
    lines: list[str] = []
    for position, fault in enumerate(found):
        lines.append(str(fault))
        if position == 0:
            lines += [f"| {line}" for line in last_lines(job, pods, fault, logs)]
    return lines


def last_lines(job: Json, pods: list[Json], fault: Fault, logs: dict[str, list[str]]) -> list[str]:
    pod = next(pod for pod in pods if pod["metadata"]["name"] == fault.pod)
    told = logs.get(member(job, pod).label, [])
    return [line for line in told if line.strip() and not _NATIVE_FRAME.match(line)][-LAST_LINES:]


def age(since: datetime | None, until: datetime | None = None) -> str:
    """`45s`, `3m`, `2h`, `5d`: how long, in the largest unit that says something; empty when unknown."""
    if since is None:
        return ""
    seconds = max(0, int(((until or datetime.now(UTC)) - since).total_seconds()))
    for size, unit in ((86400, "d"), (3600, "h"), (60, "m")):
        if seconds >= 2 * size:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"


def description(job: Json, pods: list[Json], events: list[Json], logs: dict[str, list[str]]) -> Iterator[str]:
    """Everything `shunter describe` says of a job, line by line."""
    row = overview(job)
    yield f"{row.kind} {row.namespace}/{row.name}"
    yield f"  State    {row.state}{f' ({row.reason})' if row.reason else ''}"
    if row.message:
        yield f"           {row.message}"
    yield f"  Ranks    {row.ranks}"
    if limited := limits(job):
        yield f"  Limits   {limited}"
    yield f"  Age      {age(row.created)}{f', ran {age(row.created, row.finished)}' if row.finished else ''}"
    yield "Conditions"
    for condition in job.get("status", {}).get("conditions", []):
        reason, message = condition.get("reason", ""), condition.get("message", "")
        yield f"  {condition['type']:<11} {condition['status']:<6} {reason:<24} {message}"
    yield "Pods"
    for pod in sorted(pods, key=lambda pod: (member(job, pod).rank is None, member(job, pod).rank or 0)):
        yield from pod_lines(job, pod)
    found = faults(pods)
    if found:
        yield "Faults, the first to fail first"
        for line in failure_lines(job, pods, logs):
            yield f"  {line}"
    yield "Events"
    for event in sorted(events, key=lambda event: event_time(event)):
        about = event.get("involvedObject", {}).get("name", "")
        count = f" (x{event['count']})" if event.get("count", 1) > 1 else ""
        when = age(moment(event_time(event) or None))
        message = event.get("message", "").strip()
        yield f"  {when:>5} {event.get('type', ''):<8} {event.get('reason', ''):<24} {about}: {message}{count}"


def pod_lines(job: Json, pod: Json) -> Iterator[str]:
    who, status = member(job, pod), pod.get("status", {})
    containers = status.get("containerStatuses", [])
    restarts = sum(container.get("restartCount", 0) for container in containers)
    rank = f"rank {who.rank}" if who.rank is not None else ""
    address, name = status.get("podIP", ""), pod["metadata"]["name"]
    yield f"  {who.label:<12} {rank:<8} {phase(pod):<18} restarts {restarts:<3} {address:<14} {name}"


def phase(pod: Json) -> str:
    """The phase, or the more telling reason that a container waits for."""
    status = pod.get("status", {})
    for container in [*status.get("initContainerStatuses", []), *status.get("containerStatuses", [])]:
        waiting = container.get("state", {}).get("waiting", {}).get("reason", "")
        if waiting not in ("", "PodInitializing"):
            return str(waiting)
    return str(status.get("reason") or status.get("phase") or "Pending")


def is_about(job: Json, pods: list[Json], event: Json) -> bool:
    """Whether the event is about the job, a pod of it, or one that it had before: what became of that is told nowhere else."""
    about = event.get("involvedObject", {})
    if about.get("uid") in {job["metadata"]["uid"], *(pod["metadata"]["uid"] for pod in pods)}:
        return True
    return about.get("kind") == "Pod" and was_pod_of(job, about.get("name", ""), moment(event_time(event) or None))


def event_time(event: Json) -> str:
    for field in ("lastTimestamp", "eventTime", "firstTimestamp"):
        if event.get(field):
            return str(event[field])
    return str(event["metadata"].get("creationTimestamp", ""))
