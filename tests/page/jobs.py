"""Jobs for tests of the page."""

from __future__ import annotations

from typing import Any


def pytorch_job(name: str, namespace: str, workers: int = 2) -> dict[str, Any]:
    template = {"spec": {"containers": [{"name": "pytorch", "image": "x"}]}}
    replicas = {"Master": {"replicas": 1, "template": template}, "Worker": {"replicas": workers, "template": template}}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"pytorchReplicaSpecs": replicas},
    }
