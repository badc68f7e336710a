"""Whether a trial has room: what quotas leave, what the nodes have left."""

from __future__ import annotations

from typing import Any

import pytest

from shunter.api.meta import Json
from shunter.cluster.node.registration import PROCESS_NODE
from shunter.migrate.moving.runs.headroom import needed, node_obstacles, quota_obstacles


def pod(cpu: str = "2", *, gpus: int = 0, node: str = "", phase: str = "Running", **spec: Any) -> Json:
    requests = {"cpu": cpu, **({"nvidia.com/gpu": str(gpus)} if gpus else {})}
    limits = {"nvidia.com/gpu": str(gpus)} if gpus else {}
    container = {"name": "node", "image": "i", "resources": {"requests": requests, "limits": limits}}
    body: Json = {"containers": [container], **({"nodeName": node} if node else {}), **spec}
    return {"metadata": {"name": "p"}, "spec": body, "status": {"phase": phase}}


def node(cpu: str = "8", *, gpus: str = "4", name: str = "n1", labels: Json | None = None, **spec: Any) -> Json:
    allocatable = {"cpu": cpu, "nvidia.com/gpu": gpus}
    return {"metadata": {"name": name, "labels": labels or {}}, "spec": spec, "status": {"allocatable": allocatable}}


def quota(hard: Json, used: Json | None = None, **spec: Any) -> Json:
    return {"metadata": {"name": "team"}, "spec": {"hard": hard, **spec}, "status": {"hard": hard, "used": used or {}}}


@pytest.mark.parametrize(
    ("hard", "used", "told"),
    [
        ({"requests.cpu": "8"}, {"requests.cpu": "4"}, []),
        (
            {"requests.cpu": "8"},
            {"requests.cpu": "4500m"},
            ["ResourceQuota team leaves 3.5 of requests.cpu, the trial requests 4"],
        ),
        ({"requests.nvidia.com/gpu": "1"}, {}, ["ResourceQuota team leaves 1 of requests.nvidia.com/gpu, the trial requests 2"]),
        ({"pods": "5"}, {"pods": "4"}, ["ResourceQuota team leaves 1 of pods, the trial requests 2"]),
        (
            {"count/trainjobs.trainer.kubeflow.org": "3"},
            {"count/trainjobs.trainer.kubeflow.org": "3"},
            ["ResourceQuota team leaves 0 of count/trainjobs.trainer.kubeflow.org, the trial requests 1"],
        ),
        ({"count/secrets": "1", "requests.storage": "1Gi"}, {"count/secrets": "1"}, []),
        ({"requests.nvidia.com/gpu": "0", "limits.memory": "1Gi"}, {"limits.memory": "2Gi"}, ["0 of requests.nvidia.com/gpu"]),
    ],
    ids=["enough", "cpu", "gpus", "pods", "jobs", "of other objects", "overused, and nothing asked of it"],
)
def test_a_quota_that_leaves_too_little_is_named_with_what_it_leaves(hard: Json, used: Json, told: list[str]) -> None:
    found = list(quota_obstacles([quota(hard, used)], [pod(gpus=1), pod(gpus=1)]))
    assert len(found) == len(told)
    assert all(text in line for text, line in zip(told, found, strict=True))


def test_a_quota_of_other_priorities_does_not_count() -> None:
    of_high = {"scopeSelector": {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "In", "values": ["high"]}]}}
    assert list(quota_obstacles([quota({"pods": "0"}, **of_high)], [pod()])) == []


def test_a_quota_that_no_controller_has_counted_yet_is_taken_by_its_spec() -> None:
    fresh = {"metadata": {"name": "team"}, "spec": {"hard": {"pods": "1"}}}
    assert len(list(quota_obstacles([fresh], [pod(), pod()]))) == 1


@pytest.mark.parametrize(
    ("nodes", "running", "told"),
    [
        ([node()], [], []),
        ([node(gpus="1")], [], ["the nodes have 1 of nvidia.com/gpu left, the trial requests 2"]),
        ([node(gpus="1"), node(gpus="1", name="n2")], [], []),
        ([node(gpus="4", unschedulable=True)], [], ["0 of cpu", "0 of nvidia.com/gpu"]),
        ([node()], [pod(gpus=3, node="n1")], ["the nodes have 1 of nvidia.com/gpu left, the trial requests 2"]),
        ([node()], [pod(gpus=3, node="n1", phase="Succeeded"), pod(gpus=3), pod(gpus=3, node="gone")], []),
        ([node("1", gpus="0"), node(labels={PROCESS_NODE: "true"}, name="n2")], [], []),
        ([], [], ["0 of cpu", "0 of nvidia.com/gpu"]),
    ],
    ids=["enough", "too few", "in sum", "cordoned", "in use", "not in use", "a node of processes", "no nodes"],
)
def test_nodes_with_too_little_left_are_told_by_resource(nodes: list[Json], running: list[Json], told: list[str]) -> None:
    found = list(node_obstacles(nodes, running, [pod(gpus=1), pod(gpus=1)]))
    assert len(found) == len(told)
    assert all(text in line for text, line in zip(told, found, strict=True))


def test_init_containers_are_needed_one_after_the_other() -> None:
    large = {"name": "init", "image": "i", "resources": {"requests": {"cpu": "5"}}}
    assert needed([pod("2", initContainers=[large]), pod("1")])["cpu"] == 6
