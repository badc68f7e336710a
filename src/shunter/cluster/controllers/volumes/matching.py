"""Which of the volumes that are there a claim gets: the smallest that fits, as kube-controller-manager finds it.

Source: Kubernetes 1.36, component-helpers `storage/volume/pv_helpers.go` (FindMatchingVolume) and checkVolumeSatisfyClaim of
`pkg/controller/volume/persistentvolume`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from functools import cached_property

import msgspec

from shunter.api.formats.quantity import parse
from shunter.api.meta import ObjectMeta
from shunter.cluster.controllers.volumes.views import Claim, Volume


class FreeVolumes:
    """The volumes that no claim has, of some. Made for one decision about many claims and nodes: it looks once for what claims
    that want the same may get, and once for what a node can mount."""

    def __init__(self, volumes: Iterable[Volume] = ()) -> None:
        self._volumes = tuple(volumes)
        self._fitting: dict[tuple[str | None, bytes], Sequence[Volume]] = {}
        self._mountable: dict[str, frozenset[str]] = {}

    def fitting(self, claim: Claim) -> Sequence[Volume]:
        """What a claim may get that names no volume, the best first: the one with the fewest modes and then bytes."""
        wanted = _wanted(claim)
        if (found := self._fitting.get(wanted)) is None:
            found = [volume for volume in self._ordered if _is_selected(claim, volume) and _is_able(claim, volume)]
            self._fitting[wanted] = found
        return found

    def on(self, claim: Claim, node: ObjectMeta) -> Iterator[Volume]:
        """The volumes of `fitting` that the node can mount."""
        if (mountable := self._mountable.get(node.name)) is None:
            mountable = frozenset(volume.metadata.name for volume in self._ordered if volume.is_on(node.labels))
            self._mountable[node.name] = mountable
        return (volume for volume in self.fitting(claim) if volume.metadata.name in mountable)

    @cached_property
    def _ordered(self) -> list[Volume]:
        free = (volume for volume in self._volumes if volume.spec.claim_ref is None and volume.status.phase == "Available")
        return sorted(free, key=lambda volume: (len(volume.spec.access_modes), _size(volume), volume.metadata.name))


def best_match(claim: Claim, volumes: Sequence[Volume], *, delayed: bool = False) -> Volume | None:
    """The volume for a claim that names none: the one whose claimRef names the claim, else the best free one. A claim whose
    binding is `delayed` until a pod uses it gets no free one."""
    kept = reserved(claim, volumes)
    return kept if kept is not None or delayed else next(iter(FreeVolumes(volumes).fitting(claim)), None)


def reserved(claim: Claim, volumes: Iterable[Volume]) -> Volume | None:
    """The volume whose claimRef names the claim, if that can be the claim's."""
    return next((volume for volume in volumes if is_reserved(volume, claim) and _is_able(claim, volume)), None)


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


def _wanted(claim: Claim) -> tuple[str | None, bytes]:
    """What decides which free volumes fit; equal for the claims of the replicas of a job."""
    return claim.storage_class, msgspec.json.encode(claim.spec)


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
