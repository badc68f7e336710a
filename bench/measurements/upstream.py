"""Beside upstream's operators in Go, in turns, on a fresh real API server each: a burst of jobs, and what a job asks for.

Upstream's operators are built by `conformance/build` from their released modules. Their limits on requests are lifted, and they
get eight workers, so that what is compared is what each asks of the API server. For TrainJobs, the Trainer as it is released is
measured as well: 5 workers and 50 requests a second.
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import uvloop

import upstream_operators
from embedded import objects
from figures import Figure, spread
from measurements.operator import NAMESPACE, WRITES, Operator, Plane, named, plane
from shunter.api.meta import Json
from shunter.api.resources import JOBSETS, NAMESPACES, PODS, SECRETS, TRAIN_JOBS, VALIDATING_WEBHOOKS, Resource
from shunter.api.training.job_kind import JobKind
from shunter.api.training.kinds import JOB_KINDS
from shunter.api.training.pytorch import PYTORCH_JOBS
from shunter.kube.errors import NotFound
from upstream_operators import Ports

POLL_SECONDS = 0.05
PATIENCE_SECONDS = 300.0

Start = Callable[[Plane], AbstractAsyncContextManager[Operator]]


def measure(settings: dict[str, Any]) -> list[Figure]:
    """Pods and JobSets of a burst by ours and by upstream's, the ratios, and the requests of one job of each kind by both."""
    upstream_operators.certificates()  # without one they do not start; their webhooks are not called here
    figures: list[Figure] = []
    for resource, template, made, contenders in _BURSTS:
        jobs = settings["jobs"][resource.kind]
        starts: dict[str, Start] = {"shunter": Plane.operator, **contenders}
        seconds: dict[str, list[float]] = {name: [] for name in starts}
        busy = dict.fromkeys(seconds, "")
        for _ in range(settings["rounds"]):
            for name, start in starts.items():
                lasted, busy[name] = uvloop.run(burst(start, resource, objects()[template], made, jobs))
                seconds[name].append(lasted)
        wanted = f"{jobs} {resource.kind}s until all {' and '.join(one.plural for one in made)} are there"
        medians = {name: statistics.median(lasted) for name, lasted in seconds.items()}
        for name, median in medians.items():
            figures.append(Figure(f"{wanted}, {name}", median, "s", f"{spread(seconds[name])}; last {busy[name]}"))
        figures += [Figure(f"{wanted}, shunter / {name}", medians["shunter"] / medians[name], "x") for name in contenders]
    for kind in JOB_KINDS:
        figures += requests_of(kind.resource, v1_job(kind), training_operator, settings["lives"])
    figures += requests_of(TRAIN_JOBS, objects()["train_job"], trainer, settings["lives"])
    return figures


def requests_of(resource: Resource, template: Json, upstream: Start, jobs: int) -> list[Figure]:
    """What one job costs from its creation until it has succeeded, by ours and by upstream's."""
    figures = []
    for name, start in (("shunter", Plane.operator), ("upstream", upstream)):
        counted = uvloop.run(life(start, resource, template, jobs))
        shown = (
            f"{kind} {verb} {count / jobs:.2g}" for (kind, verb), count in sorted(counted.items(), key=lambda item: -item[1])
        )
        figures.append(Figure(f"requests of a {resource.kind}, {name}", sum(counted.values()) / jobs, "", ", ".join(shown)))
    return figures


@asynccontextmanager
async def training_operator(cluster: Plane) -> AsyncIterator[Operator]:
    """Upstream's Training Operator, which serves v1."""
    for resource, body in zip(
        (NAMESPACES, SECRETS, VALIDATING_WEBHOOKS), upstream_operators.needed_by_training_operator(), strict=True
    ):
        await cluster.client.create(resource, body)
    ports = Ports.free()
    async with cluster.running(upstream_operators.training_operator(ports), ports.metrics) as operator:
        yield operator


@asynccontextmanager
async def trainer(cluster: Plane, *, as_released: bool = False) -> AsyncIterator[Operator]:
    """Upstream's Trainer, which serves v2."""
    ports = Ports.free()
    with tempfile.TemporaryDirectory() as directory:
        command = upstream_operators.trainer(ports, Path(directory), as_released=as_released)
        async with cluster.running(command, ports.metrics) as operator:
            yield operator


def released_trainer(cluster: Plane) -> AbstractAsyncContextManager[Operator]:
    """The same with the limits and workers of its release."""
    return trainer(cluster, as_released=True)


async def burst(start: Start, resource: Resource, template: Json, made: dict[Resource, int], jobs: int) -> tuple[float, str]:
    """Seconds from the first of so many POSTs until the running operator has made of all jobs what it makes of one; and the
    processor time until then."""
    async with plane() as cluster, start(cluster) as operator:
        await cluster.create(resource, [named(template, "first")])
        await until_there(cluster, made)
        began = time.perf_counter()
        creation = asyncio.create_task(cluster.create(resource, (named(template, f"job-{number}") for number in range(jobs))))
        await until_there(cluster, {one: number * (jobs + 1) for one, number in made.items()})
        seconds, busy = time.perf_counter() - began, operator.busy()
        await creation
        return seconds, busy


async def until_there(cluster: Plane, wanted: dict[Resource, int]) -> None:
    """Returns when so many objects exist."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        for resource, number in wanted.items():
            while await cluster.counted(resource) < number:  # noqa: ASYNC110  # another process makes them
                await asyncio.sleep(POLL_SECONDS)


async def life(start: Start, resource: Resource, template: Json, jobs: int) -> Counter[tuple[str, str]]:
    """The requests but for lists and watches from the creation of so many jobs until all have succeeded and all is written.

    The states of pods and JobSets are set from here, as nodes and the JobSet controller would; what that asks is not counted.
    """
    async with plane() as cluster, start(cluster):
        await cluster.create(resource, [named(template, "first")])
        await until_succeeded(cluster, resource, 1)
        before, written_here = await settled(cluster), Counter[tuple[str, str]]()
        await cluster.create(resource, (named(template, f"job-{number}") for number in range(jobs)))
        written_here[resource.plural, "POST"] += jobs
        written_here += await until_succeeded(cluster, resource, jobs + 1)
        asked = await settled(cluster) - before - written_here
        return Counter({(kind, verb): count for (kind, verb), count in asked.items() if verb in (*WRITES, "GET")})


async def until_succeeded(cluster: Plane, resource: Resource, jobs: int) -> Counter[tuple[str, str]]:
    """Lets pods run and end, and JobSets complete, until so many jobs have succeeded; what was written for that."""
    written = Counter[tuple[str, str]]()
    async with asyncio.timeout(PATIENCE_SECONDS):
        while await succeeded(cluster, resource) < jobs:
            for one, states in ((PODS, POD_STATES), (JOBSETS, JOBSET_STATES)):
                for found in (await cluster.client.list(one, NAMESPACE, view=dict)).items:
                    status = found.get("status", {})
                    state = states.get(status.get("phase") or status.get("terminalState") or "Pending")
                    if state is None:
                        continue
                    with suppress(NotFound):  # a pod that its job has cleaned up
                        await cluster.client.patch_status(one, found["metadata"]["name"], NAMESPACE, {"status": state})
                    written[f"{one.plural}/status", "PATCH"] += 1
            await asyncio.sleep(1)
    return written


async def succeeded(cluster: Plane, resource: Resource) -> int:
    """How many jobs have ended well."""
    found = (await cluster.client.list(resource, NAMESPACE, view=dict)).items
    conditions = (condition for job in found for condition in job.get("status", {}).get("conditions", ()))
    return sum(one["type"] in ("Succeeded", "Complete") and one["status"] == "True" for one in conditions)


async def settled(cluster: Plane) -> Counter[tuple[str, str]]:
    """The requests so far, once nothing has been written for two seconds."""
    counted = await cluster.requests()
    while True:
        await asyncio.sleep(2)
        before, counted = counted, await cluster.requests()
        if all(counted[key] == before[key] for key in counted if key[1] in WRITES):
            return counted


def v1_job(kind: JobKind) -> Json:
    """A job of the kind with one replica each of its first role and of Worker; two Workers where it has no other role."""
    spec = objects()["job"]["spec"]["pytorchReplicaSpecs"]["Worker"]
    container = {**spec["template"]["spec"]["containers"][0], "name": kind.container}
    replica = {**spec, "template": {"spec": {"containers": [container]}}}
    first = kind.roles[0]
    roles = {"Worker": {**replica, "replicas": 2}} if first == "Worker" else {first: replica, "Worker": replica}
    return {"apiVersion": kind.resource.api_version, "kind": kind.resource.kind, "spec": {kind.replica_specs: roles}}


_BURSTS: tuple[tuple[Resource, str, dict[Resource, int], dict[str, Start]], ...] = (
    (PYTORCH_JOBS, "job", {PODS: 2}, {"upstream": training_operator}),
    (TRAIN_JOBS, "train_job", {JOBSETS: 1}, {"upstream": trainer, "upstream as released": released_trainer}),
)
"""Jobs, their template, what is there of each at the end of a burst, and who is compared with ours."""

_MOMENT = "2026-11-26T12:00:00Z"
POD_STATES: dict[str, Json] = {
    "Pending": {"phase": "Running", "startTime": _MOMENT},
    "Running": {"phase": "Succeeded"},
}
JOBSET_STATES: dict[str, Json] = {
    "Pending": {
        "terminalState": "Completed",
        "conditions": [
            {
                "type": "Completed",
                "status": "True",
                "reason": "AllJobsCompleted",
                "message": "jobset completed successfully",
                "lastTransitionTime": _MOMENT,
            }
        ],
    }
}
