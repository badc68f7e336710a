"""An autoscaler with its pods and their use, and what is decided."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from shunter.api.resources import Resource
from shunter.cluster.controllers.autoscaling.limits import History
from shunter.cluster.controllers.autoscaling.plan import Observed
from shunter.cluster.controllers.autoscaling.proposals import Sources
from shunter.cluster.controllers.autoscaling.views import Autoscaler, PodMetrics, Scale, ScaledPod
from shunter.kube.controllers.plan import Patch, Plan

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
JOBS = Resource("kubeflow.org", "v1", "PyTorchJob", "pytorchjobs")


def ago(seconds: float) -> datetime:
    return NOW - timedelta(seconds=seconds)


def cpu(percent: int = 50) -> dict[str, Any]:
    return {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": percent}}}


def memory(average: str) -> dict[str, Any]:
    return {"type": "Resource", "resource": {"name": "memory", "target": {"type": "AverageValue", "averageValue": average}}}


def pod(
    name: str, *, requests: dict[str, str] | None = None, ready: bool = True, phase: str = "Running", age: int = 600
) -> ScaledPod:
    since = ago(age).isoformat()
    condition = {"type": "Ready", "status": "True" if ready else "False", "lastTransitionTime": since}
    container = {"name": "c", "resources": {"requests": {"cpu": "100m"} if requests is None else requests}}
    status = {"phase": phase, "startTime": since, "conditions": [condition]}
    return msgspec.convert({"metadata": {"name": name}, "spec": {"containers": [container]}, "status": status}, ScaledPod)


def use(name: str, **amounts: str) -> PodMetrics:
    body = {
        "metadata": {"name": name},
        "timestamp": NOW.isoformat(),
        "window": "15s",
        "containers": [{"name": "c", "usage": amounts}],
    }
    return msgspec.convert(body, PodMetrics)


def observed(
    current: int,
    pods: list[ScaledPod],
    metrics: list[PodMetrics],
    *,
    wanted: list[dict[str, Any]] | None = None,
    low: int = 1,
    high: int = 10,
    behavior: dict[str, Any] | None = None,
    history: History | None = None,
    selector: str = "a=b",
    **more: Any,
) -> Observed:
    spec: dict[str, Any] = {
        "scaleTargetRef": {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "name": "bert"},
        "minReplicas": low,
        "maxReplicas": high,
        "metrics": [cpu()] if wanted is None else wanted,
    }
    if behavior is not None:
        spec["behavior"] = behavior
    metadata = {"name": "bert", "namespace": "n", "uid": "a1"}
    return Observed(
        autoscaler=msgspec.convert({"metadata": metadata, "spec": spec}, Autoscaler),
        target=JOBS,
        scale=msgspec.convert({"spec": {"replicas": current}, "status": {"replicas": current, "selector": selector}}, Scale),
        sources=Sources(tuple(pods), tuple(metrics)),
        history=history or History(),
        **more,
    )


def replicas(made: Plan) -> int | None:
    """The replicas that are written; None when the target is left alone."""
    return next((write.patch["spec"]["replicas"] for write in made.writes if isinstance(write, Patch)), None)


def conditions(made: Plan) -> dict[str, tuple[str, str]]:
    assert made.status is not None
    return {one["type"]: (one["status"], one["reason"]) for one in made.status.desired["conditions"]}


def running(count: int, amount: str) -> tuple[list[ScaledPod], list[PodMetrics]]:
    names = [f"p{number}" for number in range(count)]
    return [pod(name) for name in names], [use(name, cpu=amount, memory="200Mi") for name in names]
