"""How a followed job ended, and why: the same for the command and for Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from shunter.api.meta import Json
from shunter.jobs.failures import LOG_MARK, NamedCause, cause_and_remedy, failure_lines
from shunter.jobs.following import JobEnd
from shunter.jobs.last_log_lines import last_log_lines
from shunter.kube.client import Client
from shunter.operator.causes import Evidence
from shunter.operator.overview import Overview, overview


class Outcome(NamedTuple):
    """How one job ended."""

    end: JobEnd
    job: Overview
    """As it was last."""
    reasons: tuple[str, ...] = ()
    """Of a job that failed: first why, in one line, then what the job says of itself; at least one."""
    faults: tuple[str, ...] = ()
    """What failed, with its last words, line by line."""

    @property
    def is_deleted(self) -> bool:
        return self.end.job is None

    @property
    def succeeded(self) -> bool:
        return not self.is_deleted and self.job.state == "Succeeded"

    @property
    def sentence(self) -> str:
        """`TrainJob team/train failed: node-1: exit code 1: ValueError: no data`."""
        title = f"{self.job.kind} {self.job.namespace}/{self.job.name}"
        if self.succeeded:
            return f"{title} succeeded"
        return f"{title} was deleted" if self.is_deleted else f"{title} failed: {self.reasons[0]}"


async def outcome(
    client: Client, end: JobEnd, applied: Json, diagnosed: Callable[[Json, Evidence], NamedCause | None] = lambda *_: None
) -> Outcome:
    """How the job that was `applied` ended; of one that failed the last words of its ranks are read. `diagnosed` says what else
    is known of its cause."""
    if end.job is None:
        return Outcome(end, overview(applied))
    row = overview(end.job)
    if row.state == "Succeeded":
        return Outcome(end, row)
    logs = await last_log_lines(client, end.job, end.pods, end.written)
    why, remedy = cause_and_remedy(end.job, end.pods, [], logs, diagnosed(end.job, Evidence(pods=end.pods)))
    reasons = tuple(text for text in dict.fromkeys((why, remedy, row.message)) if text) or ("it gives no reason",)
    return Outcome(end, row, reasons, without_repeated_log(failure_lines(end.job, end.pods, logs), why))


def without_repeated_log(lines: Sequence[str], headline: str) -> tuple[str, ...]:
    """The lines of `failure_lines` without a log that is one line, where the headline quotes it."""
    log = [line for line in lines if line.startswith(LOG_MARK)]
    is_repeated = len(log) == 1 and log[0].removeprefix(LOG_MARK).strip() in headline
    return tuple(line for line in lines if not (is_repeated and line in log))
