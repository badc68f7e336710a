"""Which of the volumes that are there a claim gets: the smallest that fits, as kube-controller-manager finds it."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from shunter.api.formats.quantity import parse
from shunter.cluster.controllers.volumes.views import Claim, Volume


def reserved(claim: Claim, volumes: Iterable[Volume]) -> Volume | None:
    """The volume whose claimRef names this claim: made for it, or kept for it by a user."""
    return next((volume for volume in volumes if _is_for(volume, claim)), None)


def best_match(claim: Claim, volumes: Iterable[Volume]) -> Volume | None:
    """The free volume to bind to a claim that names none; of several that fit the one with the fewest modes and then bytes."""
    fitting = [volume for volume in volumes if _is_free(volume) and fits(claim, volume)]
    return min(fitting, key=lambda volume: (len(volume.spec.access_modes), _size(volume), volume.metadata.name), default=None)


def fits(claim: Claim, volume: Volume) -> bool:
    """Whether the volume is as the claim wants it."""
    needed, offered = claim.spec, volume.spec
    return (
        (claim.storage_class or "") == volume.storage_class
        and needed.volume_mode == offered.volume_mode
        and set(needed.access_modes) <= set(offered.access_modes)
        and requested(claim) <= _size(volume)
        and (needed.selector is None or needed.selector.matches(volume.metadata.labels))
    )


def requested(claim: Claim) -> Fraction:
    """Bytes."""
    return parse((claim.spec.resources.get("requests") or {}).get("storage", 0))


def _size(volume: Volume) -> Fraction:
    return parse(volume.spec.capacity.get("storage", 0))


def _is_free(volume: Volume) -> bool:
    return volume.spec.claim_ref is None and volume.metadata.deletion_timestamp is None


def _is_for(volume: Volume, claim: Claim) -> bool:
    reference, metadata = volume.spec.claim_ref, claim.metadata
    if reference is None or (reference.namespace, reference.name) != (metadata.namespace, metadata.name):
        return False
    return reference.uid in ("", metadata.uid)
