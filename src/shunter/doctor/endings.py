"""How containers of a job ended, by pod status and log. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta

from shunter.api.core import container_statuses
from shunter.api.meta import Json, Struct
from shunter.api.rank_failures import RankFailure
from shunter.jobs.failure_record import failure_record, last_to_fail, recorded_log
from shunter.kube.pods.log_times import time_of
from shunter.operator.causes.events import event_time
from shunter.operator.diagnosis import RANK_FAILED, Fault, faults, is_victim, recorded_failure
from shunter.operator.overview import was_pod_of
from shunter.operator.pod_places import place
from shunter.operator.program_logs.ends import LAST_LINES, last_lines, reason, refusal
from shunter.operator.program_logs.lines import Error, Line, parsed, parsed_end
from shunter.operator.training.names import REPLICA_INDEX, REPLICA_TYPE

_RECORDED = re.compile(r"(?:rank (\d+), )?pod (\S+), container (\S+): (.*?)(?:, exit code (\d+).*)?$")


class Ending(Struct, frozen=True):
    """One run of a container that failed."""

    pod: str
    container: str
    ranks: tuple[int, ...]
    reason: str
    exit_code: int
    message: str = ""
    at: str = ""
    """When it ended; whole seconds."""
    started: str = ""
    uid: str = ""
    """That of its pod; empty where only the pod's name is recorded."""
    restarts: int = 0
    runs_again: bool = False
    has_log: bool = False
    error: Error | None = None
    """The exception that ended it: the first in its log that is no victim's, else a victim's."""
    last_lines: tuple[str, ...] = ()
    is_victim: bool = False
    """Whether it ended because another did."""

    @property
    def text(self) -> str:
        """The exception or refusal in one line, else the message or exit code of the container's status."""
        if self.log_error:
            return self.log_error
        return self.message.strip().splitlines()[0] if self.message.strip() else f"exit code {self.exit_code}"

    @property
    def refusal(self) -> str:
        """The error message with which a log without an exception ends; empty if there is none."""
        return "" if self.error is not None else refusal(self.last_lines)

    @property
    def log_error(self) -> str:
        """Its exception or refusal; empty if its log has neither."""
        return self.error.text if self.error is not None else self.refusal

    @property
    def whole(self) -> str:
        """The text that patterns are searched in: the traceback, else the last lines."""
        return self.error.whole if self.error is not None else "\n".join(self.last_lines)

    @property
    def failed_ranks(self) -> tuple[int, ...]:
        """The rank of the error, if its lines have a prefix, else all ranks of the pod."""
        rank = self.error.rank if self.error is not None else None
        return (rank,) if rank is not None and (rank in self.ranks or not self.ranks) else self.ranks

    @property
    def time(self) -> datetime | None:
        """When it failed: the time of the log line, which is finer, else that of the status."""
        at = time_of(self.error.at) if self.error is not None and self.error.at else None
        return at or (time_of(self.at) if self.at else None)


def endings(
    job: Json,
    pods: Sequence[Json],
    events: Sequence[Json],
    logs: Mapping[tuple[str, str, bool], str],
    ranks: Mapping[str, tuple[int, ...]],
    ranks_of_recorded: Callable[[str, int], tuple[int, ...]],
) -> list[Ending]:
    """The endings of the job's pods in the order of time, victims last. `logs` by pod, container and whether they are of the
    previous run; `ranks` by pod; `ranks_of_recorded` gives those of a pod that is gone, by its name and its number in the
    record."""
    statuses = {(pod["metadata"]["name"], status["name"]): status for pod in pods for status in container_statuses(pod)}
    uids = {pod["metadata"]["name"]: pod["metadata"].get("uid", "") for pod in pods}
    found = []
    for fault in faults(pods):
        if not fault.container or fault.exit_code is None:
            continue
        state = statuses[fault.pod, fault.container]
        is_previous = not (state.get("state", {}).get("terminated") or {}).get("exitCode")
        ended = (state.get("lastState" if is_previous else "state") or {}).get("terminated") or {}
        text = logs.get((fault.pod, fault.container, is_previous))
        lines = parsed_end(text) if text is not None else []
        if text is not None and len(last_lines(lines)) < LAST_LINES:
            lines = parsed(text)
        error = reason(lines)
        found.append(
            Ending(
                pod=fault.pod,
                container=fault.container,
                ranks=ranks.get(fault.pod, ()),
                reason=fault.reason,
                exit_code=fault.exit_code,
                message=fault.message,
                at=ended.get("finishedAt") or "",
                started=ended.get("startedAt") or "",
                uid=uids[fault.pod],
                restarts=fault.restarts,
                runs_again=fault.runs_again,
                has_log=text is not None,
                error=error,
                last_lines=last_lines(lines),
                is_victim=is_victim(fault, _last_text(error, lines)),
            )
        )
    there = {ending.pod for ending in found}
    found += [one for one in recorded(job, events, ranks_of_recorded) if one.pod not in there]
    return _by_cause(found)


def recorded(job: Json, events: Sequence[Json], ranks_of_recorded: Callable[[str, int], tuple[int, ...]]) -> list[Ending]:
    """The endings that the operator recorded of deleted pods: those in the job's status, else, if its CRD has no such
    field, those in its events."""
    uid = job["metadata"].get("uid")
    own = [one for one in events if one.get("reason") == RANK_FAILED and one.get("involvedObject", {}).get("uid") == uid]
    record = failure_record(job)
    if record is None:
        return [ending for event in own if (ending := _of_event(job, event, ranks_of_recorded)) is not None]
    words = dict(map(recorded_failure, own))
    return [
        _of_record(one, recorded_log(one, words) or one.message.splitlines(), ranks_of_recorded)
        for one in last_to_fail(record)
        if one.container
    ]


def _of_record(failure: RankFailure, words: Sequence[str], ranks_of_recorded: Callable[[str, int], tuple[int, ...]]) -> Ending:
    return _kept(
        failure.pod,
        failure.container,
        () if failure.rank is None else ranks_of_recorded(failure.pod, failure.rank),
        failure.reason,
        1 if failure.exit_code is None else failure.exit_code,
        failure.time.isoformat() if failure.time else "",
        words,
        failure.pod_uid,
    )


def _of_event(job: Json, event: Json, ranks_of_recorded: Callable[[str, int], tuple[int, ...]]) -> Ending | None:
    text, words = recorded_failure(event)
    if (match := _RECORDED.match(text)) is None:
        return None
    rank, pod, container, how, code = match.groups()
    at = event_time(event)
    number = deleted_pod_number(job, pod, at) if rank is None else int(rank)
    ranks = () if number is None else ranks_of_recorded(pod, number)
    return _kept(pod, container, ranks, how.split(":")[0], int(code or 1), at.isoformat(), words)


def _kept(
    pod: str, container: str, ranks: tuple[int, ...], why: str, code: int, at: str, words: Sequence[str], uid: str = ""
) -> Ending:
    """An ending of which only this and the last lines of the log are known."""
    lines = parsed("\n".join(words))
    error = reason(lines)
    return Ending(
        pod=pod,
        container=container,
        ranks=ranks,
        reason=why,
        exit_code=code,
        at=at,
        uid=uid,
        has_log=bool(words),
        error=error,
        last_lines=last_lines(lines),
        is_victim=is_victim(Fault(pod=pod, reason=why, container=container, exit_code=code), _last_text(error, lines)),
    )


def deleted_pod_number(job: Json, pod: str, at: datetime) -> int | None:
    """The number in its job of a deleted pod that existed at that time, by its numbered name; None if that has no number."""
    match = re.search(r"-([a-z]+)-(\d+)$", pod)
    if match is None or not was_pod_of(job, pod, at):
        return None
    labels = {REPLICA_TYPE: match[1], REPLICA_INDEX: match[2]}
    return place(job, {"metadata": {"name": pod, "labels": labels}}).pod


def _last_text(error: Error | None, lines: Sequence[Line]) -> str:
    return error.text if error is not None else (lines[-1].text if lines else "")


def _by_cause(found: list[Ending]) -> list[Ending]:
    """Causes first, in the order of time. If all are victims, the first is still a victim: the cause is not in the evidence."""

    def key(ending: Ending) -> tuple[bool, bool, float, str]:
        time = ending.time
        return ending.runs_again, ending.is_victim, time.timestamp() if time else float("inf"), ending.pod

    return sorted(found, key=key)


TOGETHER = timedelta(seconds=1)
"""Times of pods are whole seconds: the order of endings closer than this is unknown."""
