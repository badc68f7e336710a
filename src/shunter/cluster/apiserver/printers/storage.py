"""Printers of volumes, claims, and the drivers behind them."""

from __future__ import annotations

from shunter.api.meta import Json
from shunter.api.scheduling.storage_classes import DEFAULT_MARKS, class_of
from shunter.cluster.apiserver.printers.columns import (
    AGE,
    NAME,
    Printer,
    access_modes,
    boolean,
    integer,
    name_or_default,
    printer,
    spec_of,
    status_of,
    text,
    wide,
)


def _phase(document: Json) -> str:
    return "Terminating" if document["metadata"].get("deletionTimestamp") else status_of(document).get("phase", "")


def _claim_capacity(claim: Json) -> str:
    return (status_of(claim).get("capacity") or {}).get("storage", "0") if spec_of(claim).get("volumeName") else ""


def _claim_modes(claim: Json) -> str:
    return access_modes(status_of(claim).get("accessModes")) if spec_of(claim).get("volumeName") else ""


def _claim_of(volume: Json) -> str:
    claim = spec_of(volume).get("claimRef")
    return f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim else ""


def _audiences(driver: Json) -> str:
    requests = spec_of(driver).get("tokenRequests")
    return ",".join(request.get("audience", "") for request in requests) if requests else "<unset>"


PRINTERS: dict[tuple[str, str], Printer] = {
    ("", "PersistentVolumeClaim"): printer(
        NAME,
        text("Status", _phase),
        text("Volume", "spec.volumeName"),
        text("Capacity", _claim_capacity),
        text("Access Modes", _claim_modes),
        text("StorageClass", lambda one: class_of(one) or ""),
        text("VolumeAttributesClass", "spec.volumeAttributesClassName", "<unset>"),
        AGE,
        wide("VolumeMode", "spec.volumeMode", "<unset>"),
    ),
    ("", "PersistentVolume"): printer(
        NAME,
        text("Capacity", "spec.capacity.storage", "0"),
        text("Access Modes", lambda volume: access_modes(spec_of(volume).get("accessModes"))),
        text("Reclaim Policy", "spec.persistentVolumeReclaimPolicy"),
        text("Status", _phase),
        text("Claim", _claim_of),
        text("StorageClass", lambda one: class_of(one) or ""),
        text("VolumeAttributesClass", "spec.volumeAttributesClassName", "<unset>"),
        text("Reason", "status.reason"),
        AGE,
        wide("VolumeMode", "spec.volumeMode", "<unset>"),
    ),
    ("storage.k8s.io", "StorageClass"): printer(
        name_or_default(*DEFAULT_MARKS),
        text("Provisioner", "provisioner"),
        text("ReclaimPolicy", "reclaimPolicy", "Delete"),
        text("VolumeBindingMode", "volumeBindingMode", "Immediate"),
        text("AllowVolumeExpansion", "allowVolumeExpansion", absent=False),
        AGE,
    ),
    ("storage.k8s.io", "CSIDriver"): printer(
        NAME,
        boolean("AttachRequired", "spec.attachRequired", absent=True),
        boolean("PodInfoOnMount", "spec.podInfoOnMount"),
        boolean("StorageCapacity", "spec.storageCapacity"),
        text("TokenRequests", _audiences),
        boolean("RequiresRepublish", "spec.requiresRepublish"),
        text("Modes", lambda driver: ",".join(spec_of(driver).get("volumeLifecycleModes") or ()) or "<none>"),
        AGE,
    ),
    ("storage.k8s.io", "CSINode"): printer(NAME, integer("Drivers", lambda node: len(spec_of(node).get("drivers") or ())), AGE),
    ("storage.k8s.io", "VolumeAttachment"): printer(
        NAME,
        text("Attacher", "spec.attacher", format="name"),
        text("PV", "spec.source.persistentVolumeName"),
        text("Node", "spec.nodeName"),
        boolean("Attached", "status.attached"),
        AGE,
    ),
}
