"""Which pods are the Job's: those it controls and selects. Orphans it selects are adopted, pods that no longer match released."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from shunter.api.batch import JOB_TRACKING_FINALIZER, Job
from shunter.api.core import Pod
from shunter.api.meta import Json, controller_reference
from shunter.api.resources import PODS
from shunter.kube.controllers.plan import Patch, Ref


def controls(job: Job, pod: Pod) -> bool:
    """Whether the pod's controller reference has the uid of this very Job, not only its name."""
    return pod.metadata.is_controlled_by(job.metadata.uid)


def claims(job: Job, pods: Iterable[Pod]) -> tuple[Patch, ...]:
    """The writes that make exactly the selected pods the Job's; none for a Job that is being deleted."""
    writes = []
    for pod in pods:
        selected = job.spec.selector.matches(pod.metadata.labels)
        if controls(job, pod):
            if not selected:
                writes.append(_owners_patch(pod, _others(job, pod), _without_tracking(pod)))
        elif (
            selected
            and pod.metadata.controller is None
            and job.metadata.deletion_timestamp is None
            and pod.metadata.deletion_timestamp is None
        ):
            owner = controller_reference("batch/v1", "Job", job.metadata.name, job.metadata.uid)
            finalizers = [*_without_tracking(pod), JOB_TRACKING_FINALIZER]
            writes.append(_owners_patch(pod, [*_others(job, pod), owner], finalizers))
    return tuple(writes)


def release_patch(pod: Pod) -> Patch:
    """The write that takes the tracking finalizer from a pod; refused when somebody else changed the pod meanwhile."""
    metadata = {"finalizers": _without_tracking(pod) or None, **_precondition(pod)}
    return Patch(ref=Ref.of(PODS, pod.metadata), patch={"metadata": metadata})


def _owners_patch(pod: Pod, owners: list[Json], finalizers: list[str]) -> Patch:
    metadata = {"ownerReferences": owners or None, "finalizers": finalizers or None, **_precondition(pod)}
    return Patch(ref=Ref.of(PODS, pod.metadata), patch={"metadata": metadata})


def _precondition(pod: Pod) -> Json:
    """Lists are replaced as a whole, so the patch must not meet a newer pod."""
    return {"uid": pod.metadata.uid, "resourceVersion": pod.metadata.resource_version}


def _others(job: Job, pod: Pod) -> list[Json]:
    return [msgspec.to_builtins(owner) for owner in pod.metadata.owner_references if owner.uid != job.metadata.uid]


def _without_tracking(pod: Pod) -> list[str]:
    return [finalizer for finalizer in pod.metadata.finalizers if finalizer != JOB_TRACKING_FINALIZER]
