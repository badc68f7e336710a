"""Jobs whose number of workers changes while they train, and what lasts longer than a job."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from e2e.running_cluster import REPOSITORY, Cluster, eventually

MANIFESTS = Path(__file__).parent / "manifests"
SECONDS = 120.0

pytestmark = pytest.mark.timeout(600)


def apply(cluster: Cluster, namespace: str, file: str) -> None:
    cluster.kubectl("apply", "-n", namespace, "-f", str(MANIFESTS / file))


def recipe_log(cluster: Cluster, namespace: str) -> str:
    return cluster.try_kubectl("logs", "-n", namespace, "elastic-worker-0").stdout


def groups(cluster: Cluster, namespace: str) -> list[tuple[int, int]]:
    """(world size, first step) of every group of ranks that worker 0 was in, in order."""
    found = re.findall(r"ddp on (\d+) ranks \(cpu\), from step (\d+)", recipe_log(cluster, namespace))
    return [(int(size), int(step)) for size, step in found]


def newest_saved(cluster: Cluster, namespace: str) -> int:
    return max([0, *map(int, re.findall(r"^saved step (\d+)$", recipe_log(cluster, namespace), re.MULTILINE))])


@pytest.mark.embedded(why="keeps its checkpoints in a volume that the cluster makes")
def test_an_elastic_job_goes_on_from_its_checkpoints_with_more_workers_without_a_lost_one_and_with_fewer(
    cluster: Cluster, namespace: str
) -> None:
    config_map, *others = yaml.safe_load_all((MANIFESTS / "elastic.yaml").read_text())
    config_map["data"]["lm.py"] = (REPOSITORY / "examples/recipes/lm.py").read_text()
    for one in (config_map, *others):
        one["metadata"]["namespace"] = namespace
    cluster.apply(config_map, *others)

    def goes_on(size: int, least: int) -> Any:
        """The first step of the present group, if it has this size and began at that step or a later one."""
        found = groups(cluster, namespace)
        return found and found[-1][0] == size and found[-1][1] >= least and found[-1][1] + 1

    def saves_beyond(step: int) -> int:
        found = eventually(lambda: newest_saved(cluster, namespace) > step and newest_saved(cluster, namespace), seconds=SECONDS)
        assert isinstance(found, int)
        return found

    eventually(lambda: goes_on(2, 0), seconds=SECONDS)
    saved = saves_beyond(0)
    grown = cluster.shunter("scale", "elastic", "--nodes", "3", "-n", namespace)
    assert grown.returncode == 0, grown.stderr
    eventually(lambda: goes_on(3, saved), seconds=SECONDS)
    # The worker is lost with its process; the others go on, and the pod that is made in its place joins them.
    saved = saves_beyond(groups(cluster, namespace)[-1][1])
    before = len(groups(cluster, namespace))
    cluster.kubectl("delete", "pod", "-n", namespace, "elastic-worker-2", "--grace-period=0", "--force")
    eventually(lambda: len(groups(cluster, namespace)) > before and goes_on(3, saved), seconds=SECONDS)
    saved = saves_beyond(groups(cluster, namespace)[-1][1])
    assert cluster.shunter("scale", "elastic", "--nodes", "2", "-n", namespace).returncode == 0
    eventually(lambda: goes_on(2, saved), seconds=SECONDS)
    cluster.kubectl("exec", "-n", namespace, "elastic-worker-0", "--", "touch", "/steps/fast")
    cluster.kubectl("wait", "-n", namespace, "pytorchjob/elastic", "--for=condition=Succeeded", "--timeout=150s", timeout=160)
    assert newest_saved(cluster, namespace) == 600


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
