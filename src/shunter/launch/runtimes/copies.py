"""TrainingRuntimes that are copies of others: of one job, for what no patch of a TrainJob can carry, or of a chosen name
(`runtime_creation`). Pure."""

from __future__ import annotations

import copy
from collections.abc import Mapping

from shunter.api.meta import Json
from shunter.api.resources import TRAINING_RUNTIMES
from shunter.api.trainer import template as templates
from shunter.api.trainer.runtime import ANCESTOR_TRAINER
from shunter.launch.marks import JOB_LABEL, MADE_FROM

DISRUPTION_RULE: Json = {
    "name": "disruption",
    "action": "RestartJobSetAndIgnoreMaxRestarts",
    "onJobFailureReasons": ["PodFailurePolicy"],
}
FAIL_ON_DISRUPTION: Json = {"rules": [{"action": "FailJob", "onPodConditions": [{"type": "DisruptionTarget"}]}]}
"""Together: after an eviction all pods are recreated, which uses up no restart (docs/training/runtime.md)."""
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
    """The same for another job: of a runtime that `job_runtime` made."""
    metadata = runtime["metadata"]
    again = job_runtime({"kind": TRAINING_RUNTIMES.kind, **runtime}, job=job, namespace=metadata["namespace"])
    again["metadata"]["annotations"] = {key: (metadata.get("annotations") or {})[key] for key in (MADE_FROM,)}
    return again


def with_restarts(runtime: Json, restarts: int) -> Json:
    """The runtime with so many restarts: when a training pod fails all are recreated. No container and no pod is restarted alone,
    and disruptions count only where the runtime has a failure policy of its own."""
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
            job_spec["podFailurePolicy"] = copy.deepcopy(FAIL_ON_DISRUPTION)
    if trained and not has_own_rules:
        policy["rules"] = [copy.deepcopy(DISRUPTION_RULE)]
    return changed
