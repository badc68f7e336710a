"""How a followed job ended, and why: the same for the command and for Python."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import aclosing, suppress
from typing import NamedTuple

from shunter.api.core import pod_has_ended
from shunter.api.meta import Json
from shunter.api.resources import PODS
from shunter.jobs.failures import LOG_MARK, NamedCause, cause_and_remedy, failure_lines, only_victims
from shunter.jobs.following.follower import JobEnd
from shunter.jobs.last_log_lines import last_log_lines
from shunter.kube.client import Client
from shunter.kube.errors import ApiError
from shunter.kube.watching import follow
from shunter.operator.causes import Evidence
from shunter.operator.diagnosis import TOGETHER
from shunter.operator.overview import Overview, overview, pod_selector

LATE_FAILURE_SECONDS = TOGETHER.total_seconds()
"""How long the state of the rank that the others lost is waited for."""


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
        """Whether the job was deleted while it was followed: it has neither succeeded nor failed."""
        return self.end.job is None

    @property
    def succeeded(self) -> bool:
        """False also for a job that was deleted."""
        return not self.is_deleted and self.job.state == "Succeeded"

    @property
    def sentence(self) -> str:
        """`TrainJob team/train failed: node-1: exit code 1: ValueError: no data`."""
        title = self.job.title
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
    pods, logs = await _pods_and_logs(client, end.job, end)
    why, remedy = cause_and_remedy(end.job, pods, [], logs, diagnosed(end.job, Evidence(pods=pods)))
    reasons = tuple(text for text in dict.fromkeys((why, remedy, row.message)) if text) or ("it gives no reason",)
    return Outcome(end, row, reasons, without_repeated_log(failure_lines(end.job, pods, logs), why))


async def _pods_and_logs(client: Client, job: Json, end: JobEnd) -> tuple[list[Json], dict[str, list[str]]]:
    """The pods of the job's last try, and the last words of those that failed. States of pods arrive in any order: where all that
    are known to have failed lost a peer, those that still run are waited for."""
    pods = {pod["metadata"]["uid"]: pod for pod in end.pods}
    logs = await last_log_lines(client, job, end.pods, end.written)
    running = {uid for uid, pod in pods.items() if not pod_has_ended(pod)}
    if not running or not only_victims(job, end.pods, logs):
        return end.pods, logs
    changes = follow(client, PODS, job["metadata"]["namespace"], label_selector=pod_selector(job), known=end.pods)
    with suppress(ApiError, TimeoutError):
        async with asyncio.timeout(LATE_FAILURE_SECONDS), aclosing(changes):
            async for seen in changes:
                uid = seen.object["metadata"]["uid"]
                if uid not in running:
                    continue
                pods[uid] = seen.object
                if seen.gone or pod_has_ended(seen.object):
                    running.discard(uid)
                    logs = await last_log_lines(client, job, [*pods.values()], end.written)
                if not running or not only_victims(job, [*pods.values()], logs):
                    break
    return [*pods.values()], logs


def without_repeated_log(lines: Sequence[str], headline: str) -> tuple[str, ...]:
    """The lines of `failure_lines` without a log that is one line, where the headline quotes it."""
    log = [line for line in lines if line.startswith(LOG_MARK)]
    is_repeated = len(log) == 1 and log[0].removeprefix(LOG_MARK).strip() in headline
    return tuple(line for line in lines if not (is_repeated and line in log))
