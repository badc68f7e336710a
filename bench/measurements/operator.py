"""The operator alone against a real kube-apiserver and etcd, fresh for each load: a backlog of jobs that waits when it starts.

No controller of Kubernetes runs beside it, so nothing but the operator makes pods, services and JobSets; and no webhook is
asked, because the jobs are there before the operator is.
"""

from __future__ import annotations

import asyncio
import json
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import uvloop
import yaml

sys.path.append(str(Path(__file__).resolve().parents[2] / "conformance"))

import usage
from control_plane import ControlPlane
from embedded import objects
from figures import Figure
from shunter.api.meta import Json
from shunter.api.resources import (
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_TRAINING_RUNTIMES,
    CONFIG_MAPS,
    CUSTOM_RESOURCE_DEFINITIONS,
    EVENTS,
    JOBSETS,
    PODS,
    ROLE_BINDINGS,
    ROLES,
    SECRETS,
    SERVICE_ACCOUNTS,
    SERVICES,
    TRAIN_JOBS,
    Resource,
)
from shunter.api.training.kinds import JOB_KINDS
from shunter.api.training.pytorch import PYTORCH_JOBS
from shunter.cluster.free_ports import free_port
from shunter.kube import kubeconfig
from shunter.kube.client import Client, connect
from shunter.operator.trainer.runtimes import shipped

ROOT = Path(__file__).resolve().parents[2]
NAMESPACE = "default"
PATIENCE_SECONDS = 400.0
POLL_SECONDS = 0.2
"""Every look is a list that the API server has to count; a tenth of a second more or less is no matter."""
REQUESTS = re.compile(
    r'^apiserver_request_total\{[^}]*,resource="([a-z]+)"[^}]*,subresource="([a-z/]*)"[^}]*,verb="([A-Z]+)"[^}]*\} (\d+)', re.M
)
DATABASE_SIZE = re.compile(r"^apiserver_storage_size_bytes\{[^}]*\} (\S+)", re.M)
MADE_FOR_JOBS = (PODS, SERVICES, JOBSETS, CONFIG_MAPS, SECRETS, SERVICE_ACCOUNTS, ROLES, ROLE_BINDINGS, EVENTS)
COUNTED = {resource.plural for resource in (TRAIN_JOBS, *(kind.resource for kind in JOB_KINDS), *MADE_FOR_JOBS)}
WRITES = ("POST", "PUT", "PATCH", "APPLY", "DELETE", "DELETECOLLECTION")
RECONCILES = re.compile(rb"^controller_runtime_reconcile_total\{[^}]*\} (\d+)", re.M)


def measure(settings: dict[str, Any]) -> list[Figure]:
    """TrainJobs to JobSets, PyTorchJobs to pods and services, one large PyTorchJob, a restart, and many jobs at rest."""
    figures: list[Figure] = []
    for load in (train_jobs, pytorch_jobs, one_large_job, restart, live_jobs):
        figures += uvloop.run(load(settings))
    return figures


async def train_jobs(settings: dict[str, Any]) -> list[Figure]:
    jobs = settings["jobs"]
    async with plane() as cluster:
        await cluster.create(TRAIN_JOBS, (named(objects()["train_job"], f"job-{number}") for number in range(jobs)))
        async with cluster.operator() as operator:
            seconds = await operator.seconds_until({JOBSETS: jobs})
            note = f"{jobs} TrainJobs in {seconds:.1f} s; {operator.busy()}"
            idle = await operator.idle_share(settings["idle_seconds"])
            return [
                Figure("TrainJobs to JobSets", jobs / seconds, "jobs/s", note),
                Figure("peak memory, TrainJobs", operator.peak_memory(), "MiB", f"after {jobs} jobs"),
                Figure("idle CPU, TrainJobs", idle * 100, "% of one core"),
            ]


async def pytorch_jobs(settings: dict[str, Any]) -> list[Figure]:
    jobs = settings["jobs"]
    async with plane() as cluster:
        await cluster.create(PYTORCH_JOBS, (named(objects()["job"], f"job-{number}") for number in range(jobs)))
        async with cluster.operator() as operator:
            seconds = await operator.seconds_until({PODS: 2 * jobs, SERVICES: 2 * jobs})
            note = f"{jobs} PyTorchJobs of 2 pods in {seconds:.1f} s; {operator.busy()}"
            idle = await operator.idle_share(settings["idle_seconds"])
            return [
                Figure("PyTorchJobs to pods and services", jobs / seconds, "jobs/s", note),
                Figure("peak memory, PyTorchJobs", operator.peak_memory(), "MiB", f"after {jobs} jobs, {2 * jobs} pods"),
                Figure("idle CPU, PyTorchJobs", idle * 100, "% of one core"),
            ]


async def one_large_job(settings: dict[str, Any]) -> list[Figure]:
    job = named(objects()["job"], "large")
    replicas = job["spec"]["pytorchReplicaSpecs"]
    replicas["Worker"] = {**replicas["Worker"], "replicas": settings["workers"]}
    async with plane() as cluster:
        await cluster.create(PYTORCH_JOBS, [job])
        async with cluster.operator() as operator:
            seconds = await operator.seconds_until({PODS: settings["workers"] + 1})
            return [
                Figure("pods of one large PyTorchJob", seconds, "s", f"{settings['workers'] + 1} pods; {operator.busy()}"),
                Figure("peak memory, one large job", operator.peak_memory(), "MiB"),
            ]


async def restart(settings: dict[str, Any]) -> list[Figure]:
    """Finished jobs only: whatever the operator wrote for them would be a write too many."""
    jobs = settings["finished_jobs"]
    finished = json.dumps(objects()["finished_status"])

    def finish(name: str) -> Awaitable[object]:
        status = json.loads(finished.replace("NAME", name))
        return cluster.client.patch_status(PYTORCH_JOBS, name, NAMESPACE, {"status": status})

    async with plane() as cluster:
        await cluster.create(PYTORCH_JOBS, (named(objects()["job"], f"job-{number}") for number in range(jobs)))
        await each((f"job-{number}" for number in range(jobs)), finish)
        before = await cluster.writes()
        async with cluster.operator() as operator:
            seconds = await operator.seconds_until_reconciled(jobs)
            await asyncio.sleep(1)
            written = await cluster.writes() - before
            return [
                Figure("restart until caught up", seconds, "s", f"{jobs} finished jobs, each looked at once; {operator.busy()}"),
                Figure("writes of a restart", written, "writes", "seen by the API server"),
                Figure("memory after a restart", operator.peak_memory(), "MiB", f"{jobs} finished jobs cached"),
            ]


async def live_jobs(settings: dict[str, Any]) -> list[Figure]:
    """As many unfinished jobs as a large cluster has; nothing happens to them."""
    jobs = settings["live_jobs"]
    job = objects()["job"]
    master = job["spec"]["pytorchReplicaSpecs"]["Master"]
    job = {**job, "spec": {**job["spec"], "pytorchReplicaSpecs": {"Master": master}}}
    async with plane() as cluster:
        await cluster.create(PYTORCH_JOBS, (named(job, f"job-{number}") for number in range(jobs)))
        async with cluster.operator() as operator:
            await operator.seconds_until({PODS: jobs, SERVICES: jobs})
        # Its successor has no events to tell for minutes to come.
        async with cluster.operator() as operator:
            seconds = await operator.seconds_until_reconciled(jobs)
            idle = await operator.idle_share(settings["idle_seconds"])
            note = f"{jobs} unfinished jobs with a pod and a service each; caught up after {seconds:.1f} s"
            return [
                Figure("memory, live jobs", operator.peak_memory(), "MiB", note),
                Figure("idle CPU, live jobs", idle * 100, "% of one core"),
            ]


class Plane(NamedTuple):
    """A control plane with our kinds, a client of it that may do everything, and the operator's own credentials."""

    parts: ControlPlane
    client: Client
    operator_kubeconfig: Path

    async def create(self, resource: Resource, bodies: Iterable[Json]) -> None:
        await each(bodies, lambda body: self.client.create(resource, body))

    async def counted(self, resource: Resource, namespace: str = NAMESPACE) -> int:
        """Objects of the kind, without reading them all."""
        group = f"apis/{resource.group}" if resource.group else "api"
        path = f"/{group}/{resource.version}/namespaces/{namespace}/{resource.plural}"
        page = yaml.CSafeLoader(await self.client.raw("GET", path, params={"limit": "1"})).get_data()
        return len(page["items"]) + int(page["metadata"].get("remainingItemCount", 0))

    async def writes(self) -> int:
        """Write requests about our kinds and what we make for them that the API server has answered so far."""
        return sum(count for (_, verb), count in (await self.requests()).items() if verb in WRITES)

    async def metrics(self) -> str:
        return (await self.client.raw("GET", "/metrics", headers={"Accept": "text/plain"})).decode()

    async def database_size(self) -> int:
        """Bytes of etcd's file, with what is to be compacted."""
        return sum(int(float(size)) for size in DATABASE_SIZE.findall(await self.metrics()))

    async def requests(self) -> Counter[tuple[str, str]]:
        """Requests about jobs and what is made for them that the API server has answered so far, by kind, as in
        `pytorchjobs/status`, and verb."""
        counted = Counter[tuple[str, str]]()
        for resource, subresource, verb, count in REQUESTS.findall(await self.metrics()):
            if resource in COUNTED:
                counted["/".join(filter(None, (resource, subresource))), verb] += int(count)
        return counted

    @asynccontextmanager
    async def operator(self, flags: Sequence[str] = ("--no-webhooks", "--no-leader-elect")) -> AsyncIterator[Operator]:
        """The operator, started as users start it, until the end of the block."""
        command = [sys.executable, "-m", "shunter.cli.main", "operator", *flags, "--health-probe-bind-address", "0"]
        port = free_port()
        async with self.running([*command, "--metrics-bind-address", f"127.0.0.1:{port}"], port) as operator:
            yield operator

    @asynccontextmanager
    async def running(self, command: Sequence[str], metrics_port: int) -> AsyncIterator[Operator]:
        """A process of any operator, with the operator's credentials, until the end of the block."""
        operator = Operator(self, [*command, "--kubeconfig", str(self.operator_kubeconfig)], metrics_port)
        try:
            yield operator
        finally:
            operator.stop()


class Operator:
    """A running operator: `shunter operator`, or one of upstream's."""

    def __init__(self, plane: Plane, command: Sequence[str], metrics_port: int) -> None:
        self._plane = plane
        self._port = metrics_port
        self._servers_before = usage.processor_seconds(self._server_pids())
        self._started = time.perf_counter()
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    @property
    def pid(self) -> int:
        return self._process.pid

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        self._process.send_signal(how)
        self._process.wait(30)

    async def seconds_until(self, wanted: dict[Resource, int], namespace: str = NAMESPACE) -> float:
        """From the start of the process until so many objects are there."""

        async def are_there() -> bool:
            for resource, number in wanted.items():
                if await self._plane.counted(resource, namespace) < number:
                    return False
            return True

        return await self._seconds_until(are_there)

    async def seconds_until_reconciled(self, keys: int) -> float:
        """From the start of the process until it has looked at so many objects."""

        async def has_looked() -> bool:
            try:
                text = await asyncio.to_thread(self._metrics)
            except OSError:
                return False
            return sum(float(count) for count in RECONCILES.findall(text)) >= keys

        return await self._seconds_until(has_looked)

    async def idle_share(self, seconds: float) -> float:
        """Share of one core that it uses once its events are written, over so many seconds."""
        await asyncio.sleep(seconds)
        while True:
            before = usage.processor_seconds([self._process.pid])
            written = await self._plane.writes()
            await asyncio.sleep(seconds)
            if await self._plane.writes() == written:
                return (usage.processor_seconds([self._process.pid]) - before) / seconds

    def peak_memory(self) -> float:
        return usage.peak_resident(self._process.pid)

    def busy(self) -> str:
        """Processor time since the start, ours and that of API server and etcd."""
        servers = usage.processor_seconds(self._server_pids()) - self._servers_before
        return f"CPU: operator {usage.processor_seconds([self._process.pid]):.1f} s, API server and etcd {servers:.1f} s"

    def _metrics(self) -> bytes:
        with urllib.request.urlopen(f"http://127.0.0.1:{self._port}/metrics", timeout=5) as answer:
            content: bytes = answer.read()
        return content

    def _server_pids(self) -> list[int]:
        return [int((self._plane.parts.directory / f"{part}.pid").read_text()) for part in ("etcd", "kube-apiserver")]

    async def _seconds_until(self, holds: Callable[[], Awaitable[bool]]) -> float:
        while time.perf_counter() - self._started < PATIENCE_SECONDS:
            if await holds():
                return time.perf_counter() - self._started
            if self._process.poll() is not None:
                raise RuntimeError(f"the operator ended with {self._process.returncode}")
            await asyncio.sleep(POLL_SECONDS)
        raise TimeoutError(f"not within {PATIENCE_SECONDS:.0f} s")


@asynccontextmanager
async def plane() -> AsyncIterator[Plane]:
    """A fresh control plane of etcd and kube-apiserver alone, with our CRDs and runtimes."""
    with tempfile.TemporaryDirectory(prefix="shunter-bench-") as folder:
        parts = ControlPlane(Path(folder), parts=("etcd", "kube-apiserver"))
        parts.start()
        try:
            async with connect(kubeconfig.load(parts.kubeconfig), component="bench") as client:
                for file in sorted((ROOT / "deploy" / "crds").glob("*.yaml")):
                    await client.apply(CUSTOM_RESOURCE_DEFINITIONS, yaml.load(file.read_text(), yaml.CSafeLoader))
                for runtime in shipped():
                    await until_served(partial(client.apply, CLUSTER_TRAINING_RUNTIMES, runtime))
                for resource in (PYTORCH_JOBS, TRAIN_JOBS, JOBSETS):
                    await until_served(partial(client.list, resource, NAMESPACE, view=dict))
                yield Plane(parts, client, await service_account_kubeconfig(parts, client))
        finally:
            parts.stop()


async def service_account_kubeconfig(parts: ControlPlane, client: Client) -> Path:
    """With the token of a service account, as an installed operator has it: a certificate would be verified at every request,
    which costs the API server a twelfth of its time."""
    account = {"kind": "ServiceAccount", "name": "operator", "namespace": NAMESPACE}
    await client.create(SERVICE_ACCOUNTS, {"metadata": {"name": "operator"}}, NAMESPACE)
    role = {"apiGroup": CLUSTER_ROLE_BINDINGS.group, "kind": "ClusterRole", "name": "cluster-admin"}
    await client.create(CLUSTER_ROLE_BINDINGS, {"metadata": {"name": "operator"}, "roleRef": role, "subjects": [account]})
    path = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/operator/token"
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"audiences": []}}
    answer = json.loads(await client.raw("POST", path, body=json.dumps(request).encode()))
    content = json.loads(parts.kubeconfig.read_text())
    content["users"][0]["user"] = {"token": answer["status"]["token"]}
    kubeconfig_path = parts.directory / "kubeconfig-operator"
    kubeconfig_path.write_text(json.dumps(content))
    return kubeconfig_path


async def until_served(ask: Callable[[], Awaitable[object]]) -> None:
    """Asks until the API server knows the kind."""
    from shunter.kube.errors import NotFound

    while True:
        try:
            await ask()
        except NotFound:
            await asyncio.sleep(0.1)
        else:
            return


async def each(items: Iterable[Any], write: Callable[[Any], Awaitable[object]], *, at_once: int = 32) -> None:
    """Writes all of them, so many at a time."""
    waiting = iter(items)

    async def worker() -> None:
        for item in waiting:
            await write(item)

    await asyncio.gather(*(worker() for _ in range(at_once)))


def named(template: Json, name: str, namespace: str = NAMESPACE) -> Json:
    return {**template, "metadata": {"name": name, "namespace": namespace}}
