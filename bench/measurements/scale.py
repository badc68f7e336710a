"""How the operator grows from 100 to 10,000 jobs of each generation on a real API server: rate, memory, requests, restart."""

from __future__ import annotations

from collections import Counter
from typing import Any

import uvloop

from embedded import objects
from figures import Figure
from measurements.operator import Plane, named, plane
from shunter.api.resources import JOBSETS, PODS, SERVICES, TRAIN_JOBS, Resource
from shunter.api.training.pytorch import PYTORCH_JOBS

TEMPLATES = {"TrainJobs": (TRAIN_JOBS, "train_job", {JOBSETS: 1}), "PyTorchJobs": (PYTORCH_JOBS, "job", {PODS: 2, SERVICES: 2})}
"""Of each kind: what is made, of which template, and what the operator makes of one."""


def measure(settings: dict[str, Any]) -> list[Figure]:
    """The figures of each kind at each size, and how far the rate falls from the smallest size to the largest."""
    figures: list[Figure] = []
    for kind, (resource, template, wanted) in TEMPLATES.items():
        rates = []
        for jobs in settings["sizes"]:
            found = uvloop.run(grown(kind, resource, objects()[template], wanted, jobs))
            rates.append(found[0].value)
            figures += found
        figures.append(Figure(f"{kind}, rate at most jobs / best rate", rates[-1] / max(rates), "x"))
    return figures


async def grown(kind: str, resource: Resource, template: Any, wanted: dict[Resource, int], jobs: int) -> list[Figure]:
    """One control plane with so many jobs, which wait when the operator starts; then a second operator that finds all done."""
    async with plane() as cluster:
        await cluster.create(resource, (named(template, f"job-{number}") for number in range(jobs)))
        before = await cluster.requests()
        async with cluster.operator() as operator:
            seconds = await operator.seconds_until({one: number * jobs for one, number in wanted.items()})
            busy = operator.busy()
            await operator.idle_share(2)
            requests = await cluster.requests() - before
            memory = operator.peak_memory()
        first, counted = await caught_up(cluster, jobs)
    size = f"{jobs:,} {kind}"
    return [
        Figure(f"{size}: rate", jobs / seconds, "jobs/s", f"{seconds:.1f} s; {busy}"),
        Figure(f"{size}: peak memory", memory, "MiB"),
        Figure(f"{size}: requests a job", sum(requests.values()) / jobs, "requests", by_kind(requests, jobs)),
        Figure(f"{size}: restart until caught up", first, "s", f"{counted} writes"),
    ]


async def caught_up(cluster: Plane, jobs: int) -> tuple[float, int]:
    """Seconds from the start of another operator until it has looked at all jobs, and what it wrote."""
    before = await cluster.writes()
    async with cluster.operator() as operator:
        seconds = await operator.seconds_until_reconciled(jobs)
        await operator.idle_share(1)
        return seconds, await cluster.writes() - before


def by_kind(requests: Counter[tuple[str, str]], jobs: int) -> str:
    """`pods POST 2, events POST 3`, per job; what is less than one for ten jobs is left out."""
    counted = sorted(requests.items(), key=lambda item: -item[1])
    return ", ".join(f"{kind} {verb} {count / jobs:.2g}" for (kind, verb), count in counted if count >= jobs / 10)
