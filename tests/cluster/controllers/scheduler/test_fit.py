"""Whether a node takes a pod: selectors, taints, resources, numbers of pods."""

import pytest

from cluster.controllers.scheduler.pending import FULL, HELPLESS, node, outcome, pod
from shunter.api.core import Node
from shunter.cluster.controllers.scheduler.plan import Observed
from shunter.cluster.controllers.scheduler.pod import SchedulablePod


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


def test_sidecars_and_init_containers_count_as_they_run() -> None:
    waiting = pod(
        requests={"cpu": "1"},
        initContainers=[
            {"name": "sidecar", "restartPolicy": "Always", "resources": {"requests": {"cpu": "1"}}},
            {"name": "setup", "resources": {"requests": {"cpu": "3500m"}}},
        ],
    )
    assert outcome(Observed(pod=waiting, nodes=(node(),))).startswith("0/1 nodes are available: 1 Insufficient cpu.")
