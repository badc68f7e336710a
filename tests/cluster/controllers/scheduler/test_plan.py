"""Which pods get a node, and what the others are told."""

from typing import Any

import msgspec
import pytest

from cluster.controllers.scheduler.pending import HELPLESS, NOW, node, outcome, pod
from shunter.cluster.controllers.scheduler.plan import Observed, Queued, behind, plan, plan_strictly, turn
from shunter.kube.controllers.plan import Create, Patch


def test_pods_ahead_in_line_are_served_first() -> None:
    ahead = pod("ahead", requests={"cpu": "3"}, priority=5)
    refused = outcome(Observed(pod=pod(requests={"cpu": "3"}, age=60), nodes=(node(),), ahead=(Queued(ahead),)))
    assert refused.startswith("0/1 nodes are available: 1 Insufficient cpu.")


def test_pods_ahead_that_fit_nowhere_hold_nobody_up() -> None:
    ahead = pod("ahead", requests={"nvidia.com/gpu": "1", "cpu": "4"}, priority=5)
    assert outcome(Observed(pod=pod(requests={"cpu": "3"}), nodes=(node(),), ahead=(Queued(ahead),))) == "one"


def test_pod_that_says_so_already_is_not_told_again() -> None:
    waiting = pod(requests={"nvidia.com/gpu": "1"})
    message = outcome(Observed(pod=waiting, nodes=(node(),)))
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
    told = msgspec.structs.replace(waiting, status=msgspec.convert({"conditions": [condition]}, type(waiting.status)))
    assert plan_strictly(Observed(pod=told, nodes=(node(),)), NOW).writes == ()


def test_unless_strict_the_node_takes_whatever_comes() -> None:
    asks_too_much = pod(requests={"nvidia.com/gpu": "8"}, nodeSelector={"a": "b"})
    (write,) = plan(Observed(pod=asks_too_much, nodes=(node(),)), NOW).writes
    assert isinstance(write, Create)
    assert plan(Observed(pod=asks_too_much, nodes=()), NOW).writes == ()


@pytest.mark.parametrize(
    ("closed", "reason"),
    [
        ({"unschedulable": True}, "node(s) were unschedulable"),
        ({"taints": [{"key": "mine", "effect": "NoSchedule"}]}, "node(s) had untolerated taint(s)"),
    ],
    ids=["cordoned", "tainted"],
)
def test_unless_strict_a_pod_still_waits_for_a_node_that_somebody_closed(closed: dict[str, Any], reason: str) -> None:
    (refusal,) = plan(Observed(pod=pod(), nodes=(node(**closed),)), NOW).writes
    assert isinstance(refusal, Patch)
    assert refusal.succeeded is not None
    assert refusal.succeeded.message == f"0/1 nodes are available: 1 {reason}. no new claims to deallocate, {HELPLESS}"
    (binding,) = plan(Observed(pod=pod(), nodes=(node(**closed), node("two"))), NOW).writes
    assert isinstance(binding, Create)
    assert binding.body["target"]["name"] == "two"


def test_the_line_is_by_priority_then_by_age() -> None:
    pods = [pod("young", age=1), pod("old", age=9), pod("low", age=99, priority=-1), pod("high", priority=5)]
    assert [one.metadata.name for one in sorted(pods, key=turn)] == ["high", "old", "young", "low"]


def test_a_change_concerns_the_pods_from_the_first_that_it_is_about_on() -> None:
    pods = [pod("high", priority=5), pod("first", age=3), pod("second", age=2), pod("third", age=1)]
    assert [one.metadata.name for one in behind([pods[3], pods[2]], pods)] == ["second", "third"]
    assert behind([], pods) == []
