"""A machine that is gone for good: Kubernetes takes its pods away, and the job gets them again on another."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.process_node import ProcessNode
from control_plane import ControlPlane
from e2e.job_life import job
from e2e.real_cluster import NODE, RealCluster
from e2e.running_cluster import eventually
from shunter.cluster.node.teardown import teardown

pytestmark = [pytest.mark.conformance, pytest.mark.timeout(300)]

NAMESPACE = "lost"
COLLECTED_SECONDS = 150.0
"""Kubernetes looks every 20 seconds for pods without a node, and waits 40 more for the node to come back."""


@pytest.fixture
def plane(tmp_path: Path) -> Iterator[ControlPlane]:
    """Of its own: on that of the worker the tests of tests/e2e may have an operator and a node."""
    with ControlPlane(tmp_path / "plane") as started:
        yield started


@pytest.fixture
def cluster(plane: ControlPlane) -> Iterator[RealCluster]:
    running = RealCluster(plane)
    try:
        running.up()
        running.create_namespace(NAMESPACE)
        yield running
        running.kubectl("delete", "namespace", NAMESPACE, "--timeout=50s")
    finally:
        running.down()


@pytest.fixture
def other_node(plane: ControlPlane, tmp_path: Path) -> Iterator[ProcessNode]:
    node = ProcessNode(plane, tmp_path / "node")
    node.start()
    yield node
    if node.is_running:
        node.kill()
    teardown(node.state_dir / "node")


def test_a_lost_nodes_worker_comes_back_on_another(cluster: RealCluster, other_node: ProcessNode) -> None:
    wanted = job("PyTorchJob", {"Master": (1, "OnFailure"), "Worker": (1, "ExitCode")}, script="sleep 600")
    there = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [other_node.name]}]}
    preferred = [{"weight": 100, "preference": there}]
    specs = wanted["spec"]["pytorchReplicaSpecs"]
    specs["Worker"]["template"] = {
        "spec": {
            **specs["Worker"]["template"]["spec"],
            "affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}},
        }
    }
    specs["Master"]["template"] = {
        "spec": {**specs["Master"]["template"]["spec"], "nodeSelector": {"kubernetes.io/hostname": NODE}}
    }
    cluster.apply({**wanted, "metadata": {"name": "j", "namespace": NAMESPACE}})
    cluster.kubectl("wait", "--for=condition=Ready", "pod/j-master-0", "-n", NAMESPACE, "--timeout=50s")
    cluster.kubectl("wait", "--for=create", "pod/j-worker-0", "-n", NAMESPACE, "--timeout=50s")
    eventually(lambda: place(cluster) == other_node.name)
    other_node.kill()
    cluster.kubectl("delete", "node", other_node.name)
    eventually(lambda: place(cluster) == NODE, seconds=COLLECTED_SECONDS)
    cluster.kubectl("wait", "--for=condition=Ready", "pod/j-worker-0", "-n", NAMESPACE, "--timeout=50s")
    conditions = cluster.get("pytorchjob", "j", "-n", NAMESPACE)["status"]["conditions"]
    assert [(one["type"], one["status"]) for one in conditions] == [("Created", "True"), ("Running", "True")]
    described = cluster.shunter("describe", "j", "-n", NAMESPACE).stdout
    assert "DeletionByPodGC          j: Pod j-worker-0 is deleted: PodGC: node no longer exists" in described


def place(cluster: RealCluster) -> str:
    """The node on which the worker is."""
    return cluster.try_kubectl("get", "pod", "j-worker-0", "-n", NAMESPACE, "-o", "jsonpath={.spec.nodeName}").stdout
