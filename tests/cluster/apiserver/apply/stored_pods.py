"""A pod as it is stored, with the owners of its fields."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from shunter.api.meta import Json
from shunter.cluster.apiserver.apply import managed
from shunter.cluster.apiserver.apply.fields import FieldTree

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
LATER = NOW + timedelta(seconds=5)


def pod() -> Json:
    container = {
        "name": "pytorch",
        "image": "image",
        "command": ["python", "train.py"],
        "env": [{"name": f"VARIABLE_{number}", "value": "value"} for number in range(15)],
        "ports": [{"containerPort": 23456, "name": "pytorchjob-port", "protocol": "TCP"}],
        "resources": {"limits": {"cpu": "1"}, "requests": {"cpu": "1"}},
        "volumeMounts": [{"name": "data", "mountPath": "/data"}],
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "default", "uid": "u", "labels": {f"label-{n}": "x" for n in range(6)}},
        "spec": {"containers": [container], "volumes": [{"name": "data", "emptyDir": {}}], "restartPolicy": "Never"},
        "status": {"phase": "Pending", "conditions": [{"type": kind, "status": "True"} for kind in ("A", "B", "C")]},
    }


def stored_pod(tree: FieldTree) -> Json:
    created = pod()
    return managed.with_managed_fields(
        created, managed.updated(None, created, tree=tree, manager="controller", api_version="v1", now=NOW)
    )


def with_status(stored: Json, phase: str) -> Json:
    return {**stored, "status": {**stored["status"], "phase": phase}}
