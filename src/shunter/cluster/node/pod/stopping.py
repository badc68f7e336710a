"""Stopping one container: preStop hook, SIGTERM, and SIGKILL when the grace period is over (kubelet: killContainer)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from shunter.api.meta import Json
from shunter.cluster.node.launch import attempt
from shunter.cluster.node.pod.hooks import run_hook
from shunter.cluster.node.runtime.launcher import Launcher

MIN_GRACE_SECONDS = 2.0
"""What a container gets after a preStop hook that used up the grace period."""


class Stopper:
    """Stops one running attempt. A later, shorter grace period may overtake the first (`kubectl delete --now`)."""

    def __init__(self, launcher: Launcher, directory: Path, container: Json, probe_address: str) -> None:
        self._launcher = launcher
        self._directory = directory
        self._container = container
        self._address = probe_address
        self._task: asyncio.Task[None] | None = None
        self._deadline = 0.0

    def stop(self, grace_seconds: float, failed: Callable[[str], None]) -> None:
        """Begins to stop, or brings the end forward. `failed` gets the complaint of a preStop hook that failed."""
        deadline = asyncio.get_running_loop().time() + grace_seconds
        if self._task is not None:
            if deadline >= self._deadline:
                return
            self._task.cancel()
            self._deadline = deadline
            self._task = asyncio.ensure_future(self._end(deadline))
            return
        self._deadline = deadline
        self._task = asyncio.ensure_future(self._begin(grace_seconds, failed))

    def close(self) -> None:
        """The container has ended."""
        if self._task is not None:
            self._task.cancel()

    async def _begin(self, grace_seconds: float, failed: Callable[[str], None]) -> None:
        hook = (self._container.get("lifecycle") or {}).get("preStop")
        if hook and grace_seconds > 0:
            complaint = await run_hook(
                self._launcher, self._directory, self._container, hook, address=self._address, timeout=grace_seconds
            )
            if complaint:
                failed(complaint)
        remaining = self._deadline - asyncio.get_running_loop().time()
        minimum = min(MIN_GRACE_SECONDS, grace_seconds)
        await self._end(asyncio.get_running_loop().time() + max(remaining, minimum))

    async def _end(self, deadline: float) -> None:
        wait = deadline - asyncio.get_running_loop().time()
        if wait > 0:
            attempt.send_control(str(self._directory), attempt.TERMINATE)
            await asyncio.sleep(wait)
        attempt.send_control(str(self._directory), attempt.KILL)
