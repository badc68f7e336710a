"""Waits until an installed operator works: its Deployment is rolled out, and the API server gets answers from its webhooks."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence

from shunter.api.core import STARTING
from shunter.api.meta import Json
from shunter.api.resources import DEPLOYMENTS, PODS, TRAIN_JOBS
from shunter.errors import EnvironmentProblem
from shunter.install.installing import Installation, Screen
from shunter.install.names import OPERATOR, SELECTOR
from shunter.kube.client import Client
from shunter.kube.errors import ApiError
from shunter.kube.webhooks.canary import canary, problem_through_api_server
from shunter.operator.kinds import served
from shunter.operator.webhooks import canaries

ASK_SECONDS = 0.5


async def wait_until_ready(client: Client, installation: Installation, screen: Screen, *, seconds: float) -> None:
    """Returns when the operator that was installed last answers for every kind. EnvironmentProblem after `seconds`, with what is
    missing."""
    deadline = asyncio.get_running_loop().time() + seconds
    while problem := await _problem(client, installation):
        screen.doing(problem)
        if asyncio.get_running_loop().time() > deadline:
            raise EnvironmentProblem(
                f"everything is applied, but the operator does not work after {seconds:.0f} s: {problem}.",
                f"See: kubectl -n {installation.namespace} describe pods,deployments; then run `shunter install` again.",
            )
        await asyncio.sleep(ASK_SECONDS)


async def _problem(client: Client, installation: Installation) -> str:
    deployment: Json = await client.get(DEPLOYMENTS, OPERATOR, installation.namespace)
    if unfinished := rollout_problem(deployment):
        selector = ",".join(f"{key}={value}" for key, value in SELECTOR.items())
        pods = (await client.list(PODS, installation.namespace, label_selector=selector)).items
        return "; ".join((unfinished, *pod_problems(pods)))
    return await _webhook_problem(client, installation)


def rollout_problem(deployment: Json) -> str:
    """Why a Deployment is not rolled out, as `kubectl rollout status` sees it; empty when it is."""
    spec, status = deployment["spec"], deployment.get("status") or {}
    replicas = spec.get("replicas", 1)
    if status.get("observedGeneration", 0) < deployment["metadata"].get("generation", 0):
        return "the Deployment has not been observed by its controller yet"
    if status.get("updatedReplicas", 0) < replicas:
        return f"{status.get('updatedReplicas', 0)} of {replicas} new pods exist"
    if status.get("replicas", 0) > replicas:
        return f"{status['replicas'] - replicas} old pods still exist"
    if status.get("availableReplicas", 0) < replicas:
        return f"{status.get('availableReplicas', 0)} of {replicas} pods are ready"
    return ""


def pod_problems(pods: Sequence[Json]) -> list[str]:
    """What keeps pods from running, each reason once."""
    return list(dict.fromkeys(reason for pod in pods for reason in _reasons(pod)))


def _reasons(pod: Json) -> Iterator[str]:
    status = pod.get("status") or {}
    for condition in status.get("conditions") or ():
        if condition["type"] == "PodScheduled" and condition["status"] != "True":
            yield condition.get("message") or condition.get("reason", "")
    for container in status.get("containerStatuses") or ():
        waiting = (container.get("state") or {}).get("waiting") or {}
        if waiting.get("reason", "") not in STARTING:
            yield f"{waiting['reason']}: {waiting.get('message', '')}".rstrip(": ")


async def _webhook_problem(client: Client, installation: Installation) -> str:
    """Why the API server got no answer about a job of one of the kinds; empty when it got all."""
    kinds = served([kind for kind, is_on in installation.values["kinds"].items() if is_on])
    namespace = (installation.values["namespaces"] or [installation.namespace])[0]
    try:
        for resource, spec in canaries(kinds):
            body = canary(resource, namespace, spec)
            if unanswered := await problem_through_api_server(client, resource, body, is_mutated=resource == TRAIN_JOBS):
                return unanswered
    except ApiError as error:
        return error.message
    return ""
