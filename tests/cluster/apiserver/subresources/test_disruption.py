"""Evictions ask PodDisruptionBudgets, whose status a controller writes; here the test does."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from cluster.apiserver.http_client import Answer, Api

READY = {"type": "Ready", "status": "True"}


async def run_pod(api: Api, namespace: str, name: str, *, phase: str = "Running", ready: bool = True) -> None:
    pods = f"/api/v1/namespaces/{namespace}/pods"
    spec = {"containers": [{"name": "c", "image": "x"}], "terminationGracePeriodSeconds": 0}
    await api.create(pods, {"metadata": {"name": name, "labels": {"a": "b"}}, "spec": spec})
    status = {"phase": phase, "conditions": [READY] if ready else []}
    await api.merge(f"{pods}/{name}/status", {"status": status})


async def budget(api: Api, namespace: str, name: str = "b", *, status: dict[str, Any] | None = None, **spec: Any) -> str:
    path = f"/apis/policy/v1/namespaces/{namespace}/poddisruptionbudgets"
    await api.create(
        path, {"metadata": {"name": name}, "spec": {"selector": {"matchLabels": {"a": "b"}}, "minAvailable": 1, **spec}}
    )
    if status is not None:
        counters = {"observedGeneration": 1, "currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 0}
        answer = await api.merge(f"{path}/{name}/status", {"status": {**counters, "disruptionsAllowed": 0, **status}})
        assert answer.code == 200, answer.body
    return f"{path}/{name}"


async def evict(api: Api, namespace: str, pod: str) -> Answer:
    return await api.request(
        "POST", f"/api/v1/namespaces/{namespace}/pods/{pod}/eviction", {"metadata": {"name": pod, "namespace": namespace}}
    )


async def test_a_budget_is_spent_once_by_evictions_that_come_together(api: Api, namespace: str) -> None:
    for name in ("p1", "p2", "p3"):
        await run_pod(api, namespace, name)
    path = await budget(api, namespace, status={"currentHealthy": 3, "desiredHealthy": 2, "disruptionsAllowed": 1})
    answers = await asyncio.gather(*(evict(api, namespace, name) for name in ("p1", "p2", "p3")))
    assert sorted(answer.code for answer in answers) == [201, 429, 429]
    refused = next(answer for answer in answers if answer.code == 429)
    assert refused.body["message"] == "Cannot evict pod as it would violate the pod's disruption budget."
    assert refused.body["details"]["causes"] == [
        {"reason": "DisruptionBudget", "message": "The disruption budget b does not allow evicting pods currently"}
    ]
    status = (await api.get(path))["status"]
    assert status["disruptionsAllowed"] == 0
    assert len(status["disruptedPods"]) == 1


async def test_a_budget_says_what_it_needs_or_that_nobody_has_looked_yet(api: Api, namespace: str) -> None:
    await run_pod(api, namespace, "p")
    path = await budget(api, namespace)
    early = await evict(api, namespace, "p")
    assert early.body["details"]["causes"][0]["message"] == "The disruption budget b is still being processed by the server."
    assert early.headers["Retry-After"] == "10"
    counters = {"observedGeneration": 1, "currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1, "disruptionsAllowed": 0}
    await api.merge(f"{path}/status", {"status": counters})
    refused = await evict(api, namespace, "p")
    assert refused.body["details"]["causes"][0]["message"] == "The disruption budget b needs 1 healthy pods and has 1 currently"


@pytest.mark.parametrize(
    ("phase", "ready", "policy", "healthy", "code"),
    [
        pytest.param("Pending", False, None, 0, 201, id="a pod that has not started needs no budget"),
        pytest.param("Succeeded", False, None, 0, 201, id="nor does one that has ended"),
        pytest.param("Running", False, None, 0, 429, id="one that is not ready counts while too few are healthy"),
        pytest.param("Running", False, None, 1, 201, id="it may go when enough others are"),
        pytest.param("Running", False, "AlwaysAllow", 0, 201, id="or when the budget always lets it go"),
    ],
)
async def test_pods_that_do_no_work(
    api: Api, namespace: str, phase: str, ready: bool, policy: str | None, healthy: int, code: int
) -> None:
    await run_pod(api, namespace, "p", phase=phase, ready=ready)
    spec = {"unhealthyPodEvictionPolicy": policy} if policy else {}
    await budget(api, namespace, status={"currentHealthy": healthy, "desiredHealthy": 1}, **spec)
    assert (await evict(api, namespace, "p")).code == code


async def test_two_budgets_are_one_too_many(api: Api, namespace: str) -> None:
    await run_pod(api, namespace, "p")
    for name in ("one", "two"):
        await budget(api, namespace, name, status={"disruptionsAllowed": 1})
    refused = await evict(api, namespace, "p")
    assert (refused.code, "more than one PodDisruptionBudget" in refused.body["message"]) == (500, True)
