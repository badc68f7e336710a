"""What becomes of jobs when their node is emptied, or its Node object goes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from e2e.job_life import job
from e2e.running_cluster import Cluster, eventually
from player.shape import Json

pytestmark = pytest.mark.timeout(180)

SECONDS = 60.0


@pytest.fixture
def node(cluster: Cluster) -> Iterator[str]:
    (found,) = cluster.get("nodes")["items"]
    name: str = found["metadata"]["name"]
    yield name
    cluster.kubectl("uncordon", name)


@pytest.fixture
def pod(cluster: Cluster, namespace: str) -> Json:
    """The Worker of a job that runs."""
    wanted = job("PyTorchJob", {"Master": (1, "OnFailure"), "Worker": (1, "OnFailure")}, script="sleep 600")
    cluster.apply({**wanted, "metadata": {"name": "j", "namespace": namespace}})
    cluster.kubectl("wait", "--for=condition=Running", "pytorchjob/j", "-n", namespace, "--timeout=50s")
    cluster.kubectl("wait", "--for=condition=Ready", "pod/j-worker-0", "-n", namespace, "--timeout=50s")
    return cluster.get("pod", "j-worker-0", "-n", namespace)


def test_a_drained_nodes_pods_come_back_when_it_takes_pods_again(cluster: Cluster, namespace: str, node: str, pod: Json) -> None:
    selector = "--pod-selector=training.kubeflow.org/replica-type=worker"
    cluster.kubectl("drain", node, selector, "--grace-period=1", "--timeout=50s")
    waiting = eventually(lambda: replaced(cluster, namespace, pod), seconds=SECONDS)
    assert "nodeName" not in waiting["spec"]
    eventually(lambda: "were unschedulable" in cluster.shunter("describe", "j", "-n", namespace).stdout, seconds=SECONDS)
    described = cluster.shunter("describe", "j", "-n", namespace).stdout
    assert "State    Restarting" in described or "State    Running" in described
    assert "EvictionByEvictionAPI    j: Pod j-worker-0 is deleted: Eviction API: evicting" in described
    cluster.kubectl("uncordon", node)
    cluster.kubectl("wait", "--for=condition=Ready", "pod/j-worker-0", "-n", namespace, "--timeout=50s")


def test_jobs_do_not_notice_that_their_node_object_was_deleted(cluster: Cluster, namespace: str, node: str, pod: Json) -> None:
    """It is registered again within 10 seconds."""
    uid = cluster.get("node", node)["metadata"]["uid"]
    before = cluster.get("pytorchjob", "j", "-n", namespace)
    cluster.kubectl("delete", "node", node)
    eventually(lambda: is_ready_again(cluster, node, uid), seconds=SECONDS)
    again = cluster.get("pod", "j-worker-0", "-n", namespace)
    assert again["metadata"]["uid"] == pod["metadata"]["uid"]
    assert again["status"]["containerStatuses"][0]["state"] == pod["status"]["containerStatuses"][0]["state"]
    assert cluster.get("pytorchjob", "j", "-n", namespace)["status"] == before["status"]
    assert "sleep" in cluster.kubectl("exec", "j-worker-0", "-n", namespace, "--", "cat", "/proc/1/cmdline")


def replaced(cluster: Cluster, namespace: str, pod: Json) -> Json | None:
    """The pod of the same name that came after this one."""
    found = cluster.try_kubectl("get", "pod", pod["metadata"]["name"], "-n", namespace, "-o", "jsonpath={.metadata.uid}").stdout
    return cluster.get("pod", pod["metadata"]["name"], "-n", namespace) if found not in ("", pod["metadata"]["uid"]) else None


def is_ready_again(cluster: Cluster, node: str, uid: str) -> bool:
    found = [one for one in cluster.get("nodes")["items"] if one["metadata"]["name"] == node and one["metadata"]["uid"] != uid]
    conditions = [one for node in found for one in node["status"].get("conditions", [])]
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)
