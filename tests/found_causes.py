"""What is said of why a job does not train, from evidence that a test gives."""

from __future__ import annotations

from typing import Any

from job_evidence import (
    NOW,
    ago,
    v2_pod,
)
from shunter.operator.causes import Cause, Evidence, cause

Json = dict[str, Any]
NO_GPU = "0/3 nodes are available: 3 Insufficient nvidia.com/gpu. preemption: 0/3 nodes are available: 3 No preemption victims."
NO_CLAIM = '0/1 nodes are available: persistentvolumeclaim "data" not found. not found'
MOUNT = 'MountVolume.SetUp failed for volume "code" : configmap "train-code" not found'
QUOTA = 'Error creating: pods "j-worker-1" is forbidden: exceeded quota: team, requested: pods=1, used: pods=2, limited: pods=2'
BACK_OFF: Json = {"restartCount": 3, "lastState": {"terminated": {"exitCode": 1, "reason": "Error", "finishedAt": ago(20)}}}


def found(job: Json, *pods: Json, **evidence: Any) -> Cause | None:
    return cause(job, Evidence(pods=pods, **evidence), NOW)


def word(job: Json, *pods: Json, **evidence: Any) -> str:
    answer = found(job, *pods, **evidence)
    return answer.word if answer else ""


def native_job(**spec: Any) -> Json:
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "j", "namespace": "n", "uid": "u-job", "creationTimestamp": ago(600)},
        "spec": {"completionMode": "Indexed", "completions": 2, "parallelism": 2, **spec},
        "status": {},
    }


def native_pod(index: int, **parts: Any) -> Json:
    pod = v2_pod(index, **parts)
    pod["spec"]["containers"] = [{"name": "train"}]
    return pod
