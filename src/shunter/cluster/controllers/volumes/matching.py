"""Which of the volumes that are there a claim gets: the smallest that fits, as kube-controller-manager finds it.

Source: Kubernetes 1.36, component-helpers `storage/volume/pv_helpers.go` (FindMatchingVolume) and checkVolumeSatisfyClaim of
`pkg/controller/volume/persistentvolume`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction

from shunter.api.formats.quantity import parse
from shunter.cluster.controllers.volumes.views import Claim, Volume


def best_match(
    claim: Claim, volumes: Iterable[Volume], *, delayed: bool = False, node_labels: Mapping[str, str] | None = None
) -> Volume | None:
    """The volume for a claim that names none: the one whose claimRef names the claim, else a free one; of several the one with
    the fewest modes and then bytes. A claim whose binding is `delayed` until a pod uses it gets no free one. With `node_labels`
    the volume is one that a node with these labels can mount."""
    able = [volume for volume in volumes if _is_able(claim, volume)]
    if (reserved := next((volume for volume in able if is_reserved(volume, claim)), None)) is not None:
        return reserved if node_labels is None or reserved.is_on(node_labels) else None
    free = [] if delayed else [volume for volume in able if _is_free(volume) and _is_selected(claim, volume)]
    if node_labels is not None:
        free = [volume for volume in free if volume.is_on(node_labels)]
    return min(free, key=lambda volume: (len(volume.spec.access_modes), _size(volume), volume.metadata.name), default=None)


def is_reserved(volume: Volume, claim: Claim) -> bool:
    """Whether the volume's claimRef names this claim: the volume was made for it, or is kept for it by a user."""
    reference, metadata = volume.spec.claim_ref, claim.metadata
    if reference is None or (reference.namespace, reference.name) != (metadata.namespace, metadata.name):
        return False
    return reference.uid in ("", metadata.uid)


def mismatch(claim: Claim, volume: Volume) -> str:
    """Why a free volume is not bound to a claim that names it, in the controller's words; empty when it is."""
    if volume.metadata.deletion_timestamp is not None:
        return f'the volume is marked for deletion "{volume.metadata.name}"'
    if _size(volume) < requested(claim):
        return "requested PV is too small"
    if volume.storage_class != (claim.storage_class or ""):
        return "storageClassName does not match"
    if not _has_attributes(claim, volume):
        return "volumeAttributesClassName does not match"
    if claim.spec.volume_mode != volume.spec.volume_mode:
        return "incompatible volumeMode"
    return "" if _has_modes(claim, volume) else "incompatible accessMode"


def requested(claim: Claim) -> Fraction:
    """Bytes."""
    return parse((claim.spec.resources.get("requests") or {}).get("storage", 0))


def _is_able(claim: Claim, volume: Volume) -> bool:
    """Whether the volume can be the claim's at all, even if its claimRef names the claim."""
    return (
        requested(claim) <= _size(volume)
        and claim.spec.volume_mode == volume.spec.volume_mode
        and _has_attributes(claim, volume)
        and _has_modes(claim, volume)
        and volume.metadata.deletion_timestamp is None
    )


def _is_free(volume: Volume) -> bool:
    return volume.spec.claim_ref is None and volume.status.phase == "Available"


def _is_selected(claim: Claim, volume: Volume) -> bool:
    selector = claim.spec.selector
    is_of_class = (claim.storage_class or "") == volume.storage_class
    return is_of_class and (selector is None or selector.matches(volume.metadata.labels))


def _has_modes(claim: Claim, volume: Volume) -> bool:
    return set(claim.spec.access_modes) <= set(volume.spec.access_modes)


def _has_attributes(claim: Claim, volume: Volume) -> bool:
    return (claim.spec.volume_attributes_class_name or "") == (volume.spec.volume_attributes_class_name or "")


def _size(volume: Volume) -> Fraction:
    return parse(volume.spec.capacity.get("storage", 0))
