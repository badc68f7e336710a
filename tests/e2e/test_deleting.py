"""`shunter delete` of a job whose processes ignore SIGTERM."""

import time
from typing import Any

import pytest

from e2e.running_cluster import Cluster, eventually

pytestmark = pytest.mark.timeout(240)
GRACE = 60
SCRIPT = "trap '' TERM; echo deaf; while true; do sleep 1; done"
TRAINER = "trainer.kubeflow.org/v1alpha1"


def pod_spec(container: str) -> dict[str, Any]:
    return {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": GRACE,
        "containers": [{"name": container, "image": "any:1", "command": ["sh", "-c", SCRIPT]}],
    }


def v1(namespace: str) -> list[dict[str, Any]]:
    replicas = {"replicas": 1, "restartPolicy": "Never", "template": {"spec": pod_spec("pytorch")}}
    specs = {"pytorchReplicaSpecs": {"Master": replicas}}
    return [{"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": meta("j", namespace), "spec": specs}]


def v2(namespace: str) -> list[dict[str, Any]]:
    labels = {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
    job = {"metadata": {"labels": labels}, "spec": {"template": {"spec": pod_spec("node")}}}
    spec = {"mlPolicy": {"numNodes": 1}, "template": {"spec": {"replicatedJobs": [{"name": "node", "template": job}]}}}
    return [
        {"apiVersion": TRAINER, "kind": "TrainingRuntime", "metadata": meta("deaf", namespace), "spec": spec},
        {
            "apiVersion": TRAINER,
            "kind": "TrainJob",
            "metadata": meta("j", namespace),
            "spec": {"runtimeRef": {"kind": "TrainingRuntime", "name": "deaf"}},
        },
    ]


def native(namespace: str) -> list[dict[str, Any]]:
    spec = {"completionMode": "Indexed", "completions": 1, "parallelism": 1, "template": {"spec": pod_spec("trainer")}}
    return [{"apiVersion": "batch/v1", "kind": "Job", "metadata": meta("j", namespace), "spec": spec}]


def meta(name: str, namespace: str) -> dict[str, Any]:
    return {"name": name, "namespace": namespace}


@pytest.mark.parametrize("objects", [v1, v2, native], ids=["v1", "v2", "Job"])
def test_now_ends_the_pods_of_the_job_at_once_and_no_others(cluster: Cluster, namespace: str, objects: Any) -> None:
    for obj in objects(namespace):
        cluster.apply(obj)
    eventually(lambda: "deaf" in cluster.shunter("logs", "j", "-n", namespace).stdout, seconds=90)
    own = cluster.get("pods", "-n", namespace)["items"][0]
    # Somebody's own pod that has the job's labels, and is being deleted as well; a Job adopts what has its uid.
    labels = {name: value for name, value in own["metadata"]["labels"].items() if "controller-uid" not in name}
    stranger = {"name": "stranger", "namespace": namespace, "labels": labels}
    cluster.apply({"apiVersion": "v1", "kind": "Pod", "metadata": stranger, "spec": pod_spec("main")})
    cluster.kubectl("wait", "--for=condition=Ready", "pod/stranger", "-n", namespace, "--timeout=60s")
    cluster.kubectl("delete", "pod", "stranger", "-n", namespace, "--wait=false")
    begun = time.monotonic()
    done = cluster.shunter("delete", "j", "-n", namespace, "--now", timeout=GRACE)
    assert done.returncode == 0, done.stderr
    assert time.monotonic() - begun < GRACE - 5
    left = cluster.get("pods", "-n", namespace)["items"]
    assert [pod["metadata"]["name"] for pod in left] == ["stranger"]
    assert left[0]["metadata"]["deletionGracePeriodSeconds"] == GRACE
    cluster.kubectl("delete", "pod", "stranger", "-n", namespace, "--grace-period=1")


def test_a_delete_that_waits_says_for_what_and_how_long(cluster: Cluster, namespace: str, start: Any) -> None:
    cluster.apply(*v1(namespace))
    eventually(lambda: "deaf" in cluster.shunter("logs", "j", "-n", namespace).stdout, seconds=90)
    waiting = start("delete", "j", "-n", namespace)
    said = waiting.stdout.readline()
    assert said.startswith(f"PyTorchJob {namespace}/j waits for pod j-master-0 to terminate.")
    assert f"killed {GRACE} s after it (terminationGracePeriodSeconds); --now gives them a second." in said
    assert cluster.shunter("delete", "j", "-n", namespace, "--now").returncode == 0
    rest, _ = waiting.communicate(timeout=30)
    assert (waiting.returncode, rest) == (0, f"deleted PyTorchJob {namespace}/j\n")
