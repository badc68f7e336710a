"""Which pods get a node, and what the others are told."""

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from shunter.api.core import Node
from shunter.cluster.controllers.scheduler.plan import Observed, plan, plan_strictly
from shunter.cluster.controllers.scheduler.pod import SchedulablePod
from shunter.kube.controllers.plan import Create, Patch

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
HELPLESS = "preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."
FULL = "preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod."


def node(name: str = "one", *, labels: dict[str, str] = {}, **spec: Any) -> Node:  # noqa: B006 -- not changed
    allocatable = {"cpu": "4", "memory": "8Gi", "pods": "3"}
    return msgspec.convert(
        {"metadata": {"name": name, "labels": labels}, "spec": spec, "status": {"allocatable": allocatable}}, Node
    )


def pod(name: str = "p", *, requests: dict[str, str] = {}, age: int = 0, **spec: Any) -> SchedulablePod:  # noqa: B006 -- not changed
    created = (NOW - timedelta(seconds=age)).isoformat()
    return msgspec.convert(
        {
            "metadata": {"name": name, "namespace": "n", "uid": name, "creationTimestamp": created, "resourceVersion": "3"},
            "spec": {"containers": [{"name": "c", "resources": {"requests": requests}}], **spec},
        },
        SchedulablePod,
    )


def outcome(observed: Observed) -> str:
    """The node the pod goes to, or the message it gets."""
    (write,) = plan_strictly(observed, NOW).writes
    if isinstance(write, Create):
        assert (write.subresource, write.body["metadata"]["uid"]) == ("binding", observed.pod.metadata.uid)
        return str(write.body["target"]["name"])
    assert isinstance(write, Patch)
    (condition,) = write.patch["status"]["conditions"]
    assert (condition["type"], condition["status"], condition["reason"]) == ("PodScheduled", "False", "Unschedulable")
    assert write.succeeded is not None
    assert (write.succeeded.type, write.succeeded.reason) == ("Warning", "FailedScheduling")
    assert write.succeeded.message == condition["message"]
    return str(condition["message"])


@pytest.mark.parametrize(
    ("waiting", "nodes", "expected"),
    [
        pytest.param(pod(requests={"cpu": "3", "memory": "8Gi"}), [node()], "one", id="what fits is bound"),
        pytest.param(
            pod(requests={"nvidia.com/gpu": "1"}),
            [node()],
            f"0/1 nodes are available: 1 Insufficient nvidia.com/gpu. no new claims to deallocate, {HELPLESS}",
            id="a GPU where there is none",
        ),
        pytest.param(
            pod(requests={"nvidia.com/gpu": "1", "cpu": "100", "memory": "100Gi"}),
            [node()],
            "0/1 nodes are available: 1 Insufficient cpu, 1 Insufficient memory, 1 Insufficient nvidia.com/gpu. "
            f"no new claims to deallocate, {HELPLESS}",
            id="several shortages are listed",
        ),
        pytest.param(
            pod(nodeSelector={"a": "b"}),
            [node()],
            "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector. "
            f"no new claims to deallocate, {HELPLESS}",
            id="a node selector nobody matches",
        ),
        pytest.param(
            pod(),
            [node(taints=[{"key": "dedicated", "value": "x", "effect": "NoSchedule"}])],
            f"0/1 nodes are available: 1 node(s) had untolerated taint(s). no new claims to deallocate, {HELPLESS}",
            id="a taint",
        ),
        pytest.param(
            pod(tolerations=[{"key": "dedicated", "operator": "Exists"}]),
            [node(taints=[{"key": "dedicated", "value": "x", "effect": "NoSchedule"}])],
            "one",
            id="a tolerated taint",
        ),
        pytest.param(pod(nodeSelector={"a": "b"}), [node(), node("two", labels={"a": "b"})], "two", id="the node that matches"),
        pytest.param(pod(), [], "no nodes available to schedule pods", id="no node at all"),
    ],
)
def test_pod_goes_where_it_fits_or_is_told_why_not(waiting: SchedulablePod, nodes: list[Node], expected: str) -> None:
    assert outcome(Observed(pod=waiting, nodes=tuple(nodes))) == expected


def test_room_taken_by_other_pods_is_not_given_twice() -> None:
    observed = Observed(pod=pod(requests={"cpu": "3"}), nodes=(node(),), assigned={"one": (pod("other", requests={"cpu": "2"}),)})
    assert outcome(observed) == f"0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, {FULL}"


def test_node_takes_no_more_pods_than_it_may() -> None:
    observed = Observed(pod=pod(), nodes=(node(),), assigned={"one": tuple(pod(f"other-{number}") for number in range(3))})
    assert outcome(observed).startswith("0/1 nodes are available: 1 Too many pods.")


def test_pods_ahead_in_line_are_served_first() -> None:
    ahead = pod("ahead", requests={"cpu": "3"}, priority=5)
    refused = outcome(Observed(pod=pod(requests={"cpu": "3"}, age=60), nodes=(node(),), ahead=(ahead,)))
    assert refused.startswith("0/1 nodes are available: 1 Insufficient cpu.")


def test_pods_ahead_that_fit_nowhere_hold_nobody_up() -> None:
    ahead = pod("ahead", requests={"nvidia.com/gpu": "1", "cpu": "4"}, priority=5)
    assert outcome(Observed(pod=pod(requests={"cpu": "3"}), nodes=(node(),), ahead=(ahead,))) == "one"


def test_pod_that_says_so_already_is_not_told_again() -> None:
    waiting = pod(requests={"nvidia.com/gpu": "1"})
    message = outcome(Observed(pod=waiting, nodes=(node(),)))
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
    told = msgspec.structs.replace(waiting, status=msgspec.convert({"conditions": [condition]}, type(waiting.status)))
    assert plan_strictly(Observed(pod=told, nodes=(node(),)), NOW).writes == ()


def test_sidecars_and_init_containers_count_as_they_run() -> None:
    waiting = pod(
        requests={"cpu": "1"},
        initContainers=[
            {"name": "sidecar", "restartPolicy": "Always", "resources": {"requests": {"cpu": "1"}}},
            {"name": "setup", "resources": {"requests": {"cpu": "3500m"}}},
        ],
    )
    assert outcome(Observed(pod=waiting, nodes=(node(),))).startswith("0/1 nodes are available: 1 Insufficient cpu.")


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
