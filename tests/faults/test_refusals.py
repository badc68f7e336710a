"""What the API server refuses for good reasons, and names that are taken or too long.

The reason is told once, nothing is tried in a hot loop, and work goes on when the reason is gone.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from fault_transport import Delay, Fault, Refuse
from faults import invariants
from faults.history import History
from faults.operators import Operator, running
from faults.planes import Plane
from faults.scenarios import Stage, pytorch_job, train_job, training_runtime
from shunter.api.resources import (
    CONFIG_MAPS,
    CORE_EVENTS,
    JOBS,
    JOBSETS,
    NAMESPACES,
    PODS,
    SERVICES,
    TRAIN_JOBS,
    TRAINING_RUNTIMES,
    Resource,
)
from shunter.api.training.pytorch import PYTORCH_JOBS
from shunter.kube.kubeconfig import Connection

pytestmark = pytest.mark.timeout(180)

ALWAYS = 10**6
QUOTAS = Resource("", "v1", "ResourceQuota", "resourcequotas")
A_WHILE = 2.0
"""Seconds in which a hot loop would show."""
TRIES = 20
"""More than back-off from 5 ms lets anybody try in that time."""


def told(history: History, stage: Stage, reason: str) -> list[str]:
    """The messages of the events of this reason, one for each event."""
    return [event["message"] for event in history.present(CORE_EVENTS, stage.namespace) if event["reason"] == reason]


async def limit_pods(plane: Plane, stage: Stage, operator: Operator, number: int) -> None:
    """A quota. The embedded server enforces it at once, kube-apiserver when its status is there."""
    body = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": {"hard": {"pods": str(number)}}}
    await stage.create(QUOTAS, body)
    while plane.kind == "real":
        if (await stage.client.get(QUOTAS, "q", stage.namespace)).get("status", {}).get("hard"):
            return
        await asyncio.sleep(0.05)


async def lift_limit(plane: Plane, stage: Stage, operator: Operator) -> None:
    await stage.client.delete(QUOTAS, "q", stage.namespace)


async def test_a_quota_that_ends_half_way_through_a_gang_is_told_and_waited_for(
    plane: Plane, server: Connection, history: History, stage: Stage
) -> None:
    operator = Operator(server, namespaces=[stage.namespace])
    await limit_pods(plane, stage, operator, 3)
    async with running(operator):
        await stage.create(PYTORCH_JOBS, pytorch_job(workers=5))
        await history.until(lambda: told(history, stage, "FailedCreatePod"))
        await asyncio.sleep(A_WHILE)
        assert stage.count(PODS) == 3
        assert all("exceeded quota" in message for message in told(history, stage, "FailedCreatePod"))
        assert stage.conditions(PYTORCH_JOBS, "j") == ["Created"]
        (job,) = history.present(PYTORCH_JOBS, stage.namespace)
        assert "startTime" in job["status"], "so that its deadline counts"
        invariants.writes_are_bounded(operator.sent.writes, each=TRIES)
        await lift_limit(plane, stage, operator)
        await history.until(lambda: stage.count(PODS) == stage.count(SERVICES) == 6)
        await stage.pods("*", "Running")
        await history.until(lambda: "Running" in stage.conditions(PYTORCH_JOBS, "j"))
    invariants.check(history, stage.namespace)
    assert set(invariants.incarnations(history, stage.namespace).values()) == {1}


FORBIDDEN = Refuse(403, "Forbidden", 'User "system:serviceaccount:s:o" cannot do that at the cluster scope')


@pytest.mark.parametrize(
    ("method", "path", "reason"),
    [
        ("POST", "/pods", "FailedCreatePod"),
        ("POST", "/services", "FailedCreateService"),
        ("PATCH", "/configmaps", "TrainJobResourcesCreationFailed"),
        ("PATCH", "/jobsets", "TrainJobResourcesCreationFailed"),
        ("PATCH", "/pytorchjobs", ""),
        ("PATCH", "/trainjobs", ""),
        ("POST", "/events", ""),
    ],
)
async def test_a_right_that_is_taken_away_is_told_and_waited_for(
    method: str, path: str, reason: str, server: Connection, history: History, stage: Stage
) -> None:
    operator = Operator(server, namespaces=[stage.namespace])
    operator.faults.inject(FORBIDDEN, method=method, path=path, times=ALWAYS)
    await stage.create(TRAINING_RUNTIMES, training_runtime())
    async with running(operator):
        await stage.create(PYTORCH_JOBS, pytorch_job("one"))
        await stage.create(TRAIN_JOBS, train_job("two"))
        if reason:
            await history.until(lambda: told(history, stage, reason))
        await asyncio.sleep(A_WHILE / 2)
        invariants.writes_are_bounded(operator.sent.writes, each=TRIES)
        operator.faults.heal()
        await history.until(lambda: stage.count(SERVICES) >= 3 and stage.count(JOBSETS) == 1 and stage.count(PODS) == 5)
        await stage.pods("*", "Running")
        await history.until(lambda: "Running" in stage.conditions(PYTORCH_JOBS, "one"))
    invariants.check(history, stage.namespace)
    assert set(invariants.incarnations(history, stage.namespace).values()) == {1}


async def test_a_namespace_that_is_deleted_takes_everything_along_and_is_not_fought(
    plane: Plane, server: Connection, history: History, stage: Stage
) -> None:
    operator = Operator(server, namespaces=[stage.namespace])
    await stage.create(TRAINING_RUNTIMES, training_runtime())
    async with running(operator):
        await stage.create(PYTORCH_JOBS, pytorch_job("one"))
        await stage.create(TRAIN_JOBS, train_job("two"))
        await history.until(lambda: stage.count(PODS) == 5 and stage.count(SERVICES) >= 3)
        sent = len(operator.sent.writes)
        await stage.client.delete(NAMESPACES, stage.namespace)
        await history.until(
            lambda: not any(stage.count(kind) for kind in (PYTORCH_JOBS, TRAIN_JOBS, PODS, SERVICES, JOBSETS, JOBS)),
            seconds=90,
            otherwise=lambda: str(stage.shown().keys()),
        )
        await asyncio.sleep(A_WHILE)
        invariants.writes_are_bounded(operator.sent.writes[sent:], each=TRIES)
        assert operator.is_running
    invariants.check(history, stage.namespace)


async def test_a_namespace_that_terminates_for_long_is_not_fought(server: Connection, history: History, stage: Stage) -> None:
    """A finalizer holds a job back, and with it the namespace; another job's pods are refused in it."""
    operator = Operator(server, namespaces=[stage.namespace])
    held = pytorch_job("held")
    held["metadata"]["finalizers"] = ["example.com/held"]
    async with running(operator):
        await stage.create(PYTORCH_JOBS, held)
        await history.until(lambda: stage.count(PODS) == 3)
        await stage.client.delete(NAMESPACES, stage.namespace)
        await history.until(lambda: stage.count(PODS) == 0, seconds=60)
        sent = len(operator.sent.writes)
        await asyncio.sleep(A_WHILE)
        invariants.writes_are_bounded(operator.sent.writes[sent:], each=TRIES)
        await stage.patch(PYTORCH_JOBS, "held", {"metadata": {"finalizers": None}})
        await history.until(lambda: stage.count(PYTORCH_JOBS) == 0, seconds=60)


async def test_a_job_that_is_deleted_while_its_pods_are_made_leaves_none(
    server: Connection, history: History, stage: Stage
) -> None:
    operator = Operator(server, namespaces=[stage.namespace])
    operator.faults.inject(Delay(0.1), method="POST", path="/pods", times=ALWAYS)
    async with running(operator):
        await stage.create(PYTORCH_JOBS, pytorch_job(workers=30))
        await history.until(lambda: stage.count(PODS) >= 3)
        await stage.client.delete(PYTORCH_JOBS, "j", stage.namespace, propagation="Background")
        await history.until(lambda: stage.count(PYTORCH_JOBS) == 0)
        await history.until(lambda: stage.count(PODS) == stage.count(SERVICES) == 0, seconds=60)
        await history.quiet(stage.namespace, seconds=1.0)
        assert stage.count(PODS) == stage.count(SERVICES) == 0
    invariants.check(history, stage.namespace)


async def test_a_job_that_is_made_again_under_its_name_gets_pods_of_its_own(
    server: Connection, history: History, stage: Stage
) -> None:
    async with running(Operator(server, namespaces=[stage.namespace])):
        old = await stage.create(PYTORCH_JOBS, pytorch_job(workers=5))
        await history.until(lambda: stage.count(PODS) >= 2)
        await stage.client.delete(PYTORCH_JOBS, "j", stage.namespace, propagation="Background")
        new = await stage.create(PYTORCH_JOBS, pytorch_job(workers=5))
        assert new["metadata"]["uid"] != old["metadata"]["uid"]

        def owners() -> list[str]:
            children = [*history.present(PODS, stage.namespace), *history.present(SERVICES, stage.namespace)]
            return [child["metadata"]["ownerReferences"][0]["uid"] for child in children]

        await history.until(lambda: owners() == [new["metadata"]["uid"]] * 12, seconds=60)
        await stage.pods("*", "Running")
        await history.until(lambda: "Running" in stage.conditions(PYTORCH_JOBS, "j"))
    invariants.check(history, stage.namespace)


def foreign(resource: Resource, name: str) -> dict[str, Any]:
    spec = (
        {"containers": [{"name": "c", "image": "any:1"}]} if resource == PODS else {"clusterIP": "None", "ports": [{"port": 1}]}
    )
    return {"apiVersion": "v1", "kind": resource.kind, "metadata": {"name": name}, "spec": spec}


@pytest.mark.parametrize(("resource", "reason"), [(PODS, "FailedCreatePod"), (SERVICES, "FailedCreateService")], ids=str)
async def test_a_name_that_somebody_else_has_is_told_and_never_taken(
    resource: Resource, reason: str, server: Connection, history: History, stage: Stage
) -> None:
    operator = Operator(server, namespaces=[stage.namespace])
    theirs = await stage.create(resource, foreign(resource, "j-worker-0"))
    async with running(operator):
        await stage.create(PYTORCH_JOBS, pytorch_job())
        await history.until(lambda: told(history, stage, reason))
        await asyncio.sleep(A_WHILE)
        (message,) = told(history, stage, reason)
        assert message == f'Error creating: {resource.plural} "j-worker-0" already exists'
        invariants.writes_are_bounded(operator.sent.writes, each=TRIES)
        present = stage.get(resource, "j-worker-0")
        assert present is not None
        assert present["metadata"]["uid"] == theirs["metadata"]["uid"]
        await stage.client.delete(resource, "j-worker-0", stage.namespace)
        await history.until(lambda: stage.count(PODS) == stage.count(SERVICES) == 3)
    invariants.check(history, stage.namespace)


@pytest.mark.parametrize("length", [54, 55, 63])
async def test_a_long_name_works_or_says_why_not(length: int, server: Connection, history: History, stage: Stage) -> None:
    """Services are named NAME-master-0, and a name of theirs has 63 characters at most."""
    name = "n" * length
    operator = Operator(server, namespaces=[stage.namespace])
    async with running(operator):
        await stage.create(PYTORCH_JOBS, pytorch_job(name, workers=0))
        if length + len("-master-0") <= 63:
            await history.until(lambda: stage.count(PODS) == stage.count(SERVICES) == 1)
        else:
            await history.until(
                lambda: told(history, stage, "FailedCreateService") or "Failed" in stage.conditions(PYTORCH_JOBS, name)
            )
            await asyncio.sleep(A_WHILE)
            invariants.writes_are_bounded(operator.sent.writes, each=TRIES)
            refusals = told(history, stage, "FailedCreateService")
            assert len(refusals) == 1 if refusals else "Failed" in stage.conditions(PYTORCH_JOBS, name)
    invariants.check(history, stage.namespace)


async def test_an_object_that_is_too_large_is_told_and_holds_up_nobody_else(
    server: Connection, history: History, stage: Stage
) -> None:
    """A snapshot is a ConfigMap, which holds a mebibyte at most; a runtime may be larger."""
    large = training_runtime("large")
    (replicated,) = large["spec"]["template"]["spec"]["replicatedJobs"]
    (container,) = replicated["template"]["spec"]["template"]["spec"]["containers"]
    container["env"] = [{"name": "LARGE", "value": "x" * 1_200_000}]
    operator = Operator(server, namespaces=[stage.namespace])
    await stage.create(TRAINING_RUNTIMES, large)
    await stage.create(TRAINING_RUNTIMES, training_runtime())
    async with running(operator):
        await stage.create(TRAIN_JOBS, train_job("large", runtime="large"))
        await stage.create(TRAIN_JOBS, train_job("small"))
        await history.until(lambda: told(history, stage, "TrainJobResourcesCreationFailed"))
        await history.until(lambda: stage.count(JOBSETS) == 1)
        await asyncio.sleep(A_WHILE)
        (message,) = told(history, stage, "TrainJobResourcesCreationFailed")
        assert "Too long" in message
        invariants.writes_are_bounded(operator.sent.writes, each=TRIES)
        await stage.client.delete(TRAIN_JOBS, "large", stage.namespace)
    invariants.check(history, stage.namespace)


@pytest.mark.parametrize(
    "fault",
    [
        Refuse(500, "InternalError", 'failed calling webhook "mjobset.kb.io": connection refused'),
        Refuse(500, "InternalError", 'failed calling webhook "mjobset.kb.io": context deadline exceeded'),
        Refuse(500, "InternalError", 'failed calling webhook "mjobset.kb.io": x509: certificate has expired or is not yet valid'),
    ],
    ids=["down", "slow", "expired"],
)
async def test_jobsets_webhook_that_fails_is_told_and_waited_for(
    fault: Fault, server: Connection, history: History, stage: Stage
) -> None:
    """O13, seen from the operator: it is the API server that calls the webhook, and answers 500."""
    operator = Operator(server, namespaces=[stage.namespace])
    operator.faults.inject(fault, method="PATCH", path="/jobsets", times=ALWAYS)
    await stage.create(TRAINING_RUNTIMES, training_runtime())
    async with running(operator):
        await stage.create(TRAIN_JOBS, train_job())
        await history.until(lambda: told(history, stage, "TrainJobResourcesCreationFailed"))
        (message,) = told(history, stage, "TrainJobResourcesCreationFailed")
        assert "failed calling webhook" in message
        operator.faults.heal()
        await history.until(lambda: stage.count(JOBSETS) == 1 and stage.count(CONFIG_MAPS) >= 1)
    invariants.check(history, stage.namespace)
    assert set(invariants.incarnations(history, stage.namespace).values()) == {1}
