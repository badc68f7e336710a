"""TrainJobs that are suspended and resumed: of every shipped runtime, within their pods' grace period, and onto other nodes."""

from __future__ import annotations

import copy
import json
import os
from pathlib import Path
from typing import Any

import pytest

from e2e.running_cluster import Cluster, eventually
from shunter.operator.trainer.runtimes import shipped

pytestmark = pytest.mark.timeout(300)

Json = dict[str, Any]

RUNTIMES = {runtime["metadata"]["name"]: runtime for runtime in shipped()}
UNTIL_TOLD = "trap exit TERM; until [ -e /told/go ]; do sleep 0.1; done"
CANNOT_FINISH = {"flux-distributed"}
"""Its brokers come from an image; what becomes of its objects to the end is recorded (`v2/suspend-flux`)."""


def test_jobs_of_every_shipped_runtime_can_be_suspended_and_resumed(cluster: Cluster, namespace: str, tmp_path: Path) -> None:
    os.chmod(tmp_path, 0o777)
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"namespace": namespace}}
    cluster.apply({**account, "metadata": {"namespace": namespace, "name": "kubeflow-trainer-cache-initializer"}})
    jobs = {f"j{number}": name for number, name in enumerate(sorted(RUNTIMES))}
    for job, name in jobs.items():
        made = [*volumes(cluster, namespace, job, RUNTIMES[name], tmp_path), runnable(RUNTIMES[name], namespace, job, tmp_path)]
        cluster.apply(*made, trainjob(namespace, job, suspend=True))

    def all_are(suspended: str) -> bool:
        found = {job["metadata"]["name"]: job for job in cluster.get("trainjobs", "-n", namespace)["items"]}
        return all(condition(found[job], "Suspended") == suspended for job in jobs)

    def train() -> bool:
        pods = cluster.get("pods", "-n", namespace)["items"]
        trained = {label(pod, "jobset-name") for pod in pods if label(pod, "replicatedjob-name") in ("node", "launcher")}
        return trained == set(jobs)

    def running() -> list[str]:
        pods = cluster.get("pods", "-n", namespace)["items"]
        return [pod["metadata"]["name"] for pod in pods if pod["status"].get("phase") in ("Pending", "Running")]

    eventually(lambda: all_are("True"))
    assert running() == []
    for _ in range(2):
        patch(cluster, namespace, *jobs, suspend=False)
        eventually(train)
        assert all_are("False")
        patch(cluster, namespace, *jobs, suspend=True)
        eventually(lambda: all_are("True") and not running())
    patch(cluster, namespace, *jobs, suspend=False)
    eventually(train)
    (tmp_path / "go").touch()
    finishing = [f"trainjob/{job}" for job, name in jobs.items() if name not in CANNOT_FINISH]
    cluster.kubectl("wait", *finishing, "-n", namespace, "--for=condition=Complete", "--timeout=60s", timeout=90)
    events = cluster.kubectl("get", "events", "-n", namespace, "--field-selector=type=Warning")
    assert "immutable" not in events, events


def test_no_rank_trains_twice_when_a_job_is_resumed_within_its_pods_grace_period(
    cluster: Cluster, namespace: str, tmp_path: Path
) -> None:
    os.chmod(tmp_path, 0o777)
    script = (
        "trap '' TERM; rank=$JOB_COMPLETION_INDEX; exec 9>/told/checkpoint-$rank;"
        " flock -n 9 || echo $rank >> /told/twice; echo $rank >> /told/started; until [ -e /told/go ]; do sleep 0.1; done"
    )
    runtime = runnable(RUNTIMES["torch-distributed"], namespace, "j", tmp_path, script=script, grace=4)
    cluster.apply(runtime, trainjob(namespace, "j", trainer={"numNodes": 2}))

    def lines(name: str) -> list[str]:
        file = tmp_path / name
        return sorted(file.read_text().split()) if file.exists() else []

    eventually(lambda: lines("started") == ["0", "1"])
    patch(cluster, namespace, "j", suspend=True)
    cluster.kubectl("wait", "trainjob/j", "-n", namespace, "--for=condition=Suspended", "--timeout=50s")
    patch(cluster, namespace, "j", suspend=False)

    def suspension() -> str:
        found = cluster.get("trainjob", "j", "-n", namespace)["status"].get("conditions", [])
        return next((f"{one['status']}: {one['message']}" for one in found if one["type"] == "Suspended"), "")

    waiting = "True: j starts again when nothing of its last run is left: Job j-node-0 may still have pods"
    eventually(lambda: suspension() == waiting)
    eventually(lambda: lines("started") == ["0", "0", "1", "1"])
    assert lines("twice") == []
    assert suspension() == "False: TrainJob is resumed"
    (tmp_path / "go").touch()
    cluster.kubectl("wait", "trainjob/j", "-n", namespace, "--for=condition=Complete", "--timeout=50s")


def test_a_job_that_is_resumed_elsewhere_keeps_no_node_selector_of_before(
    cluster: Cluster, namespace: str, tmp_path: Path
) -> None:
    """As Kueue does when another flavor has room."""
    os.chmod(tmp_path, 0o777)
    cluster.apply(runnable(RUNTIMES["torch-distributed"], namespace, "j", tmp_path))
    cluster.apply(trainjob(namespace, "j", runtimePatches=[placement({"example.com/old": "a"})]))

    def selectors() -> list[Json]:
        pods = cluster.get("pods", "-n", namespace)["items"]
        return [pod["spec"].get("nodeSelector", {}) for pod in pods if "deletionTimestamp" not in pod["metadata"]]

    eventually(lambda: selectors() == [{"example.com/old": "a"}])
    patch(cluster, namespace, "j", suspend=True)
    cluster.kubectl("wait", "trainjob/j", "-n", namespace, "--for=condition=Suspended", "--timeout=50s")
    eventually(lambda: cluster.get("trainjob", "j", "-n", namespace)["status"]["jobsStatus"][0]["active"] == 0)
    patch(cluster, namespace, "j", runtimePatches=None)
    before = cluster.get("jobset", "j", "-n", namespace)["metadata"]["uid"]
    patch(cluster, namespace, "j", suspend=False, runtimePatches=[placement({"example.com/new": "b"})])
    eventually(lambda: selectors() == [{"example.com/new": "b"}])
    assert cluster.get("jobset", "j", "-n", namespace)["metadata"]["uid"] != before
    types = {one["type"]: one["status"] for one in cluster.get("trainjob", "j", "-n", namespace)["status"]["conditions"]}
    assert types == {"Suspended": "False"}


def placement(selector: Json) -> Json:
    node = {"name": "node", "template": {"spec": {"template": {"spec": {"nodeSelector": selector}}}}}
    spec = {"template": {"spec": {"replicatedJobs": [node]}}}
    return {"manager": "kueue.x-k8s.io/manager", "trainingRuntimeSpec": spec}


def runnable(shipped_runtime: Json, namespace: str, name: str, told: Path, *, script: str = UNTIL_TOLD, grace: int = 1) -> Json:
    """The runtime as one of the namespace, whose containers run a shell script; initializers have nothing to do."""
    runtime: Json = copy.deepcopy(shipped_runtime)
    runtime["kind"] = "TrainingRuntime"
    runtime["metadata"] |= {"name": name, "namespace": namespace}
    for replicated in runtime["spec"]["template"]["spec"]["replicatedJobs"]:
        pod = replicated["template"]["spec"]["template"]["spec"]
        pod["terminationGracePeriodSeconds"] = grace
        pod.setdefault("volumes", []).append({"name": "told", "hostPath": {"path": str(told)}})
        for container in pod["containers"]:
            words = "true" if container["name"].endswith("initializer") else script
            container |= {"image": "any:1", "command": ["sh", "-c", words]}
            container.pop("args", None)
            container.setdefault("volumeMounts", []).append({"name": "told", "mountPath": "/told"})
    return runtime


def volumes(cluster: Cluster, namespace: str, job: str, runtime: Json, directory: Path) -> list[Json]:
    """The volumes for what the runtime claims, where nobody makes them."""
    if cluster.kind == "embedded":
        return []
    made = []
    for policy in runtime["spec"]["template"]["spec"].get("volumeClaimPolicies", ()):
        for template in policy["templates"]:
            claim = {"namespace": namespace, "name": f"{template['metadata']['name']}-{job}"}
            spec = {
                "accessModes": ["ReadWriteOnce"],
                "capacity": {"storage": "20Gi"},
                "claimRef": claim,
                "hostPath": {"path": str(directory)},
            }
            metadata = {"name": f"{namespace}-{claim['name']}"}
            made.append({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": metadata, "spec": spec})
    return made


def trainjob(namespace: str, name: str, **spec: Any) -> Json:
    """Of the namespace's runtime of its own name."""
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"runtimeRef": {"kind": "TrainingRuntime", "name": name}, **spec},
    }


def patch(cluster: Cluster, namespace: str, *jobs: str, **spec: Any) -> None:
    for job in jobs:
        cluster.kubectl("patch", "trainjob", job, "-n", namespace, "--type=merge", "-p", json.dumps({"spec": spec}))


def condition(job: Json, type: str) -> str:
    found = job.get("status", {}).get("conditions", [])
    return next((one["status"] for one in found if one["type"] == type), "")


def label(pod: Json, name: str) -> str:
    return str(pod["metadata"].get("labels", {}).get(f"jobset.sigs.k8s.io/{name}", ""))
