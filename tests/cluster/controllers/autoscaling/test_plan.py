"""How many replicas an autoscaler wants, how fast it goes there, and what it says."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from shunter.api.resources import Resource
from shunter.cluster.controllers.autoscaling.calculation import duration
from shunter.cluster.controllers.autoscaling.limits import History, TimedValue
from shunter.cluster.controllers.autoscaling.plan import Observed, decide, failed
from shunter.cluster.controllers.autoscaling.proposals import Sources
from shunter.cluster.controllers.autoscaling.views import Autoscaler, PodMetrics, Scale, ScaledPod
from shunter.kube.controllers.plan import Failure, Patch, Plan

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
JOBS = Resource("kubeflow.org", "v1", "PyTorchJob", "pytorchjobs")
SLOWLY = {"scaleUp": {"selectPolicy": "Max", "policies": [{"type": "Pods", "value": 1, "periodSeconds": 60}]}}
AT_ONCE = {"scaleDown": {"stabilizationWindowSeconds": 0, "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}]}}


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
    return {one["type"]: (one["status"], one["reason"]) for one in made.status.wanted["conditions"]}


def running(count: int, amount: str) -> tuple[list[ScaledPod], list[PodMetrics]]:
    names = [f"p{number}" for number in range(count)]
    return [pod(name) for name in names], [use(name, cpu=amount, memory="200Mi") for name in names]


@pytest.mark.parametrize(
    ("count", "amount", "wanted", "expected"),
    [
        pytest.param(2, "100m", [cpu(50)], 4, id="twice the target is twice the pods"),
        pytest.param(2, "54m", [cpu(50)], None, id="a tenth above is left alone"),
        pytest.param(2, "60m", [cpu(50)], 3, id="more than that is rounded up"),
        pytest.param(1, "100m", [cpu(5)], 4, id="no more than four or twice as many at once"),
        pytest.param(4, "100m", [cpu(5)], 8, id="twice as many"),
        pytest.param(2, "50m", [memory("100Mi")], 4, id="an average value"),
        pytest.param(2, "50m", [cpu(50), memory("100Mi")], 4, id="of several metrics the highest"),
        pytest.param(3, "10m", [cpu(50)], 1, id="less use, fewer pods"),
    ],
)
def test_use_decides_about_the_number(count: int, amount: str, wanted: list[dict[str, Any]], expected: int | None) -> None:
    pods, metrics = running(count, amount)
    history = History((TimedValue(1, ago(1)),))
    assert replicas(decide(observed(count, pods, metrics, wanted=wanted, history=history), NOW).plan) == expected


@pytest.mark.parametrize(
    ("pods", "metrics", "current", "expected"),
    [
        pytest.param([pod("a"), pod("b", phase="Pending")], [use("a", cpu="200m")], 2, 4, id="a pending pod counts as idle"),
        pytest.param([pod("a"), pod("b")], [use("a", cpu="70m")], 2, None, id="a silent pod may be idle"),
        pytest.param([pod("a"), pod("b")], [use("a", cpu="10m")], 2, None, id="or busy, when fewer are wanted"),
        pytest.param(
            [pod("a"), pod("b", phase="Failed")],
            [use("a", cpu="100m"), use("b", cpu="1m")],
            2,
            None,
            id="failed ones do not count",
        ),
        pytest.param(
            [pod("a"), pod("b", ready=False, age=60)],
            [use("a", cpu="100m"), use("b", cpu="900m")],
            2,
            None,
            id="nor starting ones",
        ),
    ],
)
def test_pods_that_say_nothing_speak_against_a_change(
    pods: list[ScaledPod], metrics: list[PodMetrics], current: int, expected: int | None
) -> None:
    assert replicas(decide(observed(current, pods, metrics), NOW).plan) == expected


@pytest.mark.parametrize(
    ("current", "expected", "reason"), [(12, 10, "above Spec.MaxReplicas"), (1, 2, "below Spec.MinReplicas")]
)
def test_bounds_come_first(current: int, expected: int, reason: str) -> None:
    made = decide(observed(current, [], [], low=2), NOW).plan
    assert replicas(made) == expected
    (write,) = made.writes
    assert isinstance(write, Patch)
    assert (write.subresource, write.ref.resource) == ("scale", JOBS)
    assert write.succeeded is not None
    assert reason in write.succeeded.message
    assert conditions(made) == {"AbleToScale": ("True", "SucceededRescale")}


def test_a_target_of_no_replicas_is_left_alone() -> None:
    made = decide(observed(0, [], []), NOW).plan
    assert replicas(made) is None
    assert conditions(made)["ScalingActive"] == ("False", "ScalingDisabled")


def test_fewer_are_wanted_only_when_that_was_so_for_five_minutes() -> None:
    pods, metrics = running(4, "10m")
    recent = History((TimedValue(4, ago(299)), TimedValue(1, ago(10))))
    held = decide(observed(4, pods, metrics, history=recent), NOW)
    assert replicas(held.plan) is None
    assert conditions(held.plan)["AbleToScale"] == ("True", "ScaleDownStabilized")
    assert held.history.recommendations[-1] == TimedValue(1, NOW)
    old = History((TimedValue(4, ago(301)), TimedValue(1, ago(10))))
    assert replicas(decide(observed(4, pods, metrics, history=old), NOW).plan) == 1


def test_behavior_says_how_fast_to_go_up_and_when_to_go_down() -> None:
    pods, metrics = running(2, "100m")
    slow = decide(observed(2, pods, metrics, behavior=SLOWLY), NOW)
    assert replicas(slow.plan) == 3
    assert conditions(slow.plan)["ScalingLimited"] == ("True", "ScaleUpLimit")
    assert slow.history.added == (TimedValue(1, NOW),)
    pods, metrics = running(3, "100m")
    again = decide(observed(3, pods, metrics, behavior=SLOWLY, history=slow.history), NOW + timedelta(seconds=30))
    assert replicas(again.plan) is None
    pods, metrics = running(4, "1m")
    down = observed(4, pods, metrics, behavior=AT_ONCE, low=2, history=History((TimedValue(4, ago(5)),)))
    assert replicas(decide(down, NOW).plan) == 2
    assert conditions(decide(down, NOW).plan)["ScalingLimited"] == ("True", "TooFewReplicas")


@pytest.mark.parametrize(
    ("look", "reason", "message"),
    [
        pytest.param(
            observed(1, [pod("a")], []),
            "FailedGetResourceMetric",
            "unable to get metrics for resource cpu: no metrics returned from resource metrics API",
            id="no figures",
        ),
        pytest.param(
            observed(1, [pod("a", requests={})], [use("a", cpu="1m")]),
            "FailedGetResourceMetric",
            "failed to get cpu utilization: missing request for cpu in container c of Pod a",
            id="no request to compare with",
        ),
        pytest.param(
            observed(1, [pod("a")], [use("a", cpu="1m")], selector=""), "InvalidSelector", "missing a selector", id="no selector"
        ),
        pytest.param(
            observed(1, [pod("a")], [use("a", cpu="1m")], rivals=("bert", "mine")),
            "AmbiguousSelector",
            "controlled by multiple HPAs: [{bert n} {mine n}]",
            id="two autoscalers",
        ),
        pytest.param(
            observed(1, [pod("a")], [], wanted=[{"type": "Pods"}]),
            "FailedGetPodsMetric",
            "no custom metrics API",
            id="another API",
        ),
    ],
)
def test_what_cannot_be_computed_is_said(look: Observed, reason: str, message: str) -> None:
    made = decide(look, NOW).plan
    assert replicas(made) is None
    assert made.status is not None
    condition = next(one for one in made.status.wanted["conditions"] if one["type"] == "ScalingActive")
    assert (condition["status"], condition["reason"]) == ("False", reason)
    assert message in condition["message"]
    assert made.events[-1].reason == "FailedComputeMetricsReplicas"


def test_a_target_that_is_not_there_is_said() -> None:
    autoscaler = observed(1, [], []).autoscaler
    made = decide(Observed(autoscaler=autoscaler, problem='pytorchjobs.kubeflow.org "bert" not found'), NOW).plan
    assert conditions(made) == {"AbleToScale": ("False", "FailedGetScale")}
    assert [note.reason for note in made.events] == ["FailedGetScale"]


def test_a_refused_scale_is_said() -> None:
    pods, metrics = running(1, "100m")
    look = observed(1, pods, metrics)
    (write,) = decide(look, NOW).plan.writes
    made = failed(look, Failure(write, 422, "Invalid", "no"), NOW)
    assert conditions(made) == {"AbleToScale": ("False", "FailedUpdateScale")}


def test_the_status_shows_what_was_measured() -> None:
    pods, metrics = running(2, "100m")
    made = decide(observed(2, pods, metrics, wanted=[cpu(), memory("200Mi")]), NOW).plan
    assert made.status is not None
    shown = made.status.wanted
    assert (shown["currentReplicas"], shown["desiredReplicas"], shown["lastScaleTime"]) == (2, 4, "2026-11-21T12:00:00Z")
    assert [one["resource"]["current"] for one in shown["currentMetrics"]] == [
        {"averageUtilization": 100, "averageValue": "100m"},
        {"averageValue": "200Mi"},
    ]


@pytest.mark.parametrize(("text", "seconds"), [("15s", 15), ("1m30.5s", 90.5), ("1.39s", 1.39), ("", 0), ("soon", 0)])
def test_windows_are_durations_of_go(text: str, seconds: float) -> None:
    assert duration(text) == timedelta(seconds=seconds)
