"""Figures of use: targets, tolerance, pods that say nothing."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from cluster.controllers.autoscaling.scaled import NOW, ago, cpu, memory, observed, pod, replicas, running, use
from shunter.cluster.controllers.autoscaling.calculation import duration
from shunter.cluster.controllers.autoscaling.limits import History, TimedValue
from shunter.cluster.controllers.autoscaling.plan import decide
from shunter.cluster.controllers.autoscaling.views import PodMetrics, ScaledPod


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


@pytest.mark.parametrize(("text", "seconds"), [("15s", 15), ("1m30.5s", 90.5), ("1.39s", 1.39), ("", 0), ("soon", 0)])
def test_windows_are_durations_of_go(text: str, seconds: float) -> None:
    assert duration(text) == timedelta(seconds=seconds)
