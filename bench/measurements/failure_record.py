"""What the record of failures (RankFailed, `rankFailures`) costs the operator: bursts of jobs whose pods run and end, in turns
with an operator that keeps no record.

On a real control plane with its Job and JobSet controllers; the pods are those of a simulated node. None of them fails: that is
what most pods do, and what the record must not cost.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import uvloop
import yaml

sys.path.append(str(Path(__file__).resolve().parents[2] / "conformance"))

import usage
from control_plane import ControlPlane
from embedded import SHUNTER, objects
from figures import Figure, spread
from measurements.operator import PATIENCE_SECONDS, ROOT, Plane, named, service_account_kubeconfig, until_served
from shunter.api.meta import Json
from shunter.api.resources import (
    CLUSTER_TRAINING_RUNTIMES,
    CUSTOM_RESOURCE_DEFINITIONS,
    NAMESPACES,
    NODES,
    PODS,
    TRAIN_JOBS,
    Resource,
)
from shunter.api.training.pytorch import PYTORCH_JOBS
from shunter.cluster.free_ports import free_port
from shunter.cluster.node.runtime.simulated import SECONDS_ANNOTATION
from shunter.kube import kubeconfig
from shunter.kube.client import connect
from shunter.operator.trainer.runtimes import shipped

NAMESPACE = "burst"
NODE = "simulated"
POD_SECONDS = "1"
ROOM = "cpu=10000,memory=100000Gi,pods=10000"
WITH = [sys.executable, "-m", "shunter.cli.main", "operator"]
WITHOUT = [sys.executable, str(ROOT / "bench" / "unrecording_operator.py")]
FLAGS = ["--no-webhooks", "--no-leader-elect", "--health-probe-bind-address", "0"]
ENDED = {"Succeeded", "Complete"}
QUIET_SECONDS = 3.0
"""For what an operator writes about the jobs before."""


class Burst(NamedTuple):
    """Of one operator and one burst of jobs: seconds until all were over, and its processor time for them."""

    seconds: float
    processor_seconds: float


def measure(settings: dict[str, Any]) -> list[Figure]:
    """For each kind of job the ratios with / without the record, of pairs of bursts."""
    figures: list[Figure] = uvloop.run(_measure(settings))
    return figures


async def _measure(settings: dict[str, Any]) -> list[Figure]:
    jobs: int = settings["jobs"]
    figures: list[Figure] = []
    async with cluster() as plane:
        for kind, resource, template in (("TrainJobs", TRAIN_JOBS, train_job()), ("PyTorchJobs", PYTORCH_JOBS, pytorch_job())):
            pairs = []
            for turn in range(settings["pairs"]):
                order = (WITH, WITHOUT) if turn % 2 else (WITHOUT, WITH)
                found = {command[1]: await burst(plane, command, resource, template, jobs) for command in order}
                pairs.append((found[WITH[1]], found[WITHOUT[1]]))
                print(f"{kind}: with {pairs[-1][0]}, without {pairs[-1][1]}, load {os.getloadavg()[0]:.1f}", file=sys.stderr)
            figures += compared(kind, jobs, pairs)
    return figures


def compared(kind: str, jobs: int, pairs: list[tuple[Burst, Burst]]) -> list[Figure]:
    processor = [recorded.processor_seconds / plain.processor_seconds for recorded, plain in pairs]
    rate = [plain.seconds / recorded.seconds for recorded, plain in pairs]
    per_job = statistics.median(recorded.processor_seconds for recorded, _ in pairs) / jobs
    per_second = statistics.median(jobs / recorded.seconds for recorded, _ in pairs)
    return [
        Figure(
            f"{kind}: processor time, with / without",
            statistics.median(processor),
            "times",
            f"{spread(processor)}, {len(pairs)} pairs of {jobs} jobs of two pods; {1000 * per_job:.1f} ms a job",
        ),
        Figure(f"{kind}: rate, with / without", statistics.median(rate), "times", f"{spread(rate)}; {per_second:.1f} jobs/s"),
    ]


async def burst(plane: Plane, command: list[str], resource: Resource, template: Json, jobs: int) -> Burst:
    """From the first POST until all jobs are over, with one that is over before; nothing of them is left afterwards."""
    port = free_port()
    async with plane.running([*command, *FLAGS, "--metrics-bind-address", f"127.0.0.1:{port}"], port) as operator:
        await plane.create(resource, [named(template, "first", NAMESPACE)])
        await until_over(plane, resource, 1)
        await asyncio.sleep(QUIET_SECONDS)
        before, began = usage.processor_seconds([operator.pid]), time.perf_counter()
        await plane.create(resource, (named(template, f"job-{number}", NAMESPACE) for number in range(jobs)))
        await until_over(plane, resource, jobs + 1)
        seconds = time.perf_counter() - began
        await asyncio.sleep(QUIET_SECONDS)
        found = Burst(seconds, usage.processor_seconds([operator.pid]) - before)
        await plane.client.raw("DELETE", resource.path(NAMESPACE), params={"propagationPolicy": "Background"})
        for kind in (resource, PODS):
            await until(plane, kind, 0)
    return found


async def until_over(plane: Plane, resource: Resource, jobs: int) -> None:
    """Returns when so many jobs have ended well."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            items = (await plane.client.list(resource, NAMESPACE, view=dict)).items
            conditions = (one for job in items for one in job.get("status", {}).get("conditions", ()))
            if sum(one["type"] in ENDED and one["status"] == "True" for one in conditions) >= jobs:
                return
            await asyncio.sleep(0.5)


async def until(plane: Plane, resource: Resource, number: int) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while await plane.counted(resource, NAMESPACE) != number:  # noqa: ASYNC110  # another process makes it so
            await asyncio.sleep(0.2)


@asynccontextmanager
async def cluster() -> AsyncIterator[Plane]:
    """A whole control plane with a simulated node, our kinds, and a runtime whose pods end by themselves."""
    with tempfile.TemporaryDirectory(prefix="shunter-bench-") as folder, ControlPlane(Path(folder)) as parts:
        async with connect(kubeconfig.load(parts.kubeconfig), component="bench") as client:
            for file in sorted((ROOT / "deploy" / "crds").glob("*.yaml")):
                if "jobset" not in file.name:
                    await client.apply(CUSTOM_RESOURCE_DEFINITIONS, yaml.load(file.read_text(), yaml.CSafeLoader))
            for resource in (PYTORCH_JOBS, TRAIN_JOBS):
                await until_served(partial(client.list, resource, "default", view=dict))
            parts.learn_kinds()
            for runtime in shipped():
                for replicated in runtime["spec"]["template"]["spec"]["replicatedJobs"]:
                    template = replicated["template"]["spec"]["template"]
                    template.setdefault("metadata", {}).setdefault("annotations", {})[SECONDS_ANNOTATION] = POD_SECONDS
                await until_served(partial(client.apply, CLUSTER_TRAINING_RUNTIMES, runtime))
            tolerated = json.dumps([{"operator": "Exists"}])
            annotations = {"scheduler.alpha.kubernetes.io/defaultTolerations": tolerated}
            await client.create(NAMESPACES, {"metadata": {"name": NAMESPACE, "annotations": annotations}})
            identity = await service_account_kubeconfig(parts, client)
            with simulated_node(parts, Path(folder) / "node"):
                await until_served(partial(client.get, NODES, NODE, view=dict))
                yield Plane(parts, client, identity)


@contextmanager
def simulated_node(parts: ControlPlane, state: Path) -> Iterator[None]:
    """Whose pods run from the moment they are bound, without processes."""
    flags = {"level": "simulated", "name": NODE, "allocatable": ROOM, "address": "127.0.0.1"}
    flags |= {"state-dir": str(state), "kubeconfig": str(parts.kubeconfig)}
    command = [SHUNTER, "node", *(f"--{name}={value}" for name, value in flags.items())]
    node = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        node.terminate()
        node.wait(30)


def train_job() -> Json:
    return dict(objects()["train_job"])


def pytorch_job() -> Json:
    job: Json = objects()["job"]
    for replica in job["spec"]["pytorchReplicaSpecs"].values():
        replica["template"]["metadata"] = {"annotations": {SECONDS_ANNOTATION: POD_SECONDS}}
    return job
