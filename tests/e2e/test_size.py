"""`shunter size` against a cluster: the nodes there are, and manifests that its API server takes with its webhooks."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator

import pytest

from e2e.running_cluster import Cluster

pytestmark = pytest.mark.timeout(120)


@pytest.fixture
def gpu_node(cluster: Cluster) -> Iterator[str]:
    """A node with eight GPUs that nothing is scheduled on: it is an object alone."""
    name = f"gpus-{uuid.uuid4().hex[:8]}"
    labels = {"node.kubernetes.io/instance-type": "p5.48xlarge"}
    cluster.apply(
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}, "spec": {"unschedulable": True}}
    )
    offered = {"cpu": "191450m", "memory": "1938410Mi", "pods": "100", "nvidia.com/gpu": "8"}
    status = json.dumps({"status": {"allocatable": offered, "capacity": offered}})
    cluster.kubectl("patch", "node", name, "--subresource=status", "--type=merge", "-p", status)
    yield name
    cluster.kubectl("delete", "node", name)


def test_the_nodes_there_are_are_sized_for(cluster: Cluster, gpu_node: str) -> None:
    done = cluster.shunter("size", "Llama-3.1-8B", "--on", "cluster", "-o", "json")
    assert done.returncode == 0, done.stderr
    found = [one for one in json.loads(done.stdout)["options"] if one["instance"] == "p5.48xlarge"]
    assert [(one["verdict"], one["provider"], one["nodes"], one["gpus"]) for one in found] == [("fits", "cluster", 1, 8)]


@pytest.mark.parametrize("api", ["trainjob", "pytorchjob"])
def test_manifests_are_taken_by_the_api_server_and_its_webhooks(
    cluster: Cluster, namespace: str, gpu_node: str, api: str
) -> None:
    words = ["--on", "cluster", "-o", "manifests", "-n", namespace, "--image", "registry.example.com/train:1", "--api", api]
    made = cluster.shunter("size", "Llama-3.1-8B", *words)
    assert made.returncode == 0, made.stderr
    answered = cluster.kubectl("apply", "--dry-run=server", "-f", "-", stdin=made.stdout)
    kind = {"trainjob": "trainjob.trainer.kubeflow.org", "pytorchjob": "pytorchjob.kubeflow.org"}[api]
    assert [line.split("/")[0] for line in answered.splitlines()] == ["resourcequota", "limitrange", kind]
    assert "Warning" not in answered
