"""What PodDisruptionBudgets allow."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from shunter.api.core import Pod
from shunter.api.policy import DisruptionBudget
from shunter.cluster.controllers.disruption.plan import Observed, plan

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


def pod(name: str, *, ready: bool = True, owner: str = "rs") -> Pod:
    references = [{"apiVersion": "v1", "kind": "K", "name": owner, "uid": owner, "controller": True}] if owner else []
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": str(ready)}]}
    return msgspec.convert({"metadata": {"name": name, "ownerReferences": references}, "status": status}, Pod)


def planned(pods: list[Pod], status: dict[str, Any] | None = None, scale: int | None = 4, **spec: Any) -> dict[str, Any]:
    body = {"metadata": {"name": "b", "generation": 2}, "spec": spec, "status": status or {}}
    scales = {} if scale is None else {"rs": ("deployment", scale)}
    done = plan(Observed(budget=msgspec.convert(body, DisruptionBudget), pods=tuple(pods), scales=scales), NOW)
    assert done.status is not None
    return done.status.desired


def counts(status: dict[str, Any]) -> tuple[int, int, int, int]:
    return status["expectedPods"], status["desiredHealthy"], status["currentHealthy"], status["disruptionsAllowed"]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({"minAvailable": 2}, (3, 2, 2, 0), id="a number counts the pods that are there"),
        pytest.param({"minAvailable": "50%"}, (4, 2, 2, 0), id="a share counts those that there should be"),
        pytest.param({"minAvailable": "10%"}, (4, 1, 2, 1), id="a share is rounded up"),
        pytest.param({"maxUnavailable": 3}, (4, 1, 2, 1), id="what may be missing"),
        pytest.param({"maxUnavailable": "10%"}, (4, 3, 2, 0), id="what may be missing is rounded up too"),
        pytest.param({"maxUnavailable": 9}, (4, 0, 2, 2), id="all may be missing"),
    ],
)
def test_counts(spec: dict[str, Any], expected: tuple[int, int, int, int]) -> None:
    assert counts(planned([pod("a"), pod("b"), pod("c", ready=False)], **spec)) == expected


def test_no_pods_allow_nothing() -> None:
    status = planned([], minAvailable=0)
    assert counts(status) == (0, 0, 0, 0)
    assert status["conditions"][0]["reason"] == "InsufficientPods"


def test_an_evicted_pod_does_not_count_until_it_is_seen_or_two_minutes_are_over() -> None:
    evicted = {name: (NOW - timedelta(seconds=age)).isoformat() for name, age in (("a", 10), ("b", 121), ("gone", 1))}
    status = planned([pod("a"), pod("b")], {"disruptedPods": evicted}, minAvailable=0)
    assert set(status["disruptedPods"]) == {"a"}
    assert status["currentHealthy"] == 1


def test_a_share_of_pods_whose_controller_has_no_replicas_is_not_known() -> None:
    status = planned([pod("a")], {"disruptionsAllowed": 5}, scale=None, maxUnavailable=1)
    assert status["disruptionsAllowed"] == 0
    assert status["conditions"][0]["reason"] == "SyncFailed"
    assert counts(planned([pod("a", owner="")], scale=None, maxUnavailable=1)) == (0, 0, 1, 0), "a pod by itself is not expected"
