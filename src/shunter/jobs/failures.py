"""What failed in a job, by the state of its pods, their last log lines and the events. Pure: objects and log lines in, text
out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from shunter.api.meta import Json
from shunter.api.rank_failures import RankFailure
from shunter.jobs.failure_record import cause_of_end, failure_record, recorded_log
from shunter.operator import needs
from shunter.operator.causes import Cause
from shunter.operator.causes.events import event_time
from shunter.operator.diagnosis import (
    RANK_FAILED,
    Fault,
    by_cause,
    faults,
    is_victim,
    recorded_failure,
    stopped,
    together,
)
from shunter.operator.overview import Overview, overview
from shunter.operator.pod_places import Members, place
from shunter.operator.program_logs.ends import exception_line, exception_name
from shunter.operator.rank_failures import fault as fault_of
from shunter.operator.remedies import remedy_for
from shunter.operator.trainer.status import DEADLINE_EXCEEDED
from shunter.operator.training.policies.deadline import EXCEEDED

LAST_LINES = 20
"""Log lines shown of a container that failed: Open MPI writes 14 after the reason why a node was not reached."""
READ_LINES = 48
"""Log lines read of it: empty lines and native stack frames among them are not shown."""
LOG_MARK = "| "
"""The beginning of a line that quotes a log."""
NO_LOG = "(no log: "
"""The beginning of the line that replaces a log which could not be read."""
EXIT_REASONS = ("ExitedWithCode", RANK_FAILED)
"""Reasons of events in which the operator reports how a pod ended, which may be deleted since."""
_NATIVE_FRAME = re.compile(r"\s*\[bt\] \(\d+\) |Stack trace:\s*$")
"""Lines that XGBoost and similar libraries print after a message: addresses in native code, of no use to users."""


def failure_lines(job: Json, pods: Sequence[Json], logs: dict[str, list[str]]) -> list[str]:
    """The first fault, with the last log lines of its container; then the other faults, one line each."""
    lines: list[str] = []
    for position, fault in enumerate(_ordered(job, pods, logs)):
        if stop := stop_text(job, pods, fault, logs):
            lines.append(f"pod {fault.pod}, container {fault.container}: {stop}")
            continue
        lines.append(str(fault))
        if position == 0:
            log = last_lines(job, pods, fault, logs)
            lines += [f"{LOG_MARK}{line}" for line in log]
            lines += [remedy] if (remedy := needs.for_missing("\n".join([fault.message, *log]))) else []
    return lines


class NamedCause(NamedTuple):
    """The cause of a failed job, as diagnosed from API objects."""

    text: str
    remedy: str
    pods: tuple[str, ...]
    """The names of the pods that it is about."""


def cause_and_remedy(
    job: Json, pods: Sequence[Json], events: Sequence[Json], logs: dict[str, list[str]], named: NamedCause | None
) -> tuple[str, str]:
    """The headline of a failed job, and its remedy if known: the diagnosis if it is about the pod that failed first, else
    `failure_cause`, with what to do about its exception."""
    ordered = _ordered(job, pods, logs)
    if named is not None and ordered and ordered[0].pod in named.pods and not stop_text(job, pods, ordered[0], logs):
        return named.text, named.remedy
    cause = failure_cause(job, pods, events, logs)
    first = ordered[0] if ordered and not missed_deadline(overview(job)) else None
    return cause.sentence, remedy_for(_exception(job, pods, first, logs)) if first is not None else ""


def failure_cause(job: Json, pods: Sequence[Json], events: Sequence[Json], logs: dict[str, list[str]]) -> Cause:
    """Why a job failed: the rank, how it ended and its exception. If its pods are gone, from its failure record; else from the
    first event about a failed rank, those with log lines first; else the job's own message."""
    row = overview(job)
    if missed_deadline(row):
        return Cause("DeadlineExceeded", row.message)  # How its pods ended then is not the cause.
    ordered = _ordered(job, pods, logs)
    if ordered:
        return _of_pod(job, pods, ordered[0], logs)
    exits = [event for event in events if event.get("reason") in EXIT_REASONS]
    word = row.reason.removeprefix(row.kind) or row.state
    if (failure := cause_of_end(failure_record(job))) is not None:
        return _of_record(failure, exception_line(recorded_log(failure, dict(map(recorded_failure, exits)))))
    if exits:
        message, log = recorded_failure(min(exits, key=lambda event: (event.get("reason") != RANK_FAILED, event_time(event))))
        exception = exception_line(log)
        return Cause(exception_name(exception) or word, f"{message}{f': {exception}' if exception else ''}")
    return Cause(word, row.message)


def only_victims(job: Json, pods: Sequence[Json], logs: dict[str, list[str]]) -> bool:
    """Whether all containers that failed first lost a peer or were ended, according to their logs, as far as those were read: the
    cause is then not known yet. False if one was stopped from outside."""
    first = [fault for fault in together(faults(pods)) if _label(job, pods, fault) in logs]
    if any(stop_text(job, pods, fault, logs) for fault in first):
        return False
    return bool(first) and all(is_victim(fault, _exception(job, pods, fault, logs)) for fault in first)


def missed_deadline(row: Overview) -> bool:
    """Whether a job failed because of its deadline."""
    return row.state == "Failed" and (row.reason == DEADLINE_EXCEEDED or row.message == EXCEEDED.format(name=row.name))


def _of_pod(job: Json, pods: Sequence[Json], fault: Fault, logs: dict[str, list[str]]) -> Cause:
    """The cause from an existing pod and the last lines of its log."""
    pod_member = Members(job, pods).of(next(pod for pod in pods if pod["metadata"]["name"] == fault.pod))
    if stop := stop_text(job, pods, fault, logs):
        return Cause("Stopped", stop, who=pod_member.label, rank=pod_member.rank)
    exception = _exception(job, pods, fault, logs) or fault.message.strip()
    return _of_fault(fault, exception, pod_member.label, pod_member.rank)


def _of_record(failure: RankFailure, exception: str) -> Cause:
    """The cause from what the operator recorded of a deleted pod: its message, else the `exception` in the event about it, which
    fewer users may read."""
    complete = msgspec.structs.replace(failure, message=failure.message or exception)
    who = f"pod {failure.pod}" if failure.rank is None else f"rank {failure.rank}"
    return _of_fault(fault_of(complete), complete.message.strip(), who, failure.rank)


def _of_fault(ended: Fault, message: str, who: str, rank: int | None) -> Cause:
    """The cause from how a container ended and its message. Its word is the reason that Kubernetes gives, else the exception,
    else the exit code."""
    word = ended.reason
    if ended.exit_code is not None and ended.reason == "Error":
        word = exception_name(message) or ended.short
    text = f"{ended.short}{f': {message}' if message else ''}"
    return Cause(word, text, needs.for_missing(message), who, rank=rank)


def _ordered(job: Json, pods: Sequence[Json], logs: dict[str, list[str]]) -> list[Fault]:
    """The faults, the likely cause first. Of programs that failed together in the same way, one that logged a reason: often only
    rank 0 does, and logs of pods that were running when their job failed are gone."""

    def line(fault: Fault) -> str:
        return _exception(job, pods, fault, logs)

    ordered = by_cause(faults(pods), line)
    if not ordered or line(ordered[0]):
        return ordered
    same_fault = [
        fault for fault in together(faults(pods)) if fault.short == ordered[0].short and not is_victim(fault, line(fault))
    ]
    first = next(filter(line, same_fault), ordered[0])
    return [first, *(fault for fault in ordered if fault != first)]


def stop_text(job: Json, pods: Sequence[Json], fault: Fault, logs: dict[str, list[str]]) -> str:
    """How the container was stopped from outside, according to its log and status; empty if it failed by itself."""
    pod = next(pod for pod in pods if pod["metadata"]["name"] == fault.pod)
    return stopped(pod, fault, logs.get(place(job, pod).label, []))


def _label(job: Json, pods: Sequence[Json], fault: Fault) -> str:
    return place(job, next(pod for pod in pods if pod["metadata"]["name"] == fault.pod)).label


def _exception(job: Json, pods: Sequence[Json], fault: Fault, logs: dict[str, list[str]]) -> str:
    """The line of a fault's log that says why; empty without a log."""
    return exception_line([line for line in _program_lines(job, pods, fault, logs) if not line.startswith(NO_LOG)])


def last_lines(job: Json, pods: Sequence[Json], fault: Fault, logs: dict[str, list[str]]) -> list[str]:
    """The last log lines of a fault's container, without empty lines and native stack frames."""
    return _program_lines(job, pods, fault, logs)[-LAST_LINES:]


def _program_lines(job: Json, pods: Sequence[Json], fault: Fault, logs: dict[str, list[str]]) -> list[str]:
    lines = logs.get(_label(job, pods, fault), [])
    return [line for line in lines if line.strip() and not _NATIVE_FRAME.match(line)]
