"""The pod of a template, and what counts of pods: active, ready, available.

Source: k8s.io/kubernetes 1.36 `pkg/controller/controller_utils.go`, `pkg/api/v1/pod/util.go`.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Literal

from shunter.api.core import Pod
from shunter.api.meta import Json, true_condition
from shunter.api.resources import PODS
from shunter.cluster.controllers.workloads.claiming import Owner
from shunter.kube.controllers.plan import Create, Delete, Note, Ref

MOST_AT_ONCE = 500
"""Pods that one plan creates or deletes of one owner."""


def pod_of(template: Json, owner: Owner) -> Json:
    """The pod that an owner makes of a template; its name is still to come from the server."""
    source: Json = template.get("metadata") or {}
    metadata: Json = {"namespace": owner.metadata.namespace, "generateName": f"{owner.metadata.name}-"}
    for field in ("labels", "annotations", "finalizers"):
        if source.get(field):
            metadata[field] = copy.copy(source[field])
    metadata["ownerReferences"] = [owner.reference]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": dict(template.get("spec") or {})}


def creation(owner: Owner, pod: Json) -> Create:
    """Creates a pod, and says so of its owner."""
    return Create(
        resource=PODS,
        body=pod,
        succeeded=note(owner, "Normal", "SuccessfulCreate", "Created pod: {name}"),
        failed=note(owner, "Warning", "FailedCreate", "Error creating: {error}"),
    )


def deletion(owner: Owner, pod: Pod) -> Delete:
    """Deletes a pod, and says so of its owner."""
    return Delete(
        ref=Ref.of(PODS, pod.metadata),
        succeeded=note(owner, "Normal", "SuccessfulDelete", f"Deleted pod: {pod.metadata.name}"),
        failed=note(owner, "Warning", "FailedDelete", "Error deleting: {error}"),
    )


def note(owner: Owner, type: Literal["Normal", "Warning"], reason: str, message: str) -> Note:
    """An event about the owner; `{name}` and `{error}` in its message are filled in where it belongs to a write."""
    return Note(regarding=owner.ref, type=type, reason=reason, message=message)


def is_available(pod: Pod, min_ready_seconds: int, now: datetime) -> bool:
    """Whether the pod has been ready for so long."""
    since = ready_since(pod)
    if since is None:
        return False
    return min_ready_seconds == 0 or since + timedelta(seconds=min_ready_seconds) <= now


def ready_since(pod: Pod) -> datetime | None:
    """When the pod became ready; None while it is not."""
    ready = true_condition(pod.status.conditions, "Ready")
    return (ready.last_transition_time or pod.metadata.creation_timestamp) if ready is not None else None


def next_availability(pods: Iterable[Pod], min_ready_seconds: int, now: datetime) -> float | None:
    """Seconds until the next of the pods that are ready has been so for long enough; None when none is to become so."""
    if min_ready_seconds == 0:
        return None
    moments = [since + timedelta(seconds=min_ready_seconds) for pod in pods if (since := ready_since(pod))]
    return min(((moment - now).total_seconds() for moment in moments if moment > now), default=None)
