"""What a waiting pod's claims say about it: they must be there, and have their volume, or get the annotation by which one is
bound or provisioned; and which nodes can mount the volumes.

Source: k8s.io/kubernetes 1.36 `scheduler/framework/plugins/volumebinding`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from shunter.api.core import Node
from shunter.api.resources import PERSISTENT_VOLUME_CLAIMS
from shunter.cluster.controllers.volumes.matching import best_match, requested
from shunter.cluster.controllers.volumes.views import SELECTED_NODE, WAIT_FOR_CONSUMER, Claim, StorageClass, Volume
from shunter.kube.controllers.plan import Patch, Ref

NO_PROVISIONER = "kubernetes.io/no-provisioner"
ELSEWHERE = "node(s) didn't match PersistentVolume's node affinity"
NONE_TO_BIND = "node(s) didn't find available persistent volumes to bind"
UNBOUND = "pod has unbound immediate PersistentVolumeClaims"


class PodClaim(NamedTuple):
    """One claim of a pod by its name; None when there is no such claim. Its class is None when that does not exist. `volumes` are
    the one that it is bound to, or those that it may get."""

    name: str
    claim: Claim | None
    storage_class: StorageClass | None = None
    volumes: Sequence[Volume] = ()


def obstacle(claimed: Sequence[PodClaim]) -> str:
    """Why the pod can have no node yet, in kube-scheduler's words; empty when its claims are no reason."""
    for name, claim, _, _ in claimed:
        if claim is None:
            return f'persistentvolumeclaim "{name}" not found'
        if claim.metadata.deletion_timestamp is not None:
            return f'persistentvolumeclaim "{name}" is being deleted'
    is_unbound = any(claim is not None and not claim.is_bound and not _waits_for_consumer(of) for _, claim, of, _ in claimed)
    return UNBOUND if is_unbound else ""


def mismatches(claimed: Sequence[PodClaim], node: Node) -> tuple[str, ...]:
    """Why the node cannot have the volumes of claims that are no `obstacle`, in kube-scheduler's words; none where it can."""
    labels = node.metadata.labels
    known = [(claim, of, volumes) for _, claim, of, volumes in claimed if claim is not None]
    bound = [volume for claim, _, volumes in known if claim.is_bound for volume in volumes]
    unbound = [one for one in known if not one[0].is_bound]
    found = (ELSEWHERE,) if not all(volume.is_on(labels) for volume in bound) else ()
    taken: set[str] = set()
    for claim, of, volumes in sorted(unbound, key=lambda one: requested(one[0])):
        match = best_match(claim, [one for one in volumes if one.metadata.name not in taken], node_labels=labels)
        if match is not None:
            taken.add(match.metadata.name)
        elif of is not None and of.provisioner == NO_PROVISIONER:
            return (*found, NONE_TO_BIND)
    return found


def selections(claimed: Sequence[PodClaim], node: str) -> list[Patch] | None:
    """What tells the claims that wait for a pod of its node; None when none waits, so the pod may be bound."""
    waiting = [claim for _, claim, _, _ in claimed if claim is not None and not claim.is_bound]
    if not waiting:
        return None
    return [
        Patch(ref=Ref.of(PERSISTENT_VOLUME_CLAIMS, claim.metadata), patch={"metadata": {"annotations": {SELECTED_NODE: node}}})
        for claim in waiting
        if claim.metadata.annotations.get(SELECTED_NODE) != node
    ]


def _waits_for_consumer(storage_class: StorageClass | None) -> bool:
    return storage_class is not None and storage_class.volume_binding_mode == WAIT_FOR_CONSUMER
