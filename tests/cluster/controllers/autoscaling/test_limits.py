"""How fast a target is scaled, and within which bounds."""

from __future__ import annotations

from datetime import timedelta

import pytest

from cluster.controllers.autoscaling.scaled import JOBS, NOW, ago, conditions, observed, replicas, running
from shunter.cluster.controllers.autoscaling.limits import History, TimedValue
from shunter.cluster.controllers.autoscaling.plan import decide
from shunter.kube.controllers.plan import Patch

SLOWLY = {"scaleUp": {"selectPolicy": "Max", "policies": [{"type": "Pods", "value": 1, "periodSeconds": 60}]}}
AT_ONCE = {"scaleDown": {"stabilizationWindowSeconds": 0, "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}]}}


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
