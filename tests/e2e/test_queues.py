"""Jobs that wait in a queue say what the queue says. Kueue itself is not here: Workloads are written as it writes them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from e2e.running_cluster import Cluster, eventually
from e2e.test_causes import GENERATIONS, objects, row, text
from shunter.launch.annotations import CODE_LABEL

Json = dict[str, Any]
WORKLOADS = Path(__file__).parent / "manifests/kueue-workloads.yaml"
LOCAL_QUEUES = WORKLOADS.with_name("kueue-local-queues.yaml")
SHORT = "couldn't assign flavors to pod set node: insufficient unused quota for nvidia.com/gpu in flavor a100, 4 more needed"

pytestmark = pytest.mark.timeout(240)


@pytest.fixture(scope="module", autouse=True)
def kueue(cluster: Cluster) -> Iterator[None]:
    """Other tests are about a cluster without it, so it goes again: `migrate assess` asks for its configuration."""
    cluster.kubectl("apply", "--server-side", "-f", str(WORKLOADS))
    cluster.kubectl("wait", "crd/workloads.kueue.x-k8s.io", "--for=condition=Established", "--timeout=30s")
    yield
    cluster.kubectl("delete", "-f", str(WORKLOADS))


def queued(generation: str, namespace: str) -> list[Json]:
    given = objects(generation, namespace, command="true")
    job = given[-1]
    job["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "team-a"}
    if generation == "v1":
        job["spec"]["runPolicy"]["suspend"] = True
    else:
        job["spec"]["suspend"] = True
    return given


def kind(generation: str) -> str:
    return "pytorchjobs" if generation == "v1" else "trainjobs"


def workload(cluster: Cluster, namespace: str, generation: str, message: str) -> None:
    job = cluster.get(kind(generation), "j", "-n", namespace)
    owner = {key: job[key] for key in ("apiVersion", "kind")} | {"name": "j", "uid": job["metadata"]["uid"], "controller": True}
    body = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {"name": "job-j-1a2b3", "namespace": namespace, "ownerReferences": [owner]},
        "spec": {"queueName": "team-a", "active": True},
    }
    cluster.apply(body)
    said = {"type": "QuotaReserved", "status": "False", "reason": "Pending", "message": message}
    patch = json.dumps({"status": {"conditions": [{**said, "lastTransitionTime": "2026-01-01T00:00:00Z"}]}})
    cluster.kubectl(
        "patch", "workloads.kueue.x-k8s.io", "job-j-1a2b3", "-n", namespace, "--subresource=status", "--type=merge", "-p", patch
    )


@pytest.mark.parametrize("generation", GENERATIONS)
def test_a_job_in_a_queue_says_what_the_queue_says_and_is_not_to_be_resumed_by_hand(
    cluster: Cluster, namespace: str, generation: str
) -> None:
    cluster.apply(*queued(generation, namespace))
    assert row(cluster, namespace)["why"] in ("Queued", "NoQueue")
    workload(cluster, namespace, generation, SHORT)
    shown = row(cluster, namespace)
    assert (shown["why"], shown["cause"]) == ("WaitingForQuota", f"it waits in queue team-a: {SHORT}")
    assert (
        f"  Cause    WaitingForQuota: it waits in queue team-a: {SHORT}"
        in cluster.shunter("describe", "j", "-n", namespace).stdout
    )
    done = cluster.shunter("run", "--timeout", "10s", "-", stdin=text(queued(generation, namespace)))
    assert done.returncode == 1
    assert done.stderr.count(f"-- WaitingForQuota: it waits in queue team-a: {SHORT}") == 1
    assert "kubectl patch" not in done.stderr


@pytest.mark.parametrize("generation", GENERATIONS)
def test_a_job_that_the_queue_admits_goes_on(cluster: Cluster, namespace: str, generation: str) -> None:
    cluster.apply(*queued(generation, namespace))
    workload(cluster, namespace, generation, SHORT)
    path = {"runPolicy": {"suspend": False}} if generation == "v1" else {"suspend": False}
    cluster.kubectl("patch", kind(generation), "j", "-n", namespace, "--type=merge", "-p", json.dumps({"spec": path}))
    eventually(lambda: row(cluster, namespace)["state"] == "Succeeded")
    assert row(cluster, namespace)["why"] == ""


@pytest.fixture
def local_queues(cluster: Cluster) -> Iterator[None]:
    """Other tests are about a cluster without them, so they go again."""
    cluster.kubectl("apply", "--server-side", "-f", str(LOCAL_QUEUES))
    cluster.kubectl("wait", "crd/localqueues.kueue.x-k8s.io", "--for=condition=Established", "--timeout=30s")
    yield
    cluster.kubectl("delete", "-f", str(LOCAL_QUEUES))


@pytest.mark.usefixtures("local_queues")
def test_a_program_waits_in_a_queue_that_is_there_and_one_that_is_not_creates_nothing(
    cluster: Cluster, namespace: str, tmp_path: Path
) -> None:
    program = tmp_path / "train.py"
    program.write_text("print('trained')\n")
    run = ["run", str(program), "-n", namespace, "--snapshot", "--detach", "--runtime=jax-distributed", "--queue"]
    metadata = {"name": "team-a", "namespace": namespace}
    queue = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "LocalQueue", "metadata": metadata, "spec": {"clusterQueue": "all"}}
    cluster.apply(queue)

    refused = cluster.shunter(*run, "team-b")
    assert refused.returncode == 2, refused.stderr
    assert f"--queue team-b: there is no LocalQueue team-b in namespace {namespace}." in refused.stderr
    assert f"kubectl get localqueues -n {namespace}" in refused.stderr
    assert cluster.get("trainjobs", "-n", namespace)["items"] == []
    assert cluster.get("configmaps", "-n", namespace, "-l", CODE_LABEL)["items"] == []

    started = cluster.shunter(*run, "team-a")
    assert started.returncode == 0, started.stderr
    (job,) = cluster.get("trainjobs", "-n", namespace)["items"]
    assert job["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "team-a"
