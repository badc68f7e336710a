"""What failed of a job, and in whose words. Pure: objects and last lines of logs in, lines out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from shunter.api.meta import Json
from shunter.jobs.failure_record import cause_of_end, failure_record
from shunter.operator import needs
from shunter.operator.causes.events import event_time
from shunter.operator.diagnosis import (
    RANK_FAILED,
    Fault,
    by_cause,
    exception_line,
    faults,
    is_victim,
    recorded_failure,
    stopped,
    together,
)
from shunter.operator.overview import member, overview

LAST_LINES = 20
"""Log lines shown of a container that failed: Open MPI writes 14 after the reason why a node was not reached."""
READ_LINES = 48
"""Log lines read of it: those that say nothing are left out."""
NO_LOG = "(no log: "
"""How the line begins that stands for a log which could not be read."""
EXIT_REASONS = ("ExitedWithCode", RANK_FAILED)
"""Reasons of events in which the operator says how a pod ended that may be gone."""
_NATIVE_FRAME = re.compile(r"\s*\[bt\] \(\d+\) |Stack trace:\s*$")
"""Lines of XGBoost and its kin after a message: addresses in their libraries, of no use to who called them."""


def failure_lines(job: Json, pods: Sequence[Json], logs: dict[str, list[str]]) -> list[str]:
    """What failed first, with the last lines that it wrote; then the other faults, one line each."""
    lines: list[str] = []
    for position, fault in enumerate(_ordered(job, pods, logs)):
        if stop := stop_text(job, pods, fault, logs):
            lines.append(f"pod {fault.pod}, container {fault.container}: {stop}")
            continue
        lines.append(str(fault))
        if position == 0:
            said = last_lines(job, pods, fault, logs)
            lines += [f"| {line}" for line in said]
            lines += [remedy] if (remedy := needs.for_missing("\n".join([fault.message, *said]))) else []
    return lines


class NamedCause(NamedTuple):
    """What a diagnosis from the cluster's objects says of a job that failed."""

    text: str
    remedy: str
    pods: tuple[str, ...]
    """Those that it is about, by name."""


def cause_and_remedy(
    job: Json, pods: Sequence[Json], events: Sequence[Json], logs: dict[str, list[str]], named: NamedCause | None
) -> tuple[str, str]:
    """The one headline of a job that failed, and what to do where that is known: the diagnosis if it is about the pod that failed
    first, else `headline`."""
    ordered = _ordered(job, pods, logs)
    if named is not None and ordered and ordered[0].pod in named.pods and not stop_text(job, pods, ordered[0], logs):
        return named.text, named.remedy
    return headline(job, pods, events, logs), ""


def headline(job: Json, pods: Sequence[Json], events: Sequence[Json], logs: dict[str, list[str]]) -> str:
    """Why the job failed, in one line: the rank, how it ended and the exception that it wrote. Of a job whose pods are gone what
    its record says, else what the first event says of how one ended, those first that keep last words; empty when none tells."""
    message = overview(job).message
    if "deadline" in message.lower():
        return message  # How its pods took that says nothing.
    ordered = _ordered(job, pods, logs)
    if ordered:
        fault = ordered[0]
        if stop := stop_text(job, pods, fault, logs):
            return f"{_label(job, pods, fault)}: {stop}"
        said = exception_line([line for line in last_lines(job, pods, fault, logs) if not line.startswith(NO_LOG)])
        words = said or fault.message.strip()
        return f"{_label(job, pods, fault)}: {fault.short}{f': {words}' if words else ''}"
    exits = [event for event in events if event.get("reason") in EXIT_REASONS]
    if recorded := cause_of_end(failure_record(job)):
        words = next((exception_line(kept) for text, kept in map(recorded_failure, exits) if text == recorded), "")
        return f"{recorded}{f': {words}' if words else ''}"
    if not exits:
        return ""
    told, kept = recorded_failure(min(exits, key=lambda event: (event.get("reason") != RANK_FAILED, event_time(event))))
    said = exception_line(kept)
    return f"{told}{f': {said}' if said else ''}"


def _ordered(job: Json, pods: Sequence[Json], logs: dict[str, list[str]]) -> list[Fault]:
    """The likely cause first. Of programs that failed together in the same way one that said why: often rank 0 alone says it, and
    logs of pods that were running when their job failed are gone."""

    def line(fault: Fault) -> str:
        return exception_line(last_lines(job, pods, fault, logs))

    def has_words(fault: Fault) -> bool:
        return bool(line(fault)) and not line(fault).startswith(NO_LOG)

    ordered = by_cause(faults(pods), line)
    if not ordered or has_words(ordered[0]):
        return ordered
    alike = [fault for fault in together(faults(pods)) if fault.short == ordered[0].short and not is_victim(fault, line(fault))]
    told = next(filter(has_words, alike), ordered[0])
    return [told, *(fault for fault in ordered if fault != told)]


def stop_text(job: Json, pods: Sequence[Json], fault: Fault, logs: dict[str, list[str]]) -> str:
    """How the container says that it was stopped from outside; empty where it failed by itself."""
    pod = next(pod for pod in pods if pod["metadata"]["name"] == fault.pod)
    return stopped(pod, fault, logs.get(member(job, pod).label, []))


def _label(job: Json, pods: Sequence[Json], fault: Fault) -> str:
    return member(job, next(pod for pod in pods if pod["metadata"]["name"] == fault.pod)).label


def last_lines(job: Json, pods: Sequence[Json], fault: Fault, logs: dict[str, list[str]]) -> list[str]:
    """What a fault's container wrote last, without lines that say nothing."""
    told = logs.get(_label(job, pods, fault), [])
    return [line for line in told if line.strip() and not _NATIVE_FRAME.match(line)][-LAST_LINES:]
