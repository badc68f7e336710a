"""Many jobs at once on a cluster that simulates their pods: everything but the processes is real."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import aiohttp
import msgspec

import usage
from embedded import Cluster, cluster, job
from figures import Figure
from load import create

JOBS = "/apis/kubeflow.org/v1/namespaces/default/pytorchjobs"
PATIENCE_SECONDS = 300.0


class Condition(msgspec.Struct):
    type: str
    status: str


class Status(msgspec.Struct):
    conditions: list[Condition] = []


class Metadata(msgspec.Struct):
    name: str


class Job(msgspec.Struct):
    metadata: Metadata
    status: Status = msgspec.field(default_factory=Status)

    @property
    def is_running(self) -> bool:
        return any(condition.type == "Running" and condition.status == "True" for condition in self.status.conditions)


class Event(msgspec.Struct):
    object: Job


def measure(settings: dict[str, Any]) -> list[Figure]:
    jobs = settings["jobs"]
    with cluster("--simulate") as started:
        pids = {name: pid for name, pid in started.processes().items() if name != "supervisor"}
        before = {name: usage.processor_seconds([pid]) for name, pid in pids.items()}
        running = Running(started, jobs)
        begun = time.perf_counter()
        sent = create(started, JOBS, job(), "job", jobs, clients=settings["clients"])
        seconds = running.wait() - begun
        busy = ", ".join(f"{name} {usage.processor_seconds([pid]) - before[name]:.1f} s" for name, pid in pids.items())
        operator = usage.resident([pids["operator"]])
    return [
        Figure("jobs to Running", jobs / seconds, "jobs/s", f"{jobs} jobs of 2 pods in {seconds:.1f} s; CPU: {busy}"),
        Figure("jobs accepted", sent.per_second, "jobs/s", "validated by the operator's webhook"),
        Figure("operator memory afterwards", operator, "MiB", f"with {2 * jobs} pods cached"),
    ]


class Running:
    """Watches, in a thread of its own, until so many jobs are Running."""

    def __init__(self, started: Cluster, jobs: int) -> None:
        self._cluster = started
        self._wanted = jobs
        self._watching = threading.Event()
        self._done = threading.Event()
        self._at = 0.0
        threading.Thread(target=lambda: asyncio.run(self._watch()), daemon=True).start()
        self._watching.wait(10)

    def wait(self) -> float:
        """When the last of them was seen Running, on the clock of time.perf_counter."""
        if not self._done.wait(PATIENCE_SECONDS):
            raise TimeoutError(f"not all {self._wanted} jobs were Running within {PATIENCE_SECONDS:.0f} s")
        return self._at

    async def _watch(self) -> None:
        running: set[str] = set()
        decode = msgspec.json.Decoder(Event).decode
        timeout = aiohttp.ClientTimeout(total=PATIENCE_SECONDS)
        headers = {"Authorization": f"Bearer {self._cluster.token}"}
        async with (
            aiohttp.ClientSession(timeout=timeout, headers=headers) as session,
            session.get(f"{self._cluster.server}{JOBS}?watch=true", ssl=self._cluster.tls) as response,
        ):
            self._watching.set()
            buffer = b""
            async for chunk in response.content.iter_any():
                *lines, buffer = (buffer + chunk).split(b"\n")
                seen = [decode(line).object for line in lines]
                running.update(job.metadata.name for job in seen if job.is_running)
                if len(running) >= self._wanted:
                    self._at = time.perf_counter()
                    self._done.set()
                    return
