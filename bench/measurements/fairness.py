"""How long a job waits for its pods while the operator works off the jobs of another namespace, on a real API server."""

from __future__ import annotations

import asyncio
import statistics
import time
from typing import Any, NamedTuple

import uvloop

from embedded import objects
from figures import Figure, spread
from measurements.operator import PATIENCE_SECONDS, Plane, named, plane
from shunter.api.meta import Json
from shunter.api.resources import NAMESPACES, PODS
from shunter.api.training.pytorch import PYTORCH_JOBS

FLOODED = "flood"
POLL_SECONDS = 0.01


class Flood(NamedTuple):
    """So many PyTorchJobs with so many Workers beside the Master, in a namespace of their own."""

    jobs: int
    workers: int = 1

    @property
    def pods(self) -> int:
        return self.jobs * (1 + self.workers)


def measure(settings: dict[str, Any]) -> list[Figure]:
    """Seconds from the creation of a job of two pods until both are there: alone, beside many small jobs, beside large ones."""
    others = settings["jobs_of_others"]
    alone, _ = uvloop.run(seconds_beside(Flood(1), others))
    figures = [Figure("pods of a job, alone", statistics.median(alone), "s", f"{spread(alone)}, {others} jobs")]
    small, large = settings["small"], settings["large"]
    for size, flood in (("small", Flood(small["jobs"])), ("large", Flood(large["jobs"], large["workers"]))):
        seconds, made = uvloop.run(seconds_beside(flood, others))
        if made >= flood.pods:
            raise RuntimeError(f"All {made} pods of the {size} jobs were there before those of {others} jobs beside them.")
        beside = f"{flood.jobs:,} of {1 + flood.workers:,} pods, {made:,} of {flood.pods:,} made by the end"
        note = f"{spread(seconds)}, {others} jobs; {beside}"
        figures.append(Figure(f"pods of a job, beside {size} jobs", statistics.median(seconds), "s", note))
    return figures


async def seconds_beside(flood: Flood, others: int) -> tuple[list[float], int]:
    """For so many jobs of another namespace, one after the other once the flood is being worked off; and how many pods of the
    flood were there at the end."""
    template = objects()["job"]
    replicas = template["spec"]["pytorchReplicaSpecs"]
    workers = {**replicas["Worker"], "replicas": flood.workers}
    flooding = {**template, "spec": {**template["spec"], "pytorchReplicaSpecs": {**replicas, "Worker": workers}}}
    async with plane() as cluster:
        await cluster.client.create(NAMESPACES, {"metadata": {"name": FLOODED}})
        await cluster.create(PYTORCH_JOBS, (named(flooding, f"job-{number}", FLOODED) for number in range(flood.jobs)))
        async with cluster.operator() as operator:
            await operator.seconds_until({PODS: flood.pods // 20 + 1}, FLOODED)
            seconds = [await seconds_until_pods(cluster, named(template, f"other-{number}")) for number in range(others)]
            return seconds, await cluster.counted(PODS, FLOODED)


async def seconds_until_pods(cluster: Plane, job: Json) -> float:
    """From the creation of the job until its namespace has two pods more."""
    before = await cluster.counted(PODS)
    started = time.perf_counter()
    await cluster.client.create(PYTORCH_JOBS, job)
    while time.perf_counter() - started < PATIENCE_SECONDS:
        if await cluster.counted(PODS) >= before + 2:
            return time.perf_counter() - started
        await asyncio.sleep(POLL_SECONDS)
    raise TimeoutError(f"not within {PATIENCE_SECONDS:.0f} s")
