"""One reconcile of a claim: it is bound to a matching volume or gets a new one, and is protected while pods use it."""

from __future__ import annotations

from pathlib import PurePosixPath

import msgspec

from shunter.api.meta import Json
from shunter.api.resources import PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES
from shunter.cluster.controllers.volumes.matching import best_match, is_reserved, mismatch
from shunter.cluster.controllers.volumes.views import (
    BIND_COMPLETED,
    BOUND_BY_CONTROLLER,
    CLAIM_PROTECTION,
    DIRECTORY_FINALIZER,
    SELECTED_NODE,
    WAIT_FOR_CONSUMER,
    Claim,
    StorageClass,
    Volume,
)
from shunter.cluster.local_path import PROVISIONED_BY, PROVISIONER
from shunter.kube.controllers.plan import NOTHING, Create, Note, Patch, Plan, Ref

LOST = "Bound claim has lost its PersistentVolume. Data on the volume is lost!"
MISBOUND = "Two claims are bound to the same volume, this one is bound incorrectly"
NO_CLASS = "no persistent volumes available for this claim and no storage class is set"
WAITING = "waiting for first consumer to be created before binding"


class Observed(msgspec.Struct, frozen=True, kw_only=True):
    """A claim, every volume that it has or might get, its class, and the one that it gets if it was made before there was any.
    `directory` is where volumes are made; empty where none are. A `strict` provisioner serves only classes that exist."""

    claim: Claim
    volumes: tuple[Volume, ...] = ()
    storage_class: StorageClass | None = None
    default_class: str = ""
    in_use: bool = False
    """Whether a pod that has a node uses it."""
    directory: str = ""
    strict: bool = False


def plan(observed: Observed) -> Plan:
    """The next step of a claim."""
    claim = observed.claim
    if claim.metadata.deletion_timestamp is not None:
        return _released(observed)
    if claim.spec.volume_name:
        return _bound_to(observed, claim.spec.volume_name)
    # The scheduler chooses a free volume for a claim that waits for its pod: it knows the pod's node.
    volume = best_match(claim, observed.volumes, delayed=_is_of_consumer(observed))
    if volume is not None:
        return _bind(claim, volume)
    if claim.storage_class is None and observed.default_class:
        return Plan(writes=(_patch(claim, {"spec": {"storageClassName": observed.default_class}}),))
    if not claim.storage_class:
        return _event(claim, "Normal", "FailedBinding", NO_CLASS)
    return _provision(observed)


def _released(observed: Observed) -> Plan:
    """Removes the protection finalizer of a deleted claim that no pod uses."""
    metadata = observed.claim.metadata
    if observed.in_use or CLAIM_PROTECTION not in metadata.finalizers:
        return NOTHING
    others = [finalizer for finalizer in metadata.finalizers if finalizer != CLAIM_PROTECTION]
    return Plan(writes=(_patch(observed.claim, {"metadata": {"finalizers": others or None}}),))


def _bound_to(observed: Observed, name: str) -> Plan:
    """A claim that names its volume, from its user or because it was bound."""
    claim = observed.claim
    volume = next((volume for volume in observed.volumes if volume.metadata.name == name), None)
    was_bound = BIND_COMPLETED in claim.metadata.annotations
    if volume is None:
        if not was_bound:
            return _event(claim, "Warning", "FailedBinding", f'volume "{name}" not found')
        return _lost(claim, "ClaimLost", LOST)
    if volume.spec.claim_ref is not None and not is_reserved(volume, claim):
        if was_bound:
            return _lost(claim, "ClaimMisbound", MISBOUND)
        return _event(claim, "Warning", "FailedBinding", f'volume "{name}" already bound to a different claim.')
    if volume.spec.claim_ref is None and not was_bound and (why := mismatch(claim, volume)):
        return _event(claim, "Warning", "VolumeMismatch", f'Cannot bind to requested volume "{name}": {why}')
    return _bind(claim, volume)


def _lost(claim: Claim, reason: str, message: str) -> Plan:
    """The phase Lost and its event, once."""
    if claim.status.phase == "Lost":
        return NOTHING
    lost = _patch(claim, {"status": {"phase": "Lost"}}, subresource="status")
    return Plan(writes=(lost,), events=(_note(claim, "Warning", reason, message),))


def _is_of_consumer(observed: Observed) -> bool:
    """Whether the claim's class binds it for the first pod that uses it."""
    known = observed.storage_class
    return known is not None and known.volume_binding_mode == WAIT_FOR_CONSUMER


def reservation(claim: Claim, volume: Volume) -> Patch | None:
    """The write that binds the volume to the claim; None when that was done. Fails where the volume has changed meanwhile: given
    to two claims, two would write into one directory."""
    reference = volume.spec.claim_ref
    if reference is not None and reference.uid:
        return None
    metadata: Json = {"resourceVersion": volume.metadata.resource_version}
    if reference is None:
        metadata["annotations"] = {BOUND_BY_CONTROLLER: "yes"}
    patch: Json = {"metadata": metadata, "spec": {"claimRef": claim_reference(claim)}}
    return Patch(ref=Ref.of(PERSISTENT_VOLUMES, volume.metadata), patch=patch)


def _bind(claim: Claim, volume: Volume) -> Plan:
    """Volume first, then the claim; each write is left out where it was made already."""
    reserved = reservation(claim, volume)
    writes = [] if reserved is None else [reserved]
    if BIND_COMPLETED not in claim.metadata.annotations or not claim.spec.volume_name:
        annotations = {BIND_COMPLETED: "yes"} | ({} if claim.spec.volume_name else {BOUND_BY_CONTROLLER: "yes"})
        patch: Json = {"metadata": {"annotations": annotations}, "spec": {"volumeName": volume.metadata.name}}
        writes.append(_patch(claim, patch))
    offered, shown = volume.spec, claim.status
    status: Json = {"phase": "Bound", "accessModes": list(offered.access_modes), "capacity": offered.capacity}
    if (shown.phase, shown.access_modes, shown.capacity) != ("Bound", offered.access_modes, offered.capacity):
        writes.append(_patch(claim, {"status": status}, subresource="status"))
    return Plan(writes=tuple(writes)) if writes else NOTHING


def _provision(observed: Observed) -> Plan:
    """A directory for the claim, once a pod was scheduled if its class waits for a consumer. Unless `strict`, a class that does
    not exist is served as well: manifests name the classes of other clusters."""
    claim, known = observed.claim, observed.storage_class
    if known is None and (observed.strict or not observed.directory):
        message = f'storageclass.storage.k8s.io "{claim.storage_class}" not found'
        return _event(claim, "Warning", "ProvisioningFailed", message)
    if _is_of_consumer(observed) and SELECTED_NODE not in claim.metadata.annotations:
        return _event(claim, "Normal", "WaitForFirstConsumer", WAITING)
    if known is not None and (known.provisioner != PROVISIONER or not observed.directory):
        message = f'waiting for a volume to be created by the external provisioner "{known.provisioner}"'
        return _event(claim, "Normal", "ExternalProvisioning", message)
    body = volume_for(claim, observed.directory, known.reclaim_policy if known else "Delete")
    name = body["metadata"]["name"]
    message = f"Successfully provisioned volume {name}"
    if known is None:
        message += f" on this machine: there is no StorageClass {claim.storage_class}"
    succeeded = _note(claim, "Normal", "ProvisioningSucceeded", message)
    return Plan(writes=(Create(resource=PERSISTENT_VOLUMES, body=body, succeeded=succeeded),))


def volume_for(claim: Claim, directory: str, reclaim_policy: str) -> Json:
    """The volume for a claim: a new directory below `directory`."""
    metadata = claim.metadata
    name = f"pvc-{metadata.uid}"
    path = str(PurePosixPath(directory) / f"{name}_{metadata.namespace}_{metadata.name}")
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {
            "name": name,
            "annotations": {PROVISIONED_BY: PROVISIONER},
            "finalizers": [DIRECTORY_FINALIZER],
        },
        "spec": {
            "accessModes": list(claim.spec.access_modes),
            "capacity": {"storage": (claim.spec.resources.get("requests") or {})["storage"]},
            "claimRef": claim_reference(claim),
            "hostPath": {"path": path, "type": "DirectoryOrCreate"},
            "persistentVolumeReclaimPolicy": reclaim_policy,
            "storageClassName": claim.storage_class or "",
            "volumeMode": claim.spec.volume_mode,
        },
    }


def claim_reference(claim: Claim) -> Json:
    """The `claimRef` of a volume: with the claim's uid, so that a later claim of that name is another."""
    metadata = claim.metadata
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "namespace": metadata.namespace,
        "name": metadata.name,
        "uid": metadata.uid,
        "resourceVersion": metadata.resource_version,
    }


def _event(claim: Claim, type: str, reason: str, message: str) -> Plan:
    return Plan(events=(_note(claim, type, reason, message),))


def _note(claim: Claim, type: str, reason: str, message: str) -> Note:
    return Note(
        regarding=Ref.of(PERSISTENT_VOLUME_CLAIMS, claim.metadata),
        type="Warning" if type == "Warning" else "Normal",
        reason=reason,
        message=message,
        action="Binding",
    )


def _patch(claim: Claim, patch: Json, *, subresource: str = "") -> Patch:
    return Patch(ref=Ref.of(PERSISTENT_VOLUME_CLAIMS, claim.metadata), patch=patch, subresource=subresource)
