"""What admission refuses in training runtimes (Kubeflow Trainer v2.3).

ClusterTrainingRuntimes are checked on creation and update, TrainingRuntimes only on creation.
"""

from __future__ import annotations

from shunter.api.field_errors import FieldError, invalid
from shunter.api.meta import Json, ObjectMeta
from shunter.api.trainer import template as templates
from shunter.api.trainer.runtime import (
    ANCESTOR_TRAINER,
    DATASET_INITIALIZER,
    DEPRECATED,
    MODEL_INITIALIZER,
    NODE,
    SUPPORT_LABEL,
    TrainingRuntime,
)

CONTAINER_OF_ANCESTOR = {
    ANCESTOR_TRAINER: NODE,
    DATASET_INITIALIZER: DATASET_INITIALIZER,
    MODEL_INITIALIZER: MODEL_INITIALIZER,
}
"""The container that a labelled replicated job must have: the one that a TrainJob's section changes."""

_POLICY_URL = "https://trainer.kubeflow.org/en/latest/operator-guides/runtime.html#runtime-deprecation-policy"

_CONTAINER_FIELDS = (
    "name",
    "image",
    "command",
    "args",
    "workingDir",
    "ports",
    "envFrom",
    "env",
    "resources",
    "resizePolicy",
    "restartPolicy",
    "restartPolicyRules",
    "volumeMounts",
    "volumeDevices",
    "livenessProbe",
    "readinessProbe",
    "startupProbe",
    "lifecycle",
    "terminationMessagePath",
    "terminationMessagePolicy",
    "imagePullPolicy",
    "securityContext",
    "stdin",
    "stdinOnce",
    "tty",
)


def errors(runtime: TrainingRuntime) -> list[FieldError]:
    """Each labelled replicated job makes one Job, with the container that its label stands for."""
    found = []
    for index, job in enumerate(templates.replicated_jobs(runtime.spec.template)):
        ancestor = templates.ancestor(job)
        container = CONTAINER_OF_ANCESTOR.get(ancestor)
        if container is None:
            continue
        field = f"spec.template.spec.replicatedJobs[{index}]"
        replicas = job.get("replicas", 1)
        if replicas != 1:
            found.append(invalid(f"{field}.replicas", replicas, "always must be 1"))
        containers = templates.containers(job)
        if not any(candidate.get("name") == container for candidate in containers):
            shown = [_shown_container(candidate) for candidate in containers]
            detail = f"must contain the required container for the ancestor: {ancestor}"
            found.append(invalid(f"{field}.template.spec.template.spec.containers", shown, detail))
    return found


def creation_warnings(metadata: ObjectMeta) -> list[str]:
    """For a ClusterTrainingRuntime that is labelled deprecated when it is created."""
    return [f"ClusterTrainingRuntime {_deprecation(metadata.name)}"] if _is_deprecated(metadata) else []


def reference_warnings(metadata: ObjectMeta) -> list[str]:
    """For a TrainJob that names a ClusterTrainingRuntime that is labelled deprecated."""
    return [f"Referenced ClusterTrainingRuntime {_deprecation(metadata.name)}"] if _is_deprecated(metadata) else []


def _is_deprecated(metadata: ObjectMeta) -> bool:
    return metadata.labels.get(SUPPORT_LABEL) == DEPRECATED


def _deprecation(name: str) -> str:
    return (
        f'"{name}" is deprecated and will be removed in a future release of Kubeflow Trainer.'
        f" See runtime deprecation policy: {_POLICY_URL}"
    )


def _shown_container(container: Json) -> Json:
    """A container as Go prints it: fields in the order of its type, resources always there."""
    complete = {"resources": {}, **container}
    return {name: complete[name] for name in _CONTAINER_FIELDS if name in complete}
