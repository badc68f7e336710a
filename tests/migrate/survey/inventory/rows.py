"""v1 jobs as rows of an inventory."""

from __future__ import annotations

import copy
from datetime import UTC, datetime
from typing import Any

from shunter.migrate.conversion.batch import converted
from shunter.migrate.conversion.source.objects import SourceObject
from shunter.migrate.options import Options
from shunter.migrate.survey.inventory.row import Row, row_of

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


def job(name: str = "bert", *, namespace: str = "team-a", gpus: int = 0, state: str = "", **changes: Any) -> dict[str, Any]:
    """A PyTorchJob of a master and three workers, which torchrun starts; `state` is the condition that is True."""
    resources = {"limits": {"nvidia.com/gpu": gpus}} if gpus else {}
    container = {"name": "pytorch", "image": "trainer:1", "command": ["torchrun", "train.py"], "resources": resources}
    role = {"restartPolicy": "OnFailure", "template": {"spec": {"containers": [container]}}}
    value: dict[str, Any] = {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": name, "namespace": namespace, **changes.pop("metadata", {})},
        "spec": {
            "nprocPerNode": "1",
            "pytorchReplicaSpecs": {"Master": {"replicas": 1, **role}, "Worker": {"replicas": 3, **role}},
            **changes,
        },
    }
    if state:
        condition = {"type": state, "status": "True", "lastTransitionTime": "2026-11-21T11:00:00Z"}
        value["status"] = {"startTime": "2026-11-21T10:00:00Z", "conditions": [condition]}
    return value


def row(value: dict[str, Any], *, inside: str = "", **options: Any) -> Row:
    return row_of(converted([SourceObject(value, "cluster")], Options(**options)).outcomes[0], NOW, inside=inside)


def with_role(value: dict[str, Any], role: str, **fields: Any) -> dict[str, Any]:
    specs = value["spec"]["pytorchReplicaSpecs"]
    return {**value, "spec": {**value["spec"], "pytorchReplicaSpecs": {**specs, role: {**specs[role], **fields}}}}


TRIAL = {
    "ownerReferences": [{"apiVersion": "kubeflow.org/v1beta1", "kind": "Trial", "name": "tune-1", "uid": "1", "controller": True}]
}
RELEASE = {"annotations": {"meta.helm.sh/release-name": "jobs", "meta.helm.sh/release-namespace": "team-a"}}


def alone(**container: Any) -> dict[str, Any]:
    """One Master."""
    value = job()
    master = copy.deepcopy(value["spec"]["pytorchReplicaSpecs"]["Master"])
    master["template"]["spec"]["containers"][0] |= container
    if "volumeMounts" in container:
        master["template"]["spec"]["volumes"] = [{"name": "data", "emptyDir": {}}]
    return {**value, "spec": {**value["spec"], "pytorchReplicaSpecs": {"Master": master}}}


ALWAYS = with_role(job(), "Worker", restartPolicy="Always")
