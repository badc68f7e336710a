"""`shunter size` against a cluster: the nodes there are, and manifests that its API server takes with its webhooks."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from e2e.running_cluster import Cluster

pytestmark = pytest.mark.timeout(120)


@pytest.fixture
def gpu_node(cluster: Cluster) -> Iterator[str]:
    """A node with eight GPUs that nothing is scheduled on: it is an object alone."""
    name = f"gpus-{uuid.uuid4().hex[:8]}"
    labels = {"node.kubernetes.io/instance-type": "p5.48xlarge"}
    cluster.apply(
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}, "spec": {"unschedulable": True}}
    )
    offered = {"cpu": "191450m", "memory": "1938410Mi", "pods": "100", "nvidia.com/gpu": "8"}
    status = json.dumps({"status": {"allocatable": offered, "capacity": offered}})
    cluster.kubectl("patch", "node", name, "--subresource=status", "--type=merge", "-p", status)
    yield name
    cluster.kubectl("delete", "node", name)


def test_the_nodes_there_are_are_sized_for(cluster: Cluster, gpu_node: str) -> None:
    done = cluster.shunter("size", "Llama-3.1-8B", "--on", "cluster", "-o", "json")
    assert done.returncode == 0, done.stderr
    found = [one for one in json.loads(done.stdout)["options"] if one["instance"] == "p5.48xlarge"]
    assert [(one["verdict"], one["provider"], one["nodes"], one["gpus"]) for one in found] == [("fits", "cluster", 1, 8)]


@pytest.mark.parametrize("api", ["trainjob", "pytorchjob"])
def test_manifests_are_taken_by_the_api_server_and_its_webhooks(
    cluster: Cluster, namespace: str, gpu_node: str, api: str
) -> None:
    words = ["--on", "cluster", "-o", "manifests", "-n", namespace, "--image", "registry.example.com/train:1", "--api", api]
    made = cluster.shunter("size", "Llama-3.1-8B", *words)
    assert made.returncode == 0, made.stderr
    answered = cluster.kubectl("apply", "--dry-run=server", "-f", "-", stdin=made.stdout)
    kind = {"trainjob": "trainjob.trainer.kubeflow.org", "pytorchjob": "pytorchjob.kubeflow.org"}[api]
    assert [line.split("/")[0] for line in answered.splitlines()] == ["resourcequota", "limitrange", kind]
    assert "Warning" not in answered


MODULES = Path(os.environ.get("GOMODCACHE") or Path.home() / "go" / "pkg" / "mod")
DEFINITIONS = (
    "github.com/aws/karpenter-provider-aws@*/pkg/apis/crds/karpenter.k8s.aws_ec2nodeclasses.yaml",
    "github.com/aws/karpenter-provider-aws@*/pkg/apis/crds/karpenter.sh_nodepools.yaml",
    "sigs.k8s.io/kueue@*/config/components/crd/bases/kueue.x-k8s.io_clusterqueues.yaml",
    "sigs.k8s.io/kueue@*/config/components/crd/bases/kueue.x-k8s.io_localqueues.yaml",
    "sigs.k8s.io/kueue@*/config/components/crd/bases/kueue.x-k8s.io_resourceflavors.yaml",
)
"""Of Karpenter and Kueue, in Go's module cache: `go mod download github.com/aws/karpenter-provider-aws@latest` and
`sigs.k8s.io/kueue@latest` put them there."""


@pytest.fixture
def real_definitions(cluster: Cluster) -> Iterator[None]:
    """The CustomResourceDefinitions of Karpenter and Kueue as they are published, for as long as the test runs."""
    files = [sorted(MODULES.glob(pattern)) for pattern in DEFINITIONS]
    if missing := [pattern for pattern, found in zip(DEFINITIONS, files, strict=True) if not found]:
        pytest.skip(f"not in Go's module cache {MODULES}: {missing[0]}")
    definitions = [yaml.safe_load(found[-1].read_text()) for found in files]
    names = [one["metadata"]["name"] for one in definitions]
    cluster.apply(*definitions)
    try:
        cluster.kubectl("wait", "crd", *names, "--for=condition=Established", "--timeout=30s")
        yield
    finally:
        cluster.kubectl("delete", "crd", *names, "--timeout=30s")


@pytest.mark.parametrize("api", ["trainjob", "pytorchjob"])
def test_pools_and_queues_are_taken_by_the_published_definitions(
    cluster: Cluster, namespace: str, real_definitions: None, api: str
) -> None:
    words = ["--on", "aws:p5.48xlarge", "-o", "manifests", "-n", namespace, "--api", api, "--kueue", "--zone", "eu-west-1a"]
    words += ["--image", "registry.example.com/train:1", "--role", "KarpenterNodeRole", "--subnet", "subnet-0a1b"]
    words += ["--security-group", "sg-0a1b", "--ami", "al2023@v20260801"]
    made = cluster.shunter("size", "Llama-3.1-8B", *words)
    assert made.returncode == 0, made.stderr
    answered = cluster.kubectl("apply", "--server-side", "--dry-run=server", "-f", "-", stdin=made.stdout)
    kinds = {line.split("/")[0] for line in answered.splitlines()}
    pools = {"nodepool.karpenter.sh", "ec2nodeclass.karpenter.k8s.aws"}
    queues = {f"{kind}.kueue.x-k8s.io" for kind in ("clusterqueue", "localqueue", "resourceflavor")}
    assert pools | queues <= kinds
    unsafe = made.stdout.replace("expireAfter: Never", "expireAfter: for ever")
    refused = cluster.try_kubectl("apply", "--server-side", "--dry-run=server", "-f", "-", stdin=unsafe)
    assert "spec.template.spec.expireAfter" in refused.stderr
