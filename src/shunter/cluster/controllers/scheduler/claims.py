"""What a waiting pod's claims say about it: they must be there, and have their volume, or get the annotation by which one is
provisioned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from shunter.api.resources import PERSISTENT_VOLUME_CLAIMS
from shunter.cluster.controllers.volumes.views import SELECTED_NODE, WAIT_FOR_CONSUMER, Claim, StorageClass
from shunter.kube.controllers.plan import Patch, Ref

UNBOUND = "pod has unbound immediate PersistentVolumeClaims"


class PodClaim(NamedTuple):
    """One claim of a pod by its name; None when there is no such claim. Its class is None when that does not exist."""

    name: str
    claim: Claim | None
    storage_class: StorageClass | None = None


def obstacle(claimed: Sequence[PodClaim]) -> str:
    """Why the pod can have no node yet, in kube-scheduler's words; empty when its claims are no reason."""
    for name, claim, _ in claimed:
        if claim is None:
            return f'persistentvolumeclaim "{name}" not found'
        if claim.metadata.deletion_timestamp is not None:
            return f'persistentvolumeclaim "{name}" is being deleted'
    is_unbound = any(claim is not None and not claim.is_bound and not _waits_for_consumer(of) for _, claim, of in claimed)
    return UNBOUND if is_unbound else ""


def selections(claimed: Sequence[PodClaim], node: str) -> list[Patch] | None:
    """What tells the claims that wait for a pod of its node; None when none waits, so the pod may be bound."""
    waiting = [claim for _, claim, _ in claimed if claim is not None and not claim.is_bound]
    if not waiting:
        return None
    return [
        Patch(ref=Ref.of(PERSISTENT_VOLUME_CLAIMS, claim.metadata), patch={"metadata": {"annotations": {SELECTED_NODE: node}}})
        for claim in waiting
        if claim.metadata.annotations.get(SELECTED_NODE) != node
    ]


def _waits_for_consumer(storage_class: StorageClass | None) -> bool:
    return storage_class is not None and storage_class.volume_binding_mode == WAIT_FOR_CONSUMER
