"""A v1 job for reports."""

from __future__ import annotations

from shunter.migrate.conversion.source.objects import SourceObject


def job(name: str, **spec: object) -> SourceObject:
    template = {"spec": {"containers": [{"name": "pytorch", "image": "trainer:1", "command": ["torchrun", "train.py"]}]}}
    replicas = {"Master": {"restartPolicy": "Always", "template": template}}
    metadata = {"name": name, "namespace": "team-a"}
    value = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": metadata}
    return SourceObject({**value, "spec": {"pytorchReplicaSpecs": replicas, **spec}}, "cluster")
