"""How a followed job ended, and why: for the command and for the Python API."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import aclosing, suppress
from datetime import datetime
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
"""How long to wait for the failure of the rank that the failed ranks lost."""


class Outcome(NamedTuple):
    """How one job ended."""

    end: JobEnd
    job: Overview
    """Its last known state."""
    reasons: tuple[str, ...] = ()
    """For a failed job, at least one: first the cause in one line, then its remedy, then the job's own message."""
    faults: tuple[str, ...] = ()
    """What failed, with the last log lines, line by line."""

    @property
    def is_deleted(self) -> bool:
        """Whether the job was deleted while it was followed, so that it neither succeeded nor failed."""
        return self.end.job is None

    @property
    def succeeded(self) -> bool:
        """Whether the job succeeded; False for a deleted job."""
        return not self.is_deleted and self.job.state == "Succeeded"

    @property
    def sentence(self) -> str:
        """`TrainJob team/train failed: node-1: exit code 1: ValueError: no data`."""
        title = self.job.title
        if self.succeeded:
            return f"{title} succeeded"
        return f"{title} was deleted" if self.is_deleted else f"{title} failed: {self.reasons[0]}"


async def outcome(
    client: Client,
    end: JobEnd,
    applied: Json,
    diagnosed: Callable[[Json, Evidence, datetime], NamedCause | None] = lambda *_: None,
) -> Outcome:
    """How the `applied` job ended; for a failed job, reads the last log lines of its ranks. `diagnosed` may return a more
    specific cause."""
    if end.job is None:
        return Outcome(end, overview(applied))
    row = overview(end.job)
    if row.state == "Succeeded":
        return Outcome(end, row)
    pods, logs = await _pods_and_logs(client, end.job, end)
    why, remedy = cause_and_remedy(end.job, pods, [], logs, diagnosed(end.job, Evidence(pods=pods), client.now()))
    reasons = tuple(text for text in dict.fromkeys((why, remedy, row.message)) if text) or ("it gives no reason",)
    return Outcome(end, row, reasons, without_repeated_log(failure_lines(end.job, pods, logs), why))


async def _pods_and_logs(client: Client, job: Json, end: JobEnd) -> tuple[list[Json], dict[str, list[str]]]:
    """The pods of the job's last attempt, and the last log lines of the failed ones. States of pods arrive in any order: if all
    pods known to have failed only lost a peer, this waits for those that still run."""
    pods = {pod["metadata"]["uid"]: pod for pod in end.pods}
    logs = await last_log_lines(client, job, end.pods, end.written)
    running = {uid for uid, pod in pods.items() if not pod_has_ended(pod)}
    if not running or not only_victims(job, end.pods, logs):
        return end.pods, logs
    changes = follow(client, PODS, job["metadata"]["namespace"], label_selector=pod_selector(job), initial=end.pods)
    with suppress(ApiError, TimeoutError):
        async with asyncio.timeout(LATE_FAILURE_SECONDS), aclosing(changes):
            async for change in changes:
                uid = change.object["metadata"]["uid"]
                if uid not in running:
                    continue
                pods[uid] = change.object
                if change.gone or pod_has_ended(change.object):
                    running.discard(uid)
                    logs = await last_log_lines(client, job, [*pods.values()], end.written)
                if not running or not only_victims(job, [*pods.values()], logs):
                    break
    return [*pods.values()], logs


def without_repeated_log(lines: Sequence[str], headline: str) -> tuple[str, ...]:
    """The lines of `failure_lines`, without a log of a single line that the headline already quotes."""
    log = [line for line in lines if line.startswith(LOG_MARK)]
    is_repeated = len(log) == 1 and log[0].removeprefix(LOG_MARK).strip() in headline
    return tuple(line for line in lines if not (is_repeated and line in log))
