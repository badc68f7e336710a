"""Gives a running job another number of nodes, and waits until they are there. Whatever can be refused is refused before anything
is written; killed at any point, the same call again finishes it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import NamedTuple

from shunter.api.core import pod_has_ended
from shunter.api.formats.counts import count
from shunter.api.meta import Json
from shunter.api.resources import CONFIG_MAPS, JOBSETS, PODS, TRAIN_JOBS, Resource
from shunter.api.shapes import ShapeError, shaped
from shunter.api.trainer.trainjob import TrainJob
from shunter.errors import EnvironmentProblem, InputError
from shunter.kube.client import Client
from shunter.kube.errors import ApiError, Conflict, Invalid, NotFound
from shunter.launch.node_counts import (
    desired_counts,
    next_write,
    pod_counts,
    present_counts,
    require_scalable,
    worker_count,
    workers_of,
)
from shunter.launch.runtimes.choice import nodes_of
from shunter.operator.overview import is_pod_of, is_suspended, overview, pod_selector
from shunter.operator.restarts import is_jobset_of
from shunter.operator.trainer.snapshot import KINDS, not_found, runtime_in, snapshot_name
from shunter.operator.trainer.views import ConfigMap, Runtime

LOOK_SECONDS = 0.2
QUIET_SECONDS = 3.0
"""How long pods may take to end before a message says what is waited for."""
STOP_SECONDS = 60.0
"""How long the operator may take to begin."""


class ScaledJob(NamedTuple):
    """A job with another number of nodes: as it was read before, and as it was written last."""

    before: Json
    job: Json
    nodes: int
    """How many nodes it had before."""

    @property
    def is_suspended(self) -> bool:
        """Whether it stays suspended, as its owner or a queue wants it."""
        return is_suspended(self.job)


async def scale_trainjob(client: Client, job: Json, nodes: int) -> ScaledJob:
    """Writes the number into a TrainJob; one that runs is suspended and resumed for it, and the operator makes the change when
    its pods are gone. InputError for jobs that cannot have it; then nothing is written."""
    before, namespace, name = job, job["metadata"]["namespace"], job["metadata"]["name"]
    require_scalable(job, nodes)
    runtime = await runtime_in_use(client, job)
    nodes_before = nodes_of(job, runtime)
    if desired_counts(job, runtime, nodes) == present_counts(job, runtime) and not is_suspended(job):
        return ScaledJob(job, job, nodes_before)
    while patch := next_write(job, nodes):
        try:
            job = _named(await client.patch(TRAIN_JOBS, name, namespace, patch))
        except Conflict:
            job = _named(await client.get(TRAIN_JOBS, name, namespace))
            if job["metadata"]["uid"] != before["metadata"]["uid"]:
                raise InputError(f"TrainJob {namespace}/{name} was deleted, and another of its name was created.") from None
            require_scalable(job, nodes)
        except Invalid as error:
            if "field is immutable" in error.message:
                raise InputError(
                    f"TrainJob {namespace}/{name} cannot be scaled: spec.trainer is immutable in this cluster's CRD of "
                    "TrainJobs, which is not Shunter's.",
                    "Install Shunter's with: shunter install; or create the job again with that many nodes.",
                ) from error
            raise InputError(
                f"--nodes {nodes} of TrainJob {namespace}/{name} is rejected: {error.message}", error.remedy
            ) from error
    return ScaledJob(before, job, nodes_before)


async def scale_pytorchjob(client: Client, resource: Resource, job: Json, nodes: int) -> ScaledJob:
    """Writes the number of Workers of an elastic PyTorchJob, by its scale subresource; its pods follow, and torchrun forms
    another group. InputError for jobs that cannot have it."""
    require_scalable(job, nodes)
    workers, metadata = worker_count(job, nodes), job["metadata"]
    if workers == workers_of(job):
        return ScaledJob(job, job, nodes)
    patch: Json = {"spec": {"replicas": workers}}
    await client.patch(resource, metadata["name"], metadata["namespace"], patch, subresource="scale")
    written = await client.get(resource, metadata["name"], metadata["namespace"])
    return ScaledJob(job, resource.typed(written), overview(job).ranks)


async def runtime_in_use(client: Client, job: Json) -> Json:
    """The runtime that a TrainJob's operator goes by: the job's snapshot, else the present one. InputError when there is none."""
    try:
        view = shaped(job, TrainJob)
    except ShapeError as error:
        raise InputError(f"TrainJob {job['metadata']['name']} cannot be read: {error}.") from error
    name, namespace = view.metadata.name, view.metadata.namespace
    try:
        return runtime_in(view, await client.get(CONFIG_MAPS, snapshot_name(name), namespace, view=ConfigMap))
    except NotFound:
        reference = view.spec.runtime_ref
    resource = KINDS.get((reference.kind, reference.api_group))
    if resource is None:
        raise not_found(view)
    try:
        found = await client.get(resource, reference.name, namespace if resource.namespaced else "", view=Runtime)
    except NotFound:
        raise not_found(view) from None
    return found.json(resource)


async def wait_scaled(client: Client, job: Json, nodes: int, notify: Callable[[str], None]) -> str:
    """Waits until the JobSet of a TrainJob that was scaled and is to run has its new number of pods, which is after the last of
    the old ones has ended; returns the job's state then. `notify` gets sentences about what is waited for. InputError when the
    operator says that it cannot be; EnvironmentProblem when that does not begin."""
    metadata = job["metadata"]
    name, namespace = metadata["name"], metadata["namespace"]
    counts = desired_counts(job, await runtime_in_use(client, job), nodes)
    clock = asyncio.get_running_loop().time
    begun, is_reported = clock(), False
    while True:
        try:
            job = _named(await client.get(TRAIN_JOBS, name, namespace))
        except NotFound:
            raise InputError(f"TrainJob {namespace}/{name} was deleted.") from None
        row = overview(job)
        if row.is_finished:
            return row.state
        jobset = await _jobset(client, job)
        is_stopped = jobset is None or jobset["spec"].get("suspend") or "deletionTimestamp" in jobset["metadata"]
        if jobset is not None and not is_stopped and pod_counts(jobset) == counts:
            return row.state
        if (reason := _refusal(job)) is not None:
            raise InputError(f"TrainJob {namespace}/{name} does not get {count(nodes, 'node')}: {reason}")
        if not is_stopped and clock() - begun > STOP_SECONDS:
            raise EnvironmentProblem(
                f"TrainJob {namespace}/{name} was not stopped to get {count(nodes, 'node')}: its operator did nothing for "
                f"{STOP_SECONDS:.0f} s.",
                "Check that it is Shunter's operator, of this release: shunter install --dry-run",
            )
        if not is_reported and clock() - begun > QUIET_SECONDS:
            is_reported = True
            if pods := await _pods(client, job):
                notify(f"waiting for {', '.join(pods)} to terminate; they may save first")
        await asyncio.sleep(LOOK_SECONDS)


def _refusal(job: Json) -> str | None:
    """Why the job's objects cannot be made, in its operator's words; None while they can, or wait for pods."""
    for condition in (job.get("status") or {}).get("conditions") or []:
        if condition["type"] == "Created" and condition["status"] == "False" and condition.get("reason") != "WaitingForPods":
            return str(condition.get("message", ""))
    return None


async def _jobset(client: Client, job: Json) -> Json | None:
    found = await client.find(JOBSETS, job["metadata"]["name"], job["metadata"]["namespace"])
    return found if found is not None and is_jobset_of(job, found) else None


async def _pods(client: Client, job: Json) -> list[str]:
    """The pods that have not ended."""
    try:
        found = (await client.list(PODS, job["metadata"]["namespace"], label_selector=pod_selector(job))).items
    except ApiError:
        return []
    return sorted(pod["metadata"]["name"] for pod in found if is_pod_of(job, pod) and not pod_has_ended(pod))


def _named(job: Json) -> Json:
    return TRAIN_JOBS.typed(job)
