"""Jobs whose number of workers changes while they train, and what lasts longer than a job."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from e2e.running_cluster import Cluster, eventually

MANIFESTS = Path(__file__).parent / "manifests"
SECONDS = 120.0

pytestmark = pytest.mark.timeout(300)


def apply(cluster: Cluster, namespace: str, file: str) -> None:
    cluster.kubectl("apply", "-n", namespace, "-f", str(MANIFESTS / file))


def groups(cluster: Cluster, namespace: str) -> list[tuple[int, int]]:
    """(world size, first step) of every group of ranks that worker 0 was in, in order."""
    logs = cluster.try_kubectl("logs", "-n", namespace, "elastic-worker-0").stdout
    return [(int(size), int(step)) for size, step in re.findall(r"world size (\d+) from step (\d+)", logs)]


@pytest.mark.embedded(why="keeps its steps in a volume that the cluster makes")
def test_an_elastic_job_goes_on_with_more_workers_without_a_lost_one_and_with_fewer(cluster: Cluster, namespace: str) -> None:
    apply(cluster, namespace, "elastic.yaml")

    def has_grown_to(size: int, than: int) -> Any:
        found = groups(cluster, namespace)
        return found and found[-1][0] == size and found[-1][1] >= than and found

    eventually(lambda: has_grown_to(2, 0), seconds=SECONDS)
    cluster.kubectl("scale", "-n", namespace, "pytorchjob/elastic", "--replicas=3")
    *_, (_, grown) = eventually(lambda: has_grown_to(3, 1), seconds=SECONDS)
    # The worker is lost with its process; the others go on, and the pod that is made in its place joins them.
    cluster.kubectl("delete", "pod", "-n", namespace, "elastic-worker-2", "--grace-period=0", "--force")
    *_, (_, grown) = eventually(lambda: has_grown_to(3, grown + 1), seconds=SECONDS)
    cluster.kubectl("scale", "-n", namespace, "pytorchjob/elastic", "--replicas=2")
    eventually(lambda: has_grown_to(2, grown), seconds=SECONDS)
    cluster.kubectl("exec", "-n", namespace, "elastic-worker-0", "--", "touch", "/steps/stop")
    cluster.kubectl("wait", "-n", namespace, "pytorchjob/elastic", "--for=condition=Succeeded", "--timeout=90s", timeout=100)


@pytest.mark.embedded(why="a real control plane has no metrics server")
def test_an_autoscaler_adds_workers_to_a_busy_job_and_goes_with_it(cluster: Cluster, namespace: str) -> None:
    apply(cluster, namespace, "autoscaled.yaml")

    def pods() -> list[str]:
        return [pod["metadata"]["name"] for pod in cluster.get("pods", "-n", namespace)["items"]]

    eventually(lambda: pods() == ["busy-worker-0", "busy-worker-1", "busy-worker-2"], seconds=SECONDS)
    autoscaler = cluster.get("hpa", "busy", "-n", namespace)
    assert autoscaler["spec"]["scaleTargetRef"] == {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "name": "busy"}
    conditions = {one["type"]: (one["status"], one["reason"]) for one in autoscaler["status"]["conditions"]}
    assert conditions["ScalingActive"] == ("True", "ValidMetricFound")
    events = cluster.kubectl("events", "-n", namespace, "--for=hpa/busy")
    assert "New size: 3; reason: cpu resource utilization (percentage of request) above target" in events
    assert "busy-worker-0" in cluster.kubectl("top", "pods", "-n", namespace)
    cluster.kubectl(
        "patch", "pytorchjob/busy", "-n", namespace, "--type=merge", "-p", json.dumps({"spec": {"runPolicy": {"suspend": True}}})
    )
    eventually(lambda: not cluster.get("hpa", "-n", namespace)["items"])


@pytest.mark.embedded(why="keeps checkpoints in a volume that the cluster makes")
def test_a_second_job_resumes_from_the_checkpoint_of_the_first(cluster: Cluster, namespace: str) -> None:
    claim, script, job = yaml.safe_load_all((MANIFESTS / "checkpoints.yaml").read_text())
    for name, line in (("first", "epochs 0 to 3"), ("second", "epochs 3 to 6")):
        job["metadata"]["name"] = name
        cluster.kubectl("apply", "-n", namespace, "-f", "-", stdin="\n---\n".join(map(json.dumps, (claim, script, job))))
        cluster.kubectl("wait", "-n", namespace, f"pytorchjob/{name}", "--for=condition=Succeeded", "--timeout=90s", timeout=100)
        assert line in cluster.kubectl("logs", "-n", namespace, f"{name}-master-0")
    volume = cluster.get("pvc", "checkpoints", "-n", namespace)["spec"]["volumeName"]
    directory = Path(cluster.get("pv", volume)["spec"]["hostPath"]["path"])
    assert (directory / "model.pt").exists()
    cluster.kubectl("delete", "-n", namespace, "pytorchjobs,pvc", "--all", "--timeout=30s")
    eventually(lambda: cluster.try_kubectl("get", "pv", volume).returncode)
    assert not directory.exists()
