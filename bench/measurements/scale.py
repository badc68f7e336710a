"""How the operator grows from 100 to 10,000 jobs of each generation on a real API server: rate, memory, requests, restart."""

from __future__ import annotations

import asyncio
import json
import signal
import time
from collections import Counter
from typing import Any

import uvloop

from embedded import objects
from figures import Figure
from measurements.operator import Plane, named, plane
from shunter.api.resources import JOBSETS, PODS, SERVICES, TRAIN_JOBS, Resource
from shunter.api.training.pytorch import PYTORCH_JOBS

UPSTREAM_LEASE = {"leaseDuration": "15s", "renewDeadline": "10s", "retryPeriod": "2s"}
SHORT_LEASE = {"leaseDuration": "4s", "renewDeadline": "3s", "retryPeriod": "500ms"}
FOLLOWER_READY_SECONDS = 3
TEMPLATES = {"TrainJobs": (TRAIN_JOBS, "train_job", {JOBSETS: 1}), "PyTorchJobs": (PYTORCH_JOBS, "job", {PODS: 2, SERVICES: 2})}
"""Of each kind: what is made, of which template, and what the operator makes of one."""


def measure(settings: dict[str, Any]) -> list[Figure]:
    """The figures of each kind at each size, how far the rate falls from the best size to the largest, and failovers."""
    figures: list[Figure] = []
    for kind, (resource, template, wanted) in TEMPLATES.items():
        rates = []
        for jobs in settings["sizes"]:
            found = uvloop.run(grown(kind, resource, objects()[template], wanted, jobs))
            rates.append(found[0].value)
            figures += found
        figures.append(Figure(f"{kind}, rate at most jobs / best rate", rates[-1] / max(rates), "x"))
    for how, lease in ((signal.SIGTERM, UPSTREAM_LEASE), (signal.SIGKILL, UPSTREAM_LEASE), (signal.SIGKILL, SHORT_LEASE)):
        figures.append(uvloop.run(failover(how, lease, settings["failover_jobs"])))
    return figures


async def failover(how: signal.Signals, lease: dict[str, str], jobs: int) -> Figure:
    """Seconds from the end of the leader, in the midst of its work, until the other replica makes the next pod."""
    configuration = {"apiVersion": "config.trainer.kubeflow.org/v1alpha1", "kind": "Configuration", "leaderElection": lease}
    async with plane() as cluster:
        await cluster.create(PYTORCH_JOBS, (named(objects()["job"], f"job-{number}") for number in range(jobs)))
        file = cluster.parts.directory / "operator.yaml"
        file.write_text(json.dumps(configuration))
        flags = ("--no-webhooks", "--config", str(file))
        async with cluster.operator(flags) as leader:
            await leader.seconds_until({PODS: jobs // 4})
            async with cluster.operator(flags) as follower:
                await asyncio.sleep(FOLLOWER_READY_SECONDS)
                ended = time.perf_counter()
                leader.stop(how)
                left = await cluster.counted(PODS)
                await follower.seconds_until({PODS: left + 1})
                seconds = time.perf_counter() - ended
                await follower.seconds_until({PODS: 2 * jobs, SERVICES: 2 * jobs})
                await follower.idle_share(1)
                made = (await cluster.requests())["pods", "POST"]
    note = f"after {left} of {2 * jobs} pods; {made} requests to make pods in all"
    return Figure(f"failover, {how.name}, lease of {lease['leaseDuration']}", seconds, "s", note)


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
            database = await cluster.database_size() / 2**20
        first, counted = await caught_up(cluster, jobs)
    size = f"{jobs:,} {kind}"
    return [
        Figure(f"{size}: rate", jobs / seconds, "jobs/s", f"{seconds:.1f} s; {busy}"),
        Figure(f"{size}: peak memory", memory, "MiB"),
        Figure(f"{size}: requests a job", sum(requests.values()) / jobs, "requests", by_kind(requests, jobs)),
        Figure(f"{size}: etcd's database", database, "MiB"),
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
