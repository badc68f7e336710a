"""Shows the cause that keeps a followed job from training: once when it begins, and once when it has passed."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence

from shunter.api.meta import Json
from shunter.jobs.evidence import completed
from shunter.jobs.following.pipe_display import Display
from shunter.kube.client import Client
from shunter.kube.errors import ApiError
from shunter.operator.causes import Cause, Evidence, cause, runs_in_full
from shunter.operator.overview import is_finished

DEBOUNCE_SECONDS = 1.0
"""The delay of a check after a change: pods, their events and the job's status change shortly after each other."""
RECHECK_SECONDS = 15.0
"""The interval of checks without a change: positions in queues change, and timeouts pass."""
ENDED_BY_CONDITIONS = ("Suspended", "ScaleInterrupted", "Deleting")
"""Causes whose end is reported by the job's own conditions."""


class Obstacle:
    """Checks what keeps one job from training. `observed` returns the job, its pods and the events about them."""

    def __init__(
        self, client: Client, observed: Callable[[], tuple[Json, Sequence[Json], Sequence[Json]]], display: Display
    ) -> None:
        self._client = client
        self._observed = observed
        self._display = display
        self._changed = asyncio.Event()
        self._warnings: list[str] = []
        """Warnings that are shown unless there is a cause."""
        self.cause: Cause | None = None

    def check_soon(self) -> None:
        """Makes `run` check again after `DEBOUNCE_SECONDS`, once for all calls until then."""
        self._changed.set()

    def warn_unless_cause(self, text: str) -> None:
        """Shows a warning with the next check, unless there is a cause."""
        self._warnings.append(text)
        self.check_soon()

    async def run(self) -> None:
        """Checks after each change; never returns."""
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(RECHECK_SECONDS):
                    await self._changed.wait()
            await asyncio.sleep(DEBOUNCE_SECONDS)
            await self.check()

    async def check(self) -> None:
        """Checks now, and shows what has changed."""
        self._changed.clear()
        job, pods, events = self._observed()
        evidence = Evidence(pods=pods, events=events)
        if not is_finished(job) and not runs_in_full(job, pods):
            # After an error the next check tries again.
            with contextlib.suppress(ApiError):
                evidence = await completed(self._client, job, evidence)
        self._show(job, cause(job, evidence, self._client.now()))

    def _show(self, job: Json, found: Cause | None) -> None:
        before, self.cause = self.cause, found
        warnings, self._warnings = self._warnings, []
        if found is not None:
            if before is None or (before.word, before.text) != (found.word, found.text):
                self._display.problem(str(found))
            return
        if is_finished(job):
            return
        if before is not None and before.word not in ENDED_BY_CONDITIONS:
            self._display.note(f"{before.word} has passed")
        for text in warnings:
            self._display.note(text)
