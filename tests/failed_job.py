"""A job of two ranks that both failed, the worker first."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


def job() -> dict[str, Any]:
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": "j", "namespace": "n", "uid": "u"},
        "spec": {"pytorchReplicaSpecs": {"Master": {"replicas": 1}, "Worker": {"replicas": 1}}},
        "status": {
            "conditions": [
                {"type": "Created", "status": "True", "reason": "PyTorchJobCreated", "message": "PyTorchJob j is created."},
                {"type": "Failed", "status": "True", "reason": "PyTorchJobFailed", "message": "PyTorchJob j is failed."},
            ]
        },
    }


def failed_pod(name: str, role: str, at: str) -> dict[str, Any]:
    labels = {"training.kubeflow.org/replica-type": role, "training.kubeflow.org/replica-index": "0"}
    ended = {"terminated": {"exitCode": 1, "reason": "Error", "finishedAt": at}}
    return {
        "metadata": {"name": name, "uid": name, "labels": labels, "ownerReferences": [{"uid": "u"}]},
        "status": {"phase": "Failed", "containerStatuses": [{"name": "pytorch", "state": ended}]},
    }


PODS = [failed_pod("j-master-0", "master", "2026-01-01T00:00:09Z"), failed_pod("j-worker-0", "worker", "2026-01-01T00:00:01Z")]
