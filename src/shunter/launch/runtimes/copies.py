"""TrainingRuntimes that are copies of others: of one job, for what no patch of a TrainJob can carry, or of a chosen name
(`runtime_creation`). Pure."""

from __future__ import annotations

import copy
from collections.abc import Mapping

from shunter.api.meta import Json, annotations_of
from shunter.api.resources import TRAINING_RUNTIMES
from shunter.api.trainer import template as templates
from shunter.api.trainer.runtime import ANCESTOR_TRAINER, NODE
from shunter.launch.annotations import JOB_LABEL, MADE_FROM

WRONG_INPUT = 2
"""The exit code of a program that refuses its input: Python and argparse end with it, and the recipes."""
FAILURE_RULES: list[Json] = [
    {
        "name": "disruption",
        "action": "RestartJobSetAndIgnoreMaxRestarts",
        "onJobFailureReasons": ["PodFailurePolicy"],
        "onJobFailureMessagePatterns": ["has condition DisruptionTarget matching FailJob rule"],
    },
    {
        "name": "wrongInput",
        "action": "FailJobSet",
        "onJobFailureReasons": ["PodFailurePolicy"],
        "onJobFailureMessagePatterns": [f"failed with exit code {WRONG_INPUT} matching FailJob rule"],
    },
]
"""What a JobSet does after a Job failed by `_pod_failure_policy`: after an eviction all pods are recreated, which uses up no
restart, and after exit code 2 the job has failed (docs/training/runtime.md). The reason is the same, so the message of the Job
tells them apart (Kubernetes `pkg/controller/job/pod_failure_policy.go`). A message of other words is a failure like any other."""
_LABELS = "trainer.kubeflow.org/"
_NOT_VALIDATED = "trainer.kubeflow.org/webhook-validation"


def copied_runtime(runtime: Json, *, name: str, namespace: str, labels: Mapping[str, str] = {}) -> Json:
    """A TrainingRuntime of this name with the spec of another runtime, of the cluster or of a namespace. Of its labels those stay
    that Trainer reads: others may say who looks after it."""
    metadata = runtime["metadata"]
    kept = {
        key: value for key, value in (metadata.get("labels") or {}).items() if key.startswith(_LABELS) and key != _NOT_VALIDATED
    }
    return {
        "apiVersion": TRAINING_RUNTIMES.api_version,
        "kind": TRAINING_RUNTIMES.kind,
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": {**kept, **labels},
            "annotations": {MADE_FROM: f"{runtime['kind']}/{metadata['name']}"},
        },
        "spec": copy.deepcopy(runtime["spec"]),
    }


def job_runtime(runtime: Json, *, job: str, namespace: str) -> Json:
    """A copy of a runtime for one job, whose name it has."""
    return copied_runtime(runtime, name=job, namespace=namespace, labels={JOB_LABEL: job})


def rerun_runtime(runtime: Json, job: str) -> Json:
    """A copy for another job of a runtime that `job_runtime` created."""
    metadata = runtime["metadata"]
    again = job_runtime({"kind": TRAINING_RUNTIMES.kind, **runtime}, job=job, namespace=metadata["namespace"])
    again["metadata"]["annotations"] = {MADE_FROM: annotations_of(runtime)[MADE_FROM]}
    return again


def with_restarts(runtime: Json, restarts: int) -> Json:
    """The runtime with so many restarts: when a training pod fails all are recreated. No container and no pod is restarted alone,
    exit code 2 ends the job, and disruptions count only where the runtime has a failure policy of its own."""
    changed = copy.deepcopy(runtime)
    spec = changed["spec"]["template"].setdefault("spec", {})
    trained = [job for job in spec.get("replicatedJobs") or () if templates.ancestor(job) == ANCESTOR_TRAINER]
    policy = spec.setdefault("failurePolicy", {})
    policy["maxRestarts"] = restarts
    has_own_rules = bool(policy.get("rules")) or any("podFailurePolicy" in job["template"]["spec"] for job in trained)
    for job in trained:
        job_spec = job["template"]["spec"]
        job_spec["backoffLimit"] = 0
        job_spec["template"]["spec"]["restartPolicy"] = "Never"
        if not has_own_rules:
            job_spec["podFailurePolicy"] = _pod_failure_policy(job_spec["template"]["spec"])
    if trained and not has_own_rules:
        policy["rules"] = copy.deepcopy(FAILURE_RULES)
    return changed


def _pod_failure_policy(pod: Json) -> Json:
    """The failure policy of a Job with these pods. The exit codes of sidecars say nothing: a Go program that crashes ends with
    2."""
    names = [container["name"] for container in pod["containers"]]
    code = {"containerName": NODE if NODE in names else names[0], "operator": "In", "values": [WRONG_INPUT]}
    disruption = {"action": "FailJob", "onPodConditions": [{"type": "DisruptionTarget"}]}
    return {"rules": [disruption, {"action": "FailJob", "onExitCodes": code}]}
