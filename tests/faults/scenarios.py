"""The lives of jobs as tests lead them: what users and pods do, step by step, and what the cluster holds once it is at rest."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import fnmatch
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from typing import Any, NamedTuple

from faults.history import History, true_conditions
from faults.invariants import ROOT_CA
from faults.operators import Clock
from player.pod_status import pod_status
from player.shape import UNKNOWN, Json, Shapes
from shunter.api.resources import (
    CLUSTER_TRAINING_RUNTIMES,
    CONFIG_MAPS,
    JOBS,
    JOBSETS,
    NAMESPACES,
    PODS,
    ROLE_BINDINGS,
    ROLES,
    SECRETS,
    SERVICE_ACCOUNTS,
    SERVICES,
    TRAIN_JOBS,
    TRAINING_RUNTIMES,
    Resource,
)
from shunter.api.training.mpi import MPI_JOBS
from shunter.api.training.pytorch import PYTORCH_JOBS
from shunter.kube.client import Client
from shunter.kube.errors import Invalid, NotFound

TOUCHED = "shunter.dev/touched"
RANDOM = re.compile(r"\b[0-9a-f]{40}\b|kube-api-access-[a-z0-9]{5}")
"""Hashes that JobSet makes of names, the namespace's among them; volumes that admission adds to pods."""

SHOWN = (PYTORCH_JOBS, MPI_JOBS, PODS, SERVICES, TRAIN_JOBS, CONFIG_MAPS, SECRETS, ROLES, ROLE_BINDINGS, JOBSETS, JOBS)
"""The kinds whose objects tell whether two histories came to the same end."""


class Stage:
    """One namespace in which one life is led."""

    def __init__(self, history: History, namespace: str, clock: Clock) -> None:
        self.history = history
        self.client: Client = history.client
        self.namespace = namespace
        self.clock = clock
        self._shapes = Shapes()
        self._shaped = 0
        self._shown: dict[tuple[str, str], Json] = {}
        """By uid and version: making it costs more than anything else in these tests."""

    async def make_namespace(self, *, has_service_accounts: bool) -> None:
        """Returns when pods can be made in it."""
        await self.client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.namespace}})
        while has_service_accounts:
            try:
                await self.client.get(SERVICE_ACCOUNTS, "default", self.namespace)
                return
            except NotFound:
                await self.history.quiet(self.namespace, seconds=0.02)

    async def create(self, resource: Resource, body: Json) -> Json:
        return await self.client.create(resource, body, self.namespace)

    async def patch(self, resource: Resource, name: str, patch: Json) -> None:
        await self.client.patch(resource, name, self.namespace, patch)

    async def pods(self, pattern: str, phase: str, **how: Any) -> None:
        """Says how the pods are doing whose names match; `exitCode`, `reason` and the like as in the player's steps."""
        for pod in self.history.present(PODS, self.namespace):
            if fnmatch.fnmatch(pod["metadata"]["name"], pattern):
                await self.pod(pod["metadata"]["name"], phase, **how)

    async def pod(self, name: str, phase: str, **how: Any) -> None:
        """Says how one pod is doing, unless it is on its way out."""
        pod = self.get(PODS, name)
        if pod is not None and pod["metadata"].get("deletionTimestamp") is None:
            status = pod_status(copy.deepcopy(pod), {"phase": phase, **how})
            with contextlib.suppress(NotFound):
                await self.client.patch(PODS, name, self.namespace, {"status": status}, subresource="status")

    async def pass_time(self, resource: Resource, name: str, **time: float) -> None:
        """Sets the operators' clock forward and makes them look at the object, unless they have deleted it already."""
        self.clock.offset += timedelta(**time)
        stamp = str(self.clock.offset.total_seconds())
        with contextlib.suppress(NotFound):
            await self.patch(resource, name, {"metadata": {"annotations": {TOUCHED: stamp}}})

    async def take(self, step: Step) -> None:
        """Does what the step says, and waits until it is reached."""
        await step.act(self)
        await self.history.until(lambda: step.reached(self), otherwise=lambda: f"{step.name}: {self.shown()}")

    def get(self, resource: Resource, name: str) -> Json | None:
        return self.history.get(resource, self.namespace, name)

    def count(self, resource: Resource, phase: str = "") -> int:
        objects = self.history.present(resource, self.namespace)
        return sum(1 for obj in objects if not phase or obj.get("status", {}).get("phase") == phase)

    def jobs_status(self, name: str, counter: str) -> int:
        """What a TrainJob counts of its Jobs."""
        job = self.get(TRAIN_JOBS, name) or {}
        return sum(entry.get(counter, 0) for entry in job.get("status", {}).get("jobsStatus", []))

    def conditions(self, resource: Resource, name: str) -> list[str]:
        return [*true_conditions(self.get(resource, name))]

    def shown(self) -> Json:
        """What is there, without what differs from run to run. Pods of Jobs are the Job controller's."""
        changes = self.history.changes[self._shaped :]
        self._shaped += len(changes)
        for seen in changes:
            if seen.object["metadata"]["namespace"] == self.namespace:
                self._shapes.see(seen.object)
        shown: Json = {}
        for resource in SHOWN:
            for obj in self.history.present(resource, self.namespace):
                name = obj["metadata"]["name"]
                if name != ROOT_CA and not (resource == PODS and "generateName" in obj["metadata"]):
                    shown[f"{resource.kind}/{name}"] = self._shown_object(obj)
        return shown

    def _shown_object(self, obj: Json) -> Json:
        version = obj["metadata"]["uid"], obj["metadata"]["resourceVersion"]
        if version in self._shown:
            return self._shown[version]
        shown: Json = _without_namespace(self._shapes.shown(obj), self.namespace)
        if obj["kind"] == JOBS.kind:  # how soon pods go is the Job controller's
            shown.get("status", {}).pop("terminating", None)
        if UNKNOWN not in str(shown):  # another watch has yet to tell whose uid it is
            self._shown[version] = shown
        return shown


class Step(NamedTuple):
    """What is done, and how one sees that the cluster is through with it; it may have to come to rest still."""

    name: str
    act: Callable[[Stage], Awaitable[Any]]
    reached: Callable[[Stage], bool]


class Scenario(NamedTuple):
    name: str
    steps: tuple[Step, ...]


HELD = "shunter.dev/test"
"""The finalizer that stands for the time which the kubelet gives pods."""


@contextlib.asynccontextmanager
async def deleted_pods_fail(stage: Stage) -> AsyncIterator[None]:
    """Pods of the namespace run once they are made, and fail by a signal when they are deleted, before they go."""

    async def patch(name: str, patch: Json, subresource: str = "") -> None:
        with contextlib.suppress(NotFound, Invalid):
            await stage.client.patch(PODS, name, stage.namespace, patch, subresource=subresource)

    async def keep() -> None:
        while True:
            known = len(stage.history.changes)
            for pod in stage.history.present(PODS, stage.namespace):
                metadata, phase = pod["metadata"], pod.get("status", {}).get("phase", "Pending")
                is_held, is_leaving = HELD in metadata.get("finalizers", ()), "deletionTimestamp" in metadata
                if not is_held and not is_leaving:
                    await patch(metadata["name"], {"metadata": {"finalizers": [HELD]}})
                elif is_leaving and phase != "Running":
                    await patch(metadata["name"], {"metadata": {"finalizers": None}})
                elif is_leaving or phase == "Pending":
                    how: Json = {"phase": "Failed", "exitCode": 137} if is_leaving else {"phase": "Running"}
                    await patch(metadata["name"], {"status": pod_status(copy.deepcopy(pod), how)}, "status")
            await stage.history.beyond(known)

    keeping = asyncio.create_task(keep())
    try:
        yield
    finally:
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)


def _without_namespace(value: Any, namespace: str) -> Any:
    if isinstance(value, dict):
        return {key: _without_namespace(item, namespace) for key, item in value.items() if key not in (TOUCHED, "generation")}
    if isinstance(value, list):
        return [_without_namespace(item, namespace) for item in value]
    return RANDOM.sub("<random>", value.replace(namespace, "NAMESPACE")) if isinstance(value, str) else value


def pytorch_job(name: str = "j", *, workers: int = 2, restart_policy: str = "ExitCode", **run_policy: Any) -> Json:
    """A Master and workers; the run policy in its wire names."""
    container = {"name": "pytorch", "image": "any:1", "command": ["true"]}
    template = {"spec": {"containers": [container]}}
    roles = {"Master": {"replicas": 1, "restartPolicy": restart_policy, "template": template}}
    if workers:
        roles["Worker"] = {"replicas": workers, "restartPolicy": restart_policy, "template": template}
    return {
        "apiVersion": PYTORCH_JOBS.api_version,
        "kind": "PyTorchJob",
        "metadata": {"name": name},
        "spec": {"pytorchReplicaSpecs": roles, "runPolicy": run_policy},
    }


def mpi_job(name: str = "j", *, workers: int = 2, **run_policy: Any) -> Json:
    """A launcher and workers, whose pods are made again when a signal ended them."""
    container = {"name": "mpi", "image": "any:1", "command": ["true"]}
    role = {"restartPolicy": "ExitCode", "template": {"spec": {"containers": [container]}}}
    return {
        "apiVersion": MPI_JOBS.api_version,
        "kind": "MPIJob",
        "metadata": {"name": name},
        "spec": {"mpiReplicaSpecs": {"Launcher": role, "Worker": {**role, "replicas": workers}}, "runPolicy": run_policy},
    }


def training_runtime(name: str = "torch", *, nodes: int = 2) -> Json:
    """A runtime of the namespace, for torch."""
    job_spec = {
        "backoffLimit": 0,
        "template": {"spec": {"containers": [{"name": "node", "image": "any:1", "command": ["true"]}]}},
    }
    metadata = {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}}
    replicated = {"name": "node", "template": {"metadata": metadata, "spec": job_spec}}
    return {
        "apiVersion": TRAINING_RUNTIMES.api_version,
        "kind": "TrainingRuntime",
        "metadata": {"name": name, "labels": {"trainer.kubeflow.org/framework": "torch"}},
        "spec": {
            "mlPolicy": {"numNodes": nodes, "torch": {}},
            "template": {"spec": {"replicatedJobs": [replicated]}},
        },
    }


def mpi_runtime(name: str = "mpi") -> Json:
    """A runtime of the namespace whose launcher is one of the nodes."""
    runtime = training_runtime(name)
    (launcher,) = runtime["spec"]["template"]["spec"]["replicatedJobs"]
    node = {"name": "node", "template": {"spec": launcher["template"]["spec"]}}
    runtime["spec"] = {
        "mlPolicy": {"mpi": {"runLauncherAsNode": True}},
        "template": {"spec": {"replicatedJobs": [node, {**launcher, "name": "launcher"}]}},
    }
    return runtime


def train_job(name: str = "j", *, runtime: str = "torch", **spec: Any) -> Json:
    return {
        "apiVersion": TRAIN_JOBS.api_version,
        "kind": "TrainJob",
        "metadata": {"name": name},
        "spec": {
            "runtimeRef": {"name": runtime, "kind": "TrainingRuntime", "apiGroup": CLUSTER_TRAINING_RUNTIMES.group},
            "trainer": {"numNodes": 2},
            **spec,
        },
    }
