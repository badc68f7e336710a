"""Waits until an installed operator works: its Deployment is rolled out, and the API server gets answers from its webhooks."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence

from shunter.api.meta import Json
from shunter.api.resources import PODS, PYTORCH_JOBS, TRAIN_JOBS, Resource
from shunter.errors import EnvironmentProblem
from shunter.install.installing import Screen, Wanted
from shunter.install.names import OPERATOR, SELECTOR
from shunter.install.resources import DEPLOYMENTS
from shunter.kube.client import Client
from shunter.kube.errors import ApiError, ServerProblem

ASK_SECONDS = 0.5
DENIED = "denied the request"
"""In every answer that a webhook refused: the API server's words."""


async def wait_until_ready(client: Client, wanted: Wanted, screen: Screen, *, seconds: float) -> None:
    """Returns when the operator that was installed last answers for every kind. EnvironmentProblem after `seconds`, with what is
    missing."""
    deadline = asyncio.get_running_loop().time() + seconds
    while trouble := await _trouble(client, wanted):
        screen.doing(trouble)
        if asyncio.get_running_loop().time() > deadline:
            raise EnvironmentProblem(
                f"everything is applied, but the operator does not work after {seconds:.0f} s: {trouble}.",
                f"Look at it with: kubectl -n {wanted.namespace} describe pods,deployments; then run `shunter install` again.",
            )
        await asyncio.sleep(ASK_SECONDS)


async def _trouble(client: Client, wanted: Wanted) -> str:
    deployment: Json = await client.get(DEPLOYMENTS, OPERATOR, wanted.namespace)
    if unfinished := rollout_trouble(deployment):
        selector = ",".join(f"{key}={value}" for key, value in SELECTOR.items())
        pods = (await client.list(PODS, wanted.namespace, label_selector=selector)).items
        return "; ".join((unfinished, *pod_troubles(pods)))
    namespace = (wanted.values["namespaces"] or [wanted.namespace])[0]
    for resource, job in _refused_jobs(wanted.values, namespace):
        if unanswered := await _webhook_trouble(client, resource, job):
            return unanswered
    return ""


def rollout_trouble(deployment: Json) -> str:
    """Why a Deployment is not rolled out, as `kubectl rollout status` sees it; empty when it is."""
    spec, status = deployment["spec"], deployment.get("status") or {}
    replicas = spec.get("replicas", 1)
    if status.get("observedGeneration", 0) < deployment["metadata"].get("generation", 0):
        return "the Deployment has not been looked at yet"
    if status.get("updatedReplicas", 0) < replicas:
        return f"{status.get('updatedReplicas', 0)} of {replicas} new pods are made"
    if status.get("replicas", 0) > replicas:
        return f"{status['replicas'] - replicas} old pods are still there"
    if status.get("availableReplicas", 0) < replicas:
        return f"{status.get('availableReplicas', 0)} of {replicas} pods are ready"
    return ""


def pod_troubles(pods: Sequence[Json]) -> list[str]:
    """What keeps pods from running, each reason once."""
    return list(dict.fromkeys(reason for pod in pods for reason in _reasons(pod)))


def _reasons(pod: Json) -> Iterator[str]:
    status = pod.get("status") or {}
    for condition in status.get("conditions") or ():
        if condition["type"] == "PodScheduled" and condition["status"] != "True":
            yield condition.get("message") or condition.get("reason", "")
    for container in status.get("containerStatuses") or ():
        waiting = (container.get("state") or {}).get("waiting") or {}
        if waiting.get("reason") not in (None, "ContainerCreating", "PodInitializing"):
            yield f"{waiting['reason']}: {waiting.get('message', '')}".rstrip(": ")


async def _webhook_trouble(client: Client, resource: Resource, job: Json) -> str:
    """Why our webhook did not refuse the job, in a dry run; empty when it did."""
    try:
        await client.create(resource, job, dry_run=True)
    except ServerProblem as error:
        return f"the webhook of {resource.kind} does not answer: {error.message}"
    except ApiError as error:
        return "" if DENIED in error.message else f"the webhook of {resource.kind} cannot be tried: {error.message}"
    return f"the API server does not ask the webhook of {resource.kind}"


def _refused_jobs(values: Json, namespace: str) -> Iterator[tuple[Resource, Json]]:
    """A job of each kind that schemas accept and our webhooks do not."""
    metadata = {"name": "is-the-webhook-there", "namespace": namespace}
    if values["kinds"]["PyTorchJob"]:
        template = {"spec": {"containers": [{"name": "no-training", "image": "none"}]}}
        spec: Json = {"pytorchReplicaSpecs": {"Worker": {"replicas": 1, "template": template}}}
        yield PYTORCH_JOBS, {"apiVersion": PYTORCH_JOBS.api_version, "kind": "PyTorchJob", "metadata": metadata, "spec": spec}
    if values["kinds"]["TrainJob"]:
        spec = {"runtimeRef": {"name": "there-is-no-such-runtime"}}
        yield TRAIN_JOBS, {"apiVersion": TRAIN_JOBS.api_version, "kind": "TrainJob", "metadata": metadata, "spec": spec}
