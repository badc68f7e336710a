"""Jobs, pods and events as an API server shows them, for the tests of causes. NOW is when they are looked at."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

Json = dict[str, Any]
NOW = datetime(2026, 11, 23, 12, 0, 0, tzinfo=UTC)


def ago(seconds: float) -> str:
    return (NOW - timedelta(seconds=seconds)).isoformat(timespec="seconds").replace("+00:00", "Z")


def v1_job(workers: int = 1, *, kind: str = "PyTorchJob", policy: Json | None = None, **status: Any) -> Json:
    field = "pytorchReplicaSpecs" if kind == "PyTorchJob" else f"{kind.removesuffix('Job').lower()}ReplicaSpecs"
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": kind,
        "metadata": {"name": "j", "namespace": "n", "uid": "u-j", "creationTimestamp": ago(600)},
        "spec": {field: {"Master": {"replicas": 1}, "Worker": {"replicas": workers}}, "runPolicy": policy or {}},
        "status": status,
    }


def v2_job(nodes: int | None = 2, *, spec: Json | None = None, **status: Any) -> Json:
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": "j", "namespace": "n", "uid": "u-j", "creationTimestamp": ago(600)},
        "spec": {"runtimeRef": {"name": "torch-distributed"}, "trainer": {"numNodes": nodes}, **(spec or {})},
        "status": status,
    }


def jobset(*, pods: int = 2, suspend: bool = False) -> list[Json]:
    """The JobSet of `v2_job` and its Job."""
    owner = [{"uid": "u-j", "kind": "TrainJob", "controller": True}]
    above: Json = {
        "kind": "JobSet",
        "metadata": {"name": "j", "uid": "u-jobset", "ownerReferences": owner},
        "spec": {"suspend": suspend, "replicatedJobs": [{"name": "node", "replicas": 1}]},
    }
    below: Json = {
        "kind": "Job",
        "metadata": {"name": "j-node-0", "uid": "u-job", "ownerReferences": [{"uid": "u-jobset", "controller": True}]},
        "spec": {"parallelism": pods, "completions": pods, "suspend": suspend},
    }
    return [above, below]


def v1_pod(role: str = "worker", index: int = 0, *, made: float = 500, uid: str = "", **parts: Any) -> Json:
    name = f"j-{role}-{index}"
    return {
        "metadata": {
            "name": name,
            "namespace": "n",
            "uid": uid or f"u-{name}",
            "creationTimestamp": ago(made),
            "ownerReferences": [{"uid": "u-j", "kind": "PyTorchJob", "controller": True}],
            "labels": {"training.kubeflow.org/replica-type": role, "training.kubeflow.org/replica-index": str(index)},
        },
        "spec": {"nodeName": "node-1", **parts.pop("spec", {})},
        "status": {"phase": "Pending", **parts},
    }


def v2_pod(index: int = 0, *, made: float = 500, **parts: Any) -> Json:
    name = f"j-node-0-{index}-abcde"
    return {
        "metadata": {
            "name": name,
            "namespace": "n",
            "uid": f"u-{name}",
            "creationTimestamp": ago(made),
            "ownerReferences": [{"uid": "u-job", "kind": "Job", "controller": True}],
            "labels": {
                "jobset.sigs.k8s.io/jobset-name": "j",
                "jobset.sigs.k8s.io/replicatedjob-name": "node",
                "jobset.sigs.k8s.io/job-index": "0",
                "batch.kubernetes.io/job-completion-index": str(index),
            },
        },
        "spec": {"nodeName": "node-1", **parts.pop("spec", {})},
        "status": {"phase": "Pending", **parts},
    }


def unplaced(message: str, reason: str = "Unschedulable") -> Json:
    """The parts of a pod that a scheduler could not place."""
    condition = {"type": "PodScheduled", "status": "False", "reason": reason, "message": message}
    return {"spec": {"nodeName": ""}, "conditions": [condition]}


def waiting(reason: str, message: str = "", **more: Any) -> Json:
    """The parts of a pod whose container waits."""
    status = {"name": "pytorch", "image": "team/train:1", "state": {"waiting": {"reason": reason, "message": message}}, **more}
    return {"containerStatuses": [status]}


def running(since: float = 400, **more: Any) -> Json:
    return {
        "phase": "Running",
        "containerStatuses": [{"name": "pytorch", "state": {"running": {"startedAt": ago(since)}}, **more}],
    }


def succeeded(at: float) -> Json:
    ended = {"terminated": {"exitCode": 0, "finishedAt": ago(at)}}
    return {"phase": "Succeeded", "containerStatuses": [{"name": "pytorch", "state": ended}]}


def failed(code: int = 1) -> Json:
    ended = {"terminated": {"exitCode": code, "reason": "Error", "finishedAt": ago(30)}}
    return {"phase": "Failed", "containerStatuses": [{"name": "pytorch", "state": ended}]}


def event(uid: str, reason: str, message: str, *, at: float = 10, type: str = "Warning") -> Json:
    return {
        "metadata": {"name": f"e-{uid}-{reason}-{at}"},
        "type": type,
        "reason": reason,
        "message": message,
        "lastTimestamp": ago(at),
        "involvedObject": {"uid": uid},
    }


def workload(*conditions: Json, owner: str = "u-j", active: bool = True, name: str = "pytorchjob-j-12345", **status: Any) -> Json:
    """Shaped as Kueue's `kueue.x-k8s.io/v1beta2`, as far as it is read."""
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {
            "name": name,
            "namespace": "n",
            "uid": f"u-{name}",
            "creationTimestamp": ago(590),
            "ownerReferences": [{"uid": owner, "controller": True}],
        },
        "spec": {"queueName": "team-a", "active": active},
        "status": {"conditions": list(conditions), **status},
    }


def condition(type: str, status: str, reason: str, message: str) -> Json:
    return {"type": type, "status": status, "reason": reason, "message": message, "lastTransitionTime": ago(300)}
