"""A cluster whose disk fills up and gets room again: it says so, jobs train on, nothing is lost."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from e2e.embedded_cluster import EmbeddedCluster
from e2e.running_cluster import eventually
from full_disk import SmallDisk, mounted

pytestmark = pytest.mark.embedded(why="the disk is that of `shunter up`")


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SmallDisk]:
    with mounted(tmp_path_factory.mktemp("full") / "disk", 256) as disk:
        yield disk


@pytest.fixture(scope="module")
def filling(disk: SmallDisk) -> Iterator[EmbeddedCluster]:
    """A cluster of its own: no other test should meet its disk."""
    cluster = EmbeddedCluster(disk.path / "state")
    cluster.up()
    yield cluster
    cluster.down()


def job(name: str, script: str, *, shared: Path, **spec: Any) -> dict[str, Any]:
    """With a directory of another disk at /shared."""
    mounts = [{"name": "shared", "mountPath": "/shared"}]
    main = {"name": "main", "image": "any", "command": ["sh", "-c", script], "volumeMounts": mounts}
    volumes = [{"name": "shared", "hostPath": {"path": str(shared)}}]
    pod = {"restartPolicy": "Never", "containers": [main], "volumes": volumes}
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": {"template": {"spec": pod}, **spec}}


def pytorch_job(name: str, script: str) -> dict[str, Any]:
    pod = {"containers": [{"name": "pytorch", "image": "any", "command": ["sh", "-c", script]}]}
    replicas = {"Master": {"replicas": 1, "restartPolicy": "Never", "template": {"spec": pod}}}
    metadata = {"name": name, "namespace": "default"}
    spec = {"pytorchReplicaSpecs": replicas, "runPolicy": {"suspend": True}}
    return {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": metadata, "spec": spec}


def test_a_cluster_lives_through_a_full_disk(filling: EmbeddedCluster, disk: SmallDisk, tmp_path: Path) -> None:
    cluster, shared = filling, tmp_path / "shared"
    shared.mkdir()
    waiting = "echo begun; while [ ! -e /shared/go-on ]; do sleep .05; done"
    assert "warning: the disk of" in cluster.shunter("status").stderr
    cluster.kubectl("wait", "node/shunter", "--for=condition=DiskPressure", "--timeout=30s")
    cluster.apply(job("trains", f"{waiting}; echo meanwhile; touch /shared/worked; echo done", shared=shared))
    cluster.apply(job("waits", "echo waited", shared=shared, suspend=True), pytorch_job("resumes", "echo resumed"))
    cluster.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "old", "namespace": "default"}})
    for name in ("doomed", "doomed-too"):
        cluster.kubectl("run", name, "--image=any", "--command", "--", "sleep", "600")
    cluster.kubectl("wait", "pod/doomed", "pod/doomed-too", "--for=condition=Ready", "--timeout=60s", timeout=90)
    eventually(lambda: cluster.try_kubectl("logs", "job/trains").stdout == "begun\n")

    disk.fill()
    for name in ("doomed", "doomed-too"):
        cluster.kubectl("delete", "pod", name, "--grace-period=1", timeout=90)
        cluster.kill("node")
    children = cluster.children()
    os.kill(children["operator"], signal.SIGKILL)
    manifest = tmp_path / "new.yaml"
    manifest.write_text(json.dumps(pytorch_job("new", "true")))
    refused = cluster.shunter("run", str(manifest))
    assert refused.returncode != 0
    assert "warning: the disk of" in refused.stderr
    assert "below 32 MiB nothing new is stored" in refused.stderr
    assert "below 32 MiB nothing new is stored" in cluster.try_kubectl("create", "configmap", "new").stderr
    cluster.kubectl("delete", "configmap", "old")
    cluster.kubectl("patch", "job", "waits", "--type=merge", "-p", '{"spec": {"suspend": false}}')
    (shared / "go-on").touch()
    eventually((shared / "worked").exists)

    disk.make_room()
    for name in ("trains", "waits"):
        cluster.kubectl("wait", "--for=condition=Complete", f"job/{name}", "--timeout=60s", timeout=90)
    # The node that came back serves logs at another port, which the API server knows a moment later than the pods' ends.
    eventually(lambda: cluster.try_kubectl("logs", "job/trains").returncode == 0)
    assert cluster.kubectl("logs", "job/trains") == "begun\nmeanwhile\ndone\n"
    assert cluster.kubectl("logs", "job/waits") == "waited\n"
    eventually(lambda: resumed(cluster))
    cluster.kubectl("wait", "--for=condition=Succeeded", "pytorchjob/resumes", "--timeout=60s", timeout=90)
    eventually(lambda: cluster.children().get("operator") not in (None, children["operator"]))
    shown = json.loads(cluster.shunter("status", "-o", "json").stdout)["processes"]["operator"]
    assert shown["restarts"] >= 1
    os.kill(shown["pid"], 0)


def resumed(cluster: EmbeddedCluster) -> bool:
    """Whether the operator, which was killed meanwhile, lets the job be resumed."""
    patch = '{"spec": {"runPolicy": {"suspend": false}}}'
    return cluster.try_kubectl("patch", "pytorchjob", "resumes", "--type=merge", "-p", patch).returncode == 0
