"""Reports on their way to the API server: of each job at most one write a second, however many come in.

A job's first report is written at once, and its sender gets the answer of the API server. From then on a report that surely
will be accepted is acknowledged at once: no training step waits for a slow API server. It, or a newer one in its place, is
written when a second has passed since the last write. What the API server would refuse is not acknowledged, but has its own turn.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from logging import getLogger

from shunter.api.meta import Json
from shunter.api.resources import TRAIN_JOBS
from shunter.kube.client import Client
from shunter.kube.controllers.plan import Key
from shunter.kube.errors import ApiError, BadRequest, Invalid
from shunter.operator.trainer.statusserver.report import is_acceptable

log = getLogger(__name__)

FIELD_MANAGER = "trainer-status"
INTERVAL_SECONDS = 1.0
KNOWN_SECONDS = 60.0
"""For so long after its last report a job counts as one that is there."""
MOST_WAITING = 64
"""Reports of one job that wait for their own answer; more are turned away."""
STOP_SECONDS = 5.0
"""For what is acknowledged and not written when the process ends."""


class TooManyReportsError(Exception):
    """Too many reports of this job are waiting."""


@dataclass(slots=True)
class _Report:
    status: Json
    answer: asyncio.Future[None] | None = None
    """Whom to tell how it went; None for a report that is acknowledged."""

    def settle(self, error: ApiError | None) -> None:
        if self.answer is not None and not self.answer.done():
            if error is None:
                self.answer.set_result(None)
            else:
                self.answer.set_exception(error)
        elif error is not None and self.answer is None:
            log.debug("an acknowledged report could not be written: %s", error.message)


@dataclass(slots=True)
class _Job:
    waiting: list[_Report] = field(default_factory=list)
    news: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when something waits, or nothing will come any more."""
    is_there: bool = False
    """Whether the last write went well: the job exists, and is ours to write."""
    task: asyncio.Task[None] | None = None


class StatusWriter:
    """Writes trainerStatus of any job. `wrote` hears how each write ended: an HTTP code, or `<error>`."""

    def __init__(
        self, client: Client, *, interval: float = INTERVAL_SECONDS, wrote: Callable[[str], None] = lambda code: None
    ) -> None:
        self._client = client
        self._interval = interval
        self._wrote = wrote
        self._jobs: dict[Key, _Job] = {}
        self._closing = asyncio.Event()

    @property
    def jobs(self) -> int:
        """The number of jobs with stored state."""
        return len(self._jobs)

    async def report(self, key: Key, status: Json) -> None:
        """Returns when the report, or a newer one, is written or surely will be. Raises TooManyReportsError, and ApiError with
        what the API server says."""
        job = self._jobs.setdefault(key, _Job())
        report = _Report(status)
        if job.is_there and is_acceptable(status):
            job.waiting = [other for other in job.waiting if other.answer is not None]
        elif len(job.waiting) >= MOST_WAITING:
            raise TooManyReportsError
        else:
            report.answer = asyncio.get_running_loop().create_future()
        job.waiting.append(report)
        job.news.set()
        if job.task is None:
            job.task = asyncio.create_task(self._write_all(key, job))
        if report.answer is not None:
            await report.answer

    async def close(self) -> None:
        """Writes what is acknowledged, at once. No reports may come any more."""
        self._closing.set()
        for job in self._jobs.values():
            job.news.set()
        tasks = [job.task for job in self._jobs.values() if job.task is not None]
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=STOP_SECONDS)
            for task in late:
                task.cancel()

    async def _write_all(self, key: Key, job: _Job) -> None:
        """Writes until nothing has been reported for a while; then forgets the job, at once if it does not exist."""
        while await self._has_news(job):
            interval = asyncio.create_task(self._pause())
            await self._write(key, job)
            await interval
        del self._jobs[key]

    async def _has_news(self, job: _Job) -> bool:
        if not job.waiting and job.is_there and not self._closing.is_set():
            job.news.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(KNOWN_SECONDS):
                    await job.news.wait()
        return bool(job.waiting)

    async def _pause(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(self._interval):
                await self._closing.wait()

    async def _write(self, key: Key, job: _Job) -> None:
        """One write: the newest report, for all that wait."""
        reports, job.waiting = job.waiting, []
        newest = reports[-1]
        error = await self._applied(key, newest.status)
        if isinstance(error, Invalid | BadRequest) and len(reports) > 1:
            # The others may be better.
            newest.settle(error)
            job.waiting = [*reports[:-1], *job.waiting]
            return
        job.is_there = error is None
        for report in reports:
            report.settle(error)

    async def _applied(self, key: Key, status: Json) -> ApiError | None:
        body = TRAIN_JOBS.typed({"metadata": key._asdict(), "status": {"trainerStatus": status}})
        try:
            await self._client.apply(TRAIN_JOBS, body, subresource="status", field_manager=FIELD_MANAGER)
        except ApiError as error:
            self._wrote(str(error.code or "<error>"))
            return error
        self._wrote("200")
        return None
