"""How claims and volumes that people make find each other, and what pods find in them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from e2e.running_cluster import Cluster, eventually

Json = dict[str, Any]


class Storage:
    """Volumes of a class of the test's own, on directories of this machine that every node can mount."""

    def __init__(self, cluster: Cluster, namespace: str, directory: Path) -> None:
        self.cluster, self.namespace, self.directory = cluster, namespace, directory
        self.storage_class = f"{namespace}-class"
        self._made: list[str] = []

    def make_class(self, mode: str) -> None:
        """A class without a provisioner."""
        metadata = {"name": self.storage_class}
        rest = {"provisioner": "kubernetes.io/no-provisioner", "volumeBindingMode": mode}
        self.cluster.apply({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": metadata, **rest})
        self._made.append(f"storageclass/{self.storage_class}")

    def make_volume(self, name: str, size: str, labels: Json | None = None, node: str = "", **spec: Any) -> Path:
        """Its directory: a hostPath, or a local volume of a node."""
        path = self.directory / name
        path.mkdir()
        path.chmod(0o777)
        source: Json = {"hostPath": {"path": str(path)}}
        if node:
            terms = [{"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}]}]
            source = {"local": {"path": str(path)}, "nodeAffinity": {"required": {"nodeSelectorTerms": terms}}}
        full = f"{self.namespace}-{name}"
        body = {
            "capacity": {"storage": size},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": self.storage_class,
            **source,
            **spec,
        }
        metadata = {"name": full, "labels": labels or {}}
        self.cluster.apply({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": metadata, "spec": body})
        self._made.append(f"persistentvolume/{full}")
        return path

    def make_claim(self, name: str, size: str, **spec: Any) -> None:
        body = {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": self.storage_class,
            "resources": {"requests": {"storage": size}},
            **spec,
        }
        metadata = {"name": name, "namespace": self.namespace}
        self.cluster.apply({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": body})

    def make_pod(self, name: str, claim: str, command: str) -> None:
        main = {
            "name": "main",
            "image": "any",
            "command": ["sh", "-c", command],
            "volumeMounts": [{"name": "data", "mountPath": "/data"}],
        }
        volume = {"name": "data", "persistentVolumeClaim": {"claimName": claim}}
        spec = {"restartPolicy": "Never", "containers": [main], "volumes": [volume], "terminationGracePeriodSeconds": 0}
        metadata = {"name": name, "namespace": self.namespace}
        self.cluster.apply({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})

    def volume_of(self, claim: str) -> str:
        """The name of the volume that the claim is bound to, without the namespace; empty before."""
        found = self.cluster.get("pvc", claim, "-n", self.namespace)
        if found["status"].get("phase") != "Bound":
            return ""
        return str(found["spec"]["volumeName"]).removeprefix(f"{self.namespace}-")

    def phase(self, volume: str) -> str:
        return str(self.cluster.get("pv", f"{self.namespace}-{volume}")["status"].get("phase", ""))

    def wait_for(self, pod: str, phase: str) -> None:
        path = f"--for=jsonpath={{.status.phase}}={phase}"
        self.cluster.kubectl("wait", "-n", self.namespace, f"pod/{pod}", path, "--timeout=60s")

    def clear(self) -> None:
        self.cluster.kubectl("delete", "--wait=false", "--ignore-not-found", *self._made)


@pytest.fixture
def storage(cluster: Cluster, namespace: str, tmp_path: Path) -> Iterator[Storage]:
    found = Storage(cluster, namespace, tmp_path)
    yield found
    found.clear()


def hostname(cluster: Cluster) -> str:
    """The label of a node."""
    nodes = json.loads(cluster.kubectl("get", "nodes", "-o", "json"))["items"]
    return str(nodes[0]["metadata"]["labels"]["kubernetes.io/hostname"])


def test_a_claim_gets_the_smallest_volume_that_is_large_enough_and_its_labels_count(storage: Storage) -> None:
    storage.make_class("Immediate")
    storage.make_volume("small", "1Gi")
    storage.make_volume("large", "9Gi")
    storage.make_volume("middle", "5Gi")
    storage.make_volume("marked", "20Gi", {"disk": "fast"})
    storage.make_claim("two", "2Gi")
    assert eventually(lambda: storage.volume_of("two")) == "middle"
    storage.make_claim("chosen", "1Gi", selector={"matchLabels": {"disk": "fast"}})
    assert eventually(lambda: storage.volume_of("chosen")) == "marked"
    storage.make_claim("named", "1Gi", volumeName=f"{storage.namespace}-large")
    assert eventually(lambda: storage.volume_of("named")) == "large"
    storage.make_claim("more", "100Gi")
    storage.make_claim("last", "1Mi")
    assert eventually(lambda: storage.volume_of("last")) == "small"
    assert storage.volume_of("more") == ""


def test_what_a_pod_writes_is_in_the_volume_which_is_released_with_its_claim_and_kept(storage: Storage) -> None:
    storage.make_class("Immediate")
    directory = storage.make_volume("data", "1Gi")
    storage.make_claim("data", "1Gi")
    storage.make_pod("writer", "data", "echo written > /data/file")
    storage.wait_for("writer", "Succeeded")
    assert (directory / "file").read_text() == "written\n"
    storage.cluster.kubectl("delete", "-n", storage.namespace, "pod/writer", "pvc/data", "--wait=false")
    eventually(lambda: storage.phase("data") == "Released")
    storage.make_claim("again", "1Gi")
    storage.make_volume("other", "1Gi")
    assert eventually(lambda: storage.volume_of("again")) == "other"
    assert (directory / "file").read_text() == "written\n"


def test_a_claim_that_waits_is_bound_for_its_first_pod_on_that_pods_node(storage: Storage) -> None:
    node = hostname(storage.cluster)
    storage.make_class("WaitForFirstConsumer")
    storage.make_volume("elsewhere", "1Gi", node="no-such-node")
    directory = storage.make_volume("here", "5Gi", node=node)
    storage.make_claim("data", "1Gi")

    def waits() -> bool:
        events = json.loads(storage.cluster.kubectl("get", "events", "-n", storage.namespace, "-o", "json"))["items"]
        return any(event["reason"] == "WaitForFirstConsumer" for event in events)

    eventually(waits)
    assert storage.volume_of("data") == ""
    storage.make_pod("first", "data", "echo first > /data/file")
    storage.wait_for("first", "Succeeded")
    assert storage.volume_of("data") == "here"
    annotations = storage.cluster.get("pvc", "data", "-n", storage.namespace)["metadata"]["annotations"]
    assert sorted(annotations) == ["pv.kubernetes.io/bind-completed", "pv.kubernetes.io/bound-by-controller"]
    marks = storage.cluster.get("pv", f"{storage.namespace}-here")["metadata"]["annotations"]
    assert marks == {"pv.kubernetes.io/bound-by-controller": "yes"}
    assert (directory / "file").read_text() == "first\n"


def test_a_pod_whose_volume_is_on_another_node_stays_pending_and_says_so(storage: Storage) -> None:
    storage.make_class("WaitForFirstConsumer")
    storage.make_volume("elsewhere", "1Gi", node="no-such-node")
    storage.make_claim("data", "1Gi")
    storage.make_pod("stuck", "data", "true")

    def reason() -> str:
        conditions = storage.cluster.get("pod", "stuck", "-n", storage.namespace)["status"].get("conditions") or ()
        return next((str(one.get("message", "")) for one in conditions if one["type"] == "PodScheduled"), "")

    assert "node(s) didn't find available persistent volumes to bind" in eventually(reason)
    assert storage.volume_of("data") == ""
