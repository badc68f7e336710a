"""The pods of a Job: what each is created as, and what may be read off one later."""

from __future__ import annotations

from typing import Any

import msgspec

from shunter.api.batch import (
    COMPLETION_INDEX,
    INDEX_FAILURE_COUNT,
    INDEX_IGNORED_FAILURE_COUNT,
    JOB_TRACKING_FINALIZER,
    Job,
)
from shunter.api.core import Pod
from shunter.api.formats.digits import whole_number
from shunter.api.meta import Json, controller_reference
from shunter.cluster.controllers.job import pod_failure_policy

COMPLETION_INDEX_ENV = "JOB_COMPLETION_INDEX"
MAX_GENERATED_NAME = 58
"""The API server cuts a generateName here to leave room for its five characters."""


def pods_of(job: Json) -> list[Json]:
    """The pods a Job gets first, as they are sent to the API server, in index order.

    `job` is a batch/v1 Job as stored (defaulted, with uid); what is absent counts as Kubernetes defaults it. The pods carry no
    names: the API server completes `generateName`. A Job with fewer completions than parallelism gets one pod per completion.
    """
    view = msgspec.convert(job, Job)
    desired = view.spec.parallelism
    if view.spec.completions is not None:
        desired = min(desired, view.spec.completions)
    return [pod_of(view, index if view.is_indexed else None) for index in range(desired)]


def pod_of(job: Job, index: int | None, replaced: Pod | None = None) -> Json:
    """One pod of the Job; `index` for an Indexed Job, `replaced` the failed pod it stands in for (backoffLimitPerIndex)."""
    template_metadata: Json = job.spec.template.get("metadata") or {}
    template_spec: Json = job.spec.template.get("spec") or {}
    labels = dict(template_metadata.get("labels") or {})
    annotations = dict(template_metadata.get("annotations") or {})
    finalizers = list(template_metadata.get("finalizers") or [])
    if JOB_TRACKING_FINALIZER not in finalizers:
        finalizers.append(JOB_TRACKING_FINALIZER)
    spec = dict(template_spec)
    generate_name = f"{job.metadata.name}-"
    if index is not None:
        labels[COMPLETION_INDEX] = annotations[COMPLETION_INDEX] = str(index)
        spec["hostname"] = f"{job.metadata.name}-{index}"
        for field in ("initContainers", "containers"):
            if field in spec:
                spec[field] = [_with_completion_index(container) for container in spec[field]]
        generate_name = generate_name_of(job.metadata.name, index)
        if job.spec.backoff_limit_per_index is not None:
            annotations |= _failure_counts(job, replaced)
    metadata: Json = {"generateName": generate_name, "namespace": job.metadata.namespace}
    if labels:
        metadata["labels"] = labels
    if annotations:
        metadata["annotations"] = annotations
    metadata["ownerReferences"] = [controller_reference("batch/v1", "Job", job.metadata.name, job.metadata.uid)]
    metadata["finalizers"] = finalizers
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def generate_name_of(job_name: str, index: int) -> str:
    """The prefix of a pod's name; a long Job name is cut so that the index stays readable."""
    suffix = f"-{index}-"
    return job_name[: MAX_GENERATED_NAME - len(suffix)] + suffix


def completion_index(pod: Pod) -> int | None:
    """The pod's completion index, or None when it carries none that makes sense."""
    return whole_number(pod.metadata.annotations.get(COMPLETION_INDEX, ""))


def counted_index(pod: Pod, job: Job) -> int | None:
    """The pod's completion index if the Job (still) has it."""
    index = completion_index(pod)
    return index if index is not None and index < (job.spec.completions or 0) else None


def is_tracked(pod: Pod) -> bool:
    """Whether the Job's status may not account for the pod yet."""
    return JOB_TRACKING_FINALIZER in pod.metadata.finalizers


def is_terminating(pod: Pod) -> bool:
    """Whether it is being deleted and has not ended yet."""
    return not pod.is_finished and pod.is_leaving


def is_failed(pod: Pod, job: Job) -> bool:
    """Whether the pod counts as failed. A pod being deleted does, for it may never get to report its end; unless only failed
    pods are replaced, or it is deleted because the Job is."""
    if pod.status.phase == "Failed":
        return True
    if replaces_only_failed(job) or job.metadata.deletion_timestamp is not None:
        return False
    return pod.is_leaving and pod.status.phase != "Succeeded"


def replaces_only_failed(job: Job) -> bool:
    """Whether a terminating pod keeps its place until it has ended (podReplacementPolicy Failed, or any podFailurePolicy)."""
    return job.spec.pod_replacement_policy == "Failed" or job.spec.pod_failure_policy is not None


def index_failures(pod: Pod) -> int:
    """How many pods failed at this index before this one, as its annotation counts them."""
    return _count(pod, INDEX_FAILURE_COUNT)


def all_index_failures(pod: Pod) -> int:
    """The failures as index_failures counts them, plus those that a podFailurePolicy ignored."""
    return _count(pod, INDEX_FAILURE_COUNT) + _count(pod, INDEX_IGNORED_FAILURE_COUNT)


def _count(pod: Pod, annotation: str) -> int:
    found = whole_number(pod.metadata.annotations.get(annotation, ""))
    return found if found is not None and found < 2**31 else 0


def _failure_counts(job: Job, replaced: Pod | None) -> dict[str, str]:
    counted = ignored = 0
    if replaced is not None:
        counted, ignored = _count(replaced, INDEX_FAILURE_COUNT), _count(replaced, INDEX_IGNORED_FAILURE_COUNT)
        if pod_failure_policy.match(job, replaced).counts:
            counted += 1
        else:
            ignored += 1
    annotations = {INDEX_FAILURE_COUNT: str(counted)}
    if ignored:
        annotations[INDEX_IGNORED_FAILURE_COUNT] = str(ignored)
    return annotations


def _with_completion_index(container: Any) -> Any:
    """The container with JOB_COMPLETION_INDEX in its environment, unless the user set one."""
    env = container.get("env") or []
    if any(variable.get("name") == COMPLETION_INDEX_ENV for variable in env):
        return container
    source = {"fieldRef": {"fieldPath": f"metadata.labels['{COMPLETION_INDEX}']"}}
    return {**container, "env": [*env, {"name": COMPLETION_INDEX_ENV, "valueFrom": source}]}
