"""What a waiting pod's claims say about it: they must be there, and have their volume, or get a free one, or the annotation that
has one made; and which nodes can mount the volumes.

Source: k8s.io/kubernetes 1.36 `scheduler/framework/plugins/volumebinding`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from shunter.api.core import Node
from shunter.api.meta import Json
from shunter.api.resources import PERSISTENT_VOLUME_CLAIMS
from shunter.cluster.controllers.volumes.claim_plan import reservation
from shunter.cluster.controllers.volumes.matching import FreeVolumes, requested, reserved
from shunter.cluster.controllers.volumes.views import SELECTED_NODE, WAIT_FOR_CONSUMER, Claim, StorageClass, Volume
from shunter.kube.controllers.plan import Patch, Ref

NO_PROVISIONER = "kubernetes.io/no-provisioner"
ELSEWHERE = "node(s) didn't match PersistentVolume's node affinity"
NONE_TO_BIND = "node(s) didn't find available persistent volumes to bind"
UNBOUND = "pod has unbound immediate PersistentVolumeClaims"

NONE_FREE = FreeVolumes()


class PodClaim(NamedTuple):
    """One claim of a pod by its name; None when there is no such claim. Its class is None when that does not exist. `volumes` are
    the one that it is bound to, or those that are reserved for it; `free` are the others that it may get."""

    name: str
    claim: Claim | None
    storage_class: StorageClass | None = None
    volumes: Sequence[Volume] = ()
    free: FreeVolumes = NONE_FREE


def obstacle(claimed: Sequence[PodClaim]) -> str:
    """Why the pod can have no node yet, in kube-scheduler's words; empty when its claims are no reason."""
    for name, claim, *_ in claimed:
        if claim is None:
            return f'persistentvolumeclaim "{name}" not found'
        if claim.metadata.deletion_timestamp is not None:
            return f'persistentvolumeclaim "{name}" is being deleted'
    is_unbound = any(claim is not None and not claim.is_bound and not _waits_for_consumer(of) for _, claim, of, *_ in claimed)
    return UNBOUND if is_unbound else ""


def mismatches(claimed: Sequence[PodClaim], node: Node) -> tuple[str, ...]:
    """Why the node cannot have the volumes of claims that are no `obstacle`, in kube-scheduler's words; none where it can."""
    labels = node.metadata.labels
    bound = [volume for _, claim, _, volumes, _ in claimed if claim is not None and claim.is_bound for volume in volumes]
    found = (ELSEWHERE,) if not all(volume.is_on(labels) for volume in bound) else ()
    to_make = [of for _, of, volume in _chosen(claimed, node) if volume is None and of is not None]
    return (*found, NONE_TO_BIND) if any(of.provisioner == NO_PROVISIONER for of in to_make) else found


def selections(claimed: Sequence[PodClaim], node: Node) -> list[Patch] | None:
    """What gives the claims that wait for a pod of the node a volume that is there, or has one made for it; None when none waits,
    so the pod may be bound."""
    chosen = _chosen(claimed, node)
    if not chosen:
        return None
    writes: list[Patch | None] = []
    for claim, _, volume in chosen:
        writes += [_made_for(claim, node)] if volume is None else [reservation(claim, volume), _unmarked(claim)]
    return [write for write in writes if write is not None]


class _Choice(NamedTuple):
    """An unbound claim and the volume for it; None where one is to be made."""

    claim: Claim
    storage_class: StorageClass | None
    volume: Volume | None


def _chosen(claimed: Sequence[PodClaim], node: Node) -> list[_Choice]:
    """The unbound claims, the smallest first, each with its own volume among those that the node can mount. One whose volume is
    being made takes none of them; nobody makes one of a class without provisioner, whatever the mark of the claim says."""
    unbound = [(claim, of, volumes, free) for _, claim, of, volumes, free in claimed if claim is not None and not claim.is_bound]
    choices: list[_Choice] = []
    taken: set[str] = set()
    for claim, of, volumes, free in sorted(unbound, key=lambda one: requested(one[0])):
        if SELECTED_NODE in claim.metadata.annotations and not (of is not None and of.provisioner == NO_PROVISIONER):
            match = None
        elif (kept := reserved(claim, volumes)) is not None:
            match = kept if kept.is_on(node.metadata.labels) else None
        else:
            match = next((one for one in free.on(claim, node.metadata) if one.metadata.name not in taken), None)
        if match is not None:
            taken.add(match.metadata.name)
        choices.append(_Choice(claim, of, match))
    return choices


def _made_for(claim: Claim, node: Node) -> Patch | None:
    """What has a volume made for the claim on the node; None where it was written."""
    annotations = {SELECTED_NODE: node.metadata.name}
    return None if annotations.items() <= claim.metadata.annotations.items() else _annotated(claim, annotations)


def _unmarked(claim: Claim) -> Patch | None:
    """What takes the mark off a claim that gets a volume that is there; None where it has none."""
    return _annotated(claim, {SELECTED_NODE: None}) if SELECTED_NODE in claim.metadata.annotations else None


def _annotated(claim: Claim, annotations: Json) -> Patch:
    return Patch(ref=Ref.of(PERSISTENT_VOLUME_CLAIMS, claim.metadata), patch={"metadata": {"annotations": annotations}})


def _waits_for_consumer(storage_class: StorageClass | None) -> bool:
    return storage_class is not None and storage_class.volume_binding_mode == WAIT_FOR_CONSUMER
