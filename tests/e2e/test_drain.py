"""`kubectl drain` on both kinds of cluster: what it refuses, what holds it up, and what it does when it may.

The node is cordoned meanwhile, so what is evicted is not replaced there. Only pods of the test's namespace are drained.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from e2e.running_cluster import Cluster, eventually
from e2e.test_workloads import apply, rolled_out, workload

pytestmark = pytest.mark.timeout(300)
RETRIED = "(will retry after 5s): Cannot evict pod as it would violate the pod's disruption budget."


@pytest.fixture
def node(cluster: Cluster) -> Iterator[str]:
    name = cluster.get("nodes")["items"][0]["metadata"]["name"]
    yield name
    cluster.kubectl("uncordon", name)


def labelled(namespace: str, obj: dict[str, Any]) -> dict[str, Any]:
    """With a label by which a drain of this test finds its pods."""
    template = obj["spec"].get("template", obj)
    template["metadata"]["labels"] = {**template["metadata"].get("labels", {}), "drained": namespace}
    return obj


def drain(namespace: str, node: str, *options: str) -> list[str]:
    return ["drain", node, f"--pod-selector=drained={namespace}", "--timeout=90s", *options]


def running(cluster: Cluster, namespace: str) -> list[str]:
    """Pods on the node that nobody has asked to end."""
    pods = cluster.get("pods", "-n", namespace)["items"]
    live = (pod["metadata"] for pod in pods if pod["spec"].get("nodeName") and "deletionTimestamp" not in pod["metadata"])
    return sorted(metadata["name"] for metadata in live)


def budget(cluster: Cluster, namespace: str, minimum: int, allowed: int) -> None:
    spec = {"minAvailable": minimum, "selector": {"matchLabels": {"drained": namespace}}}
    apply(cluster, namespace, {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "b"}, "spec": spec})
    eventually(lambda: cluster.get("pdb", "b", "-n", namespace).get("status", {}).get("disruptionsAllowed") == allowed)


def test_a_budget_holds_up_a_drain_until_it_allows_more(cluster: Cluster, namespace: str, node: str) -> None:
    apply(cluster, namespace, labelled(namespace, workload("Deployment", "web", replicas=2)))
    rolled_out(cluster, namespace, "deploy/web")
    budget(cluster, namespace, 1, 1)
    with cluster.start_kubectl(*drain(namespace, node), stderr=subprocess.STDOUT) as draining:
        assert draining.stdout is not None
        refused = next(line for line in draining.stdout if "error when evicting" in line)
        eventually(lambda: len(running(cluster, namespace)) == 1)
        (kept,) = running(cluster, namespace)
        assert refused.strip() == f'error when evicting pods/"{kept}" -n "{namespace}" {RETRIED}'
        # The replacement of the first waits for a node, so the budget allows nothing more.
        status = cluster.get("pdb", "b", "-n", namespace)["status"]
        assert (status["currentHealthy"], status["disruptionsAllowed"]) == (1, 0)
        cluster.kubectl("patch", "pdb", "b", "-n", namespace, "-p", '{"spec": {"minAvailable": 0}}')
        output, _ = draining.communicate(timeout=60)
    assert draining.returncode == 0
    assert f"pod/{kept} evicted" in output
    assert output.endswith(f"node/{node} drained\n")
    assert running(cluster, namespace) == []
    cluster.kubectl("uncordon", node)
    rolled_out(cluster, namespace, "deploy/web")


def test_a_drain_that_may_not_evict_ends_at_its_time_out_and_leaves_the_pod(cluster: Cluster, namespace: str, node: str) -> None:
    apply(cluster, namespace, labelled(namespace, workload("StatefulSet", "db", serviceName="db")))
    rolled_out(cluster, namespace, "sts/db")
    budget(cluster, namespace, 1, 0)
    done = cluster.try_kubectl(*drain(namespace, node, "--timeout=2s"))
    assert done.returncode == 1
    assert RETRIED in done.stderr
    assert "global timeout reached: 2s" in done.stderr
    assert running(cluster, namespace) == ["db-0"]
    done = cluster.try_kubectl(*drain(namespace, node, "--disable-eviction"))
    assert done.returncode == 0, done.stderr
    assert "pod/db-0 deleted" in done.stdout
    assert running(cluster, namespace) == []


def test_a_drain_names_the_option_for_each_pod_that_it_would_lose(cluster: Cluster, namespace: str, node: str) -> None:
    container = {"name": "c", "image": "any:1", "command": ["sleep", "600"]}
    bare = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "bare"}}
    bare["spec"] = {"terminationGracePeriodSeconds": 0, "containers": [container]}
    with_data = workload("Deployment", "cache")
    with_data["spec"]["template"]["spec"]["volumes"] = [{"name": "scratch", "emptyDir": {}}]
    daemon = workload("DaemonSet", "agent")
    # The real cluster's node has this taint.
    daemon["spec"]["template"]["spec"]["tolerations"] = [{"key": "shunter.dev/process", "operator": "Exists"}]
    apply(cluster, namespace, *(labelled(namespace, obj) for obj in (bare, with_data, daemon)))
    for name in ("deploy/cache", "ds/agent"):
        rolled_out(cluster, namespace, name)
    cluster.kubectl("wait", "pod/bare", "-n", namespace, "--for=condition=Ready", "--timeout=60s")
    before = running(cluster, namespace)

    done = cluster.try_kubectl(*drain(namespace, node))
    assert done.returncode == 1
    for sentence in (
        f"cannot delete Pods that declare no controller (use --force to override): {namespace}/bare",
        "cannot delete DaemonSet-managed Pods (use --ignore-daemonsets to ignore)",
        "cannot delete Pods with local storage (use --delete-emptydir-data to override)",
    ):
        assert sentence in done.stderr
    assert running(cluster, namespace) == before

    done = cluster.try_kubectl(*drain(namespace, node, "--force", "--ignore-daemonsets", "--delete-emptydir-data"))
    assert done.returncode == 0, done.stderr
    assert f"deleting Pods that declare no controller: {namespace}/bare" in done.stderr
    assert "ignoring DaemonSet-managed Pods" in done.stderr
    (left,) = running(cluster, namespace)
    assert left.startswith("agent-")
