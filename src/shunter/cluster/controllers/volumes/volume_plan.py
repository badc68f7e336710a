"""What becomes of a volume: its phase, and its end when the claim is gone."""

from __future__ import annotations

import msgspec

from shunter.api.meta import Json
from shunter.api.resources import PERSISTENT_VOLUMES
from shunter.cluster.controllers.volumes.views import VOLUME_PROTECTION, Claim, Volume
from shunter.kube.controllers.plan import NOTHING, Delete, Note, Patch, Plan, Ref, Write


class Observed(msgspec.Struct, frozen=True, kw_only=True):
    """A volume, and the claim that its claimRef names, if there is one of that name."""

    volume: Volume
    claim: Claim | None = None


def plan(observed: Observed) -> Plan:
    """The next step of a volume."""
    volume = observed.volume
    if volume.metadata.deletion_timestamp is not None:
        return _unprotected(observed)
    desired = phase(observed)
    writes: list[Write] = []
    if desired != volume.status.phase:
        writes.append(_patch(volume, {"status": {"phase": desired}}, subresource="status"))
    if desired == "Released" and volume.spec.persistent_volume_reclaim_policy == "Delete":
        if volume.is_ours:
            return Plan(writes=(*writes, Delete(ref=Ref.of(PERSISTENT_VOLUMES, volume.metadata))))
        message = f'error getting deleter volume plugin for volume "{volume.metadata.name}": no deletable volume plugin matched'
        failed = _patch(volume, {"status": {"phase": "Failed", "message": message}}, subresource="status")
        note = Note(
            regarding=Ref.of(PERSISTENT_VOLUMES, volume.metadata),
            type="Warning",
            reason="VolumeFailedDelete",
            message=message,
            action="Deleting",
        )
        return Plan(writes=(failed,), events=(note,))
    return Plan(writes=tuple(writes)) if writes else NOTHING


def phase(observed: Observed) -> str:
    """Available without a claim (one that is expected counts as none), Bound to it, Released when it is gone; Failed stays."""
    volume, claim = observed.volume, observed.claim
    reference = volume.spec.claim_ref
    if reference is None or not reference.uid:
        return "Available"
    if claim is None or claim.metadata.uid != reference.uid:
        return "Failed" if volume.status.phase == "Failed" else "Released"
    if claim.spec.volume_name in ("", volume.metadata.name):
        return "Bound"
    return "Released"


def _unprotected(observed: Observed) -> Plan:
    """Takes the protection off a volume that is to go and that no claim has."""
    volume = observed.volume
    if phase(observed) == "Bound" or VOLUME_PROTECTION not in volume.metadata.finalizers:
        return NOTHING
    others = [finalizer for finalizer in volume.metadata.finalizers if finalizer != VOLUME_PROTECTION]
    return Plan(writes=(_patch(volume, {"metadata": {"finalizers": others or None}}),))


def _patch(volume: Volume, patch: Json, *, subresource: str = "") -> Patch:
    return Patch(ref=Ref.of(PERSISTENT_VOLUMES, volume.metadata), patch=patch, subresource=subresource)
