"""Shows what keeps a followed job from training: once when it begins, and once when it has passed."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from shunter.api.meta import Json
from shunter.jobs.evidence import completed
from shunter.jobs.following.display import Display
from shunter.kube.client import Client
from shunter.kube.errors import ApiError
from shunter.operator.causes import Cause, Evidence, cause, runs_in_full
from shunter.operator.overview import is_finished

DEBOUNCE_SECONDS = 1.0
"""Pods, their events and the job's status change one after another: they are looked at together."""
RECHECK_SECONDS = 15.0
"""Seconds between checks without a change: queue positions move, and timeouts pass."""
ENDED_BY_CONDITIONS = ("Suspended", "ScaleInterrupted", "Deleting")
"""Causes whose end is reported by the job's own conditions."""


class Obstacle:
    """What stands in the way of one job. `observed` returns the job, its pods and the events about them as they are now."""

    def __init__(
        self, client: Client, observed: Callable[[], tuple[Json, Sequence[Json], Sequence[Json]]], display: Display
    ) -> None:
        self._client = client
        self._observed = observed
        self._display = display
        self._changed = asyncio.Event()
        self._warnings: list[str] = []
        """Warnings that are told only if no cause says the same."""
        self.cause: Cause | None = None

    def look_soon(self) -> None:
        """Has `run` look again after `DEBOUNCE_SECONDS`, once for all calls until then; returns at once."""
        self._changed.set()

    def warn_unless_cause(self, text: str) -> None:
        """Shows a warning unless the cause covers it."""
        self._warnings.append(text)
        self.look_soon()

    async def run(self) -> None:
        """Looks whenever something has changed; never returns."""
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(RECHECK_SECONDS):
                    await self._changed.wait()
            await asyncio.sleep(DEBOUNCE_SECONDS)
            await self.look()

    async def look(self) -> None:
        """Looks now, and tells what has changed."""
        self._changed.clear()
        job, pods, events = self._observed()
        evidence = Evidence(pods=pods, events=events)
        if not is_finished(job) and not runs_in_full(job, pods):
            # What is not answered now is asked again with the next change.
            with contextlib.suppress(ApiError):
                evidence = await completed(self._client, job, evidence)
        self._tell(job, cause(job, evidence, datetime.now(UTC)))

    def _tell(self, job: Json, found: Cause | None) -> None:
        before, self.cause = self.cause, found
        warnings, self._warnings = self._warnings, []
        if found is not None:
            if before is None or (before.word, before.text) != (found.word, found.text):
                self._display.trouble(str(found))
            return
        if is_finished(job):
            return
        if before is not None and before.word not in ENDED_BY_CONDITIONS:
            self._display.note(f"{before.word} has passed")
        for text in warnings:
            self._display.note(text)
