"""How many replicas an autoscaler wants, how fast it goes there, and what it says."""

from __future__ import annotations

import pytest

from cluster.controllers.autoscaling.scaled import NOW, conditions, cpu, memory, observed, pod, replicas, running, use
from shunter.cluster.controllers.autoscaling.plan import Observed, decide, failed
from shunter.kube.controllers.plan import Failure


def test_a_target_of_no_replicas_is_left_alone() -> None:
    made = decide(observed(0, [], []), NOW).plan
    assert replicas(made) is None
    assert conditions(made)["ScalingActive"] == ("False", "ScalingDisabled")


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
    condition = next(one for one in made.status.desired["conditions"] if one["type"] == "ScalingActive")
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
    shown = made.status.desired
    assert (shown["currentReplicas"], shown["desiredReplicas"], shown["lastScaleTime"]) == (2, 4, "2026-11-21T12:00:00Z")
    assert [one["resource"]["current"] for one in shown["currentMetrics"]] == [
        {"averageUtilization": 100, "averageValue": "100m"},
        {"averageValue": "200Mi"},
    ]
