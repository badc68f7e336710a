"""One job as it is looked at again and again: its ranks, which of them differ, its metrics, the last lines of its logs.

`JobViewReader` reads, and keeps what a cluster forgets: the logs as far as they were read, and former reports of progress.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from shunter.api.meta import Json
from shunter.api.resources import PODS
from shunter.jobs.curves import with_report
from shunter.jobs.description import events_about
from shunter.jobs.differing_ranks import Difference, differing_ranks, paces
from shunter.jobs.evidence import evidence_of
from shunter.jobs.failures import failure_cause
from shunter.jobs.logs.metrics import MetricPattern
from shunter.jobs.logs.progress import progress_in_logs
from shunter.jobs.logs.reading import MOST_LINES, RankLogs, no_answer
from shunter.jobs.lookup import own_pods
from shunter.jobs.metrics import Series
from shunter.jobs.rank_states import RankState, rank_states
from shunter.jobs.training_pods import pods_by_rank
from shunter.kube.client import Client
from shunter.kube.errors import Forbidden
from shunter.operator.causes import Cause, cause, owned_by
from shunter.operator.overview import Overview, overview
from shunter.operator.training_progress import Progress, progress

MOST_LOGS = 8
"""Ranks whose logs are read, the first ones, and as many of those that differ."""


class JobView(NamedTuple):
    """A job as it was at one time."""

    row: Overview
    cause: Cause | None
    """What keeps it from training, or why it failed."""
    progress: Progress | None
    states: Sequence[RankState]
    differences: Sequence[Difference]
    series: Sequence[Series]
    """Its metrics, by logs and by reports."""
    last_lines: dict[int, list[str]]
    """What the ranks wrote last whose logs are read."""
    unread: Sequence[str]
    """Kinds that could not be listed."""
    unread_logs: str = ""
    """Why logs could not be read; empty where they could."""


class JobViewReader:
    """Reads one job after another look at it."""

    def __init__(self, client: Client, *, extra: Sequence[MetricPattern] = (), most_lines: int = MOST_LINES) -> None:
        self._client = client
        self._logs = RankLogs(client, extra=extra, most_lines=most_lines)
        self._reported: tuple[Series, ...] = ()

    async def read(self, job: Json, only: Iterable[int] | None = None) -> JobView:
        """The job as it is now. With `only` the logs of these ranks alone are read."""
        evidence, logged = await asyncio.gather(evidence_of(self._client, job), progress_in_logs(self._client, [job]))
        pods, now, row = own_pods(job, evidence.pods), self._client.now(), overview(job)
        jobset = next((child for child in owned_by(evidence, job) if child.get("kind") == "JobSet"), None)
        states = rank_states(job, pods, jobset)
        chosen = {*only} if only is not None else followed_ranks(states)
        unread_logs = "pods could not be listed" if PODS.plural in evidence.unread else ""
        try:
            await self._logs.read(pods_by_rank(job, pods), chosen)
            unread_logs = unread_logs or no_answer(self._logs.silent)
        except Forbidden as error:
            unread_logs = error.message
        reports = self._logs.reports()
        self._reported = with_report(self._reported, job)
        last_lines = {rank: lines for rank in sorted(chosen) if (lines := self._logs.last_lines(rank))}
        words = {one.label: last_lines[one.rank] for one in states if one.label and one.rank in last_lines}
        why = cause(job, evidence, now)
        if row.state == "Failed":
            why = failure_cause(job, pods, events_about(job, pods, evidence), words)
        return JobView(
            row=row,
            cause=why,
            progress=progress(job) or logged.found.get(row.uid),
            states=states,
            differences=differing_ranks(states, paces({rank: report.series for rank, report in reports.items()}, chosen)),
            series=[*(series for report in reports.values() for series in report.series), *self._reported],
            last_lines=last_lines,
            unread=evidence.unread,
            unread_logs=unread_logs,
        )


def followed_ranks(states: Sequence[RankState]) -> set[int]:
    """The ranks whose logs are followed: the first, and the first ones that differ."""
    differ = [one.rank for one in differing_ranks(states, {})][:MOST_LOGS]
    return {*range(min(len(states), MOST_LOGS)), *differ}
