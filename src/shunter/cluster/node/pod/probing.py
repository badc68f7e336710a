"""The hook and probes of one running container: postStart, then the startup probe, then liveness and readiness in parallel
(kubelet: prober)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from shunter.api.meta import Json
from shunter.cluster.node.pod.hooks import run_hook
from shunter.cluster.node.runtime.launcher import Launcher

_HOOK_SECONDS = 3600.0
"""Kubernetes has no time-out for postStart; an endless one would be a leak."""


class Health(NamedTuple):
    """The results of a container's probes. A probe that is not defined counts as successful."""

    started: bool
    ready: bool


class Reports(NamedTuple):
    """Callbacks of a prober: for changed health, a failed probe (kind, output), a container that must be restarted (kind), and a
    failed postStart hook (output)."""

    changed: Callable[[Health], None]
    failed: Callable[[str, str], None]
    unhealthy: Callable[[str], None]
    post_start_failed: Callable[[str], None]


class Prober:
    """Runs the probes of one attempt until closed."""

    def __init__(self, launcher: Launcher, directory: Path, container: Json, address: str, reports: Reports) -> None:
        self._launcher = launcher
        self._directory = directory
        self._container = container
        self._address = address
        self._reports = reports
        self._post_start = (container.get("lifecycle") or {}).get("postStart")
        self.health = Health(
            started="startupProbe" not in container and not self._post_start, ready="readinessProbe" not in container
        )
        needed = self._post_start or any(f"{kind}Probe" in container for kind in ("startup", "liveness", "readiness"))
        self._task = asyncio.ensure_future(self._run()) if needed else None

    def close(self) -> None:
        """Stops probing; a probe or hook that is running is cancelled."""
        if self._task is not None:
            self._task.cancel()

    async def _run(self) -> None:
        if self._post_start:
            complaint = await self._ask(self._post_start, _HOOK_SECONDS)
            if complaint:
                self._reports.post_start_failed(complaint)
                return
        if "startupProbe" in self._container and not await self._follow("startup", until_success=True):
            return
        self._set(self.health._replace(started=True))
        async with asyncio.TaskGroup() as group:
            for kind in ("liveness", "readiness"):
                if f"{kind}Probe" in self._container:
                    group.create_task(self._follow(kind))

    async def _follow(self, kind: str, *, until_success: bool = False) -> bool:
        """Probes again and again. Returns True at the first success if asked to, False when the container has to go."""
        probe = self._container[f"{kind}Probe"]
        period = float(probe.get("periodSeconds") or 10)
        successes = failures = 0
        await asyncio.sleep(float(probe.get("initialDelaySeconds") or 0))
        while True:
            complaint = await self._ask(probe, float(probe.get("timeoutSeconds") or 1))
            if complaint:
                successes, failures = 0, failures + 1
                self._reports.failed(kind, complaint)
            else:
                successes, failures = successes + 1, 0
            if successes >= int(probe.get("successThreshold") or 1):
                if until_success:
                    return True
                if kind == "readiness":
                    self._set(self.health._replace(ready=True))
            elif failures >= int(probe.get("failureThreshold") or 3):
                if kind == "readiness":
                    self._set(self.health._replace(ready=False))
                else:
                    self._reports.unhealthy(kind)
                    return False
            await asyncio.sleep(period)

    async def _ask(self, handler: Json, timeout: float) -> str:
        return await run_hook(self._launcher, self._directory, self._container, handler, address=self._address, timeout=timeout)

    def _set(self, health: Health) -> None:
        if health != self.health:
            self.health = health
            self._reports.changed(health)
