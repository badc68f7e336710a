"""Printers of volumes, claims, and the drivers behind them."""

from __future__ import annotations

from datetime import datetime

from shunter.api.meta import Json, annotations_of
from shunter.cluster.apiserver.printers.columns import (
    AGE,
    NAME,
    Cells,
    Printer,
    access_modes,
    age,
    column,
    columns,
    name_of,
    spec_of,
    status_of,
    wide,
)


def _volume_claim(document: Json, now: datetime) -> Cells:
    spec, status = spec_of(document), status_of(document)
    bound = bool(spec.get("volumeName"))
    return [
        name_of(document),
        "Terminating" if document["metadata"].get("deletionTimestamp") else status.get("phase", ""),
        spec.get("volumeName", ""),
        (status.get("capacity") or {}).get("storage", "0") if bound else "",
        access_modes(status.get("accessModes")) if bound else "",
        spec.get("storageClassName", ""),
        spec.get("volumeAttributesClassName", "<unset>"),
        age(document, now),
        spec.get("volumeMode", "<unset>"),
    ]


def _volume(document: Json, now: datetime) -> Cells:
    spec, status = spec_of(document), status_of(document)
    claim = spec.get("claimRef")
    return [
        name_of(document),
        (spec.get("capacity") or {}).get("storage", "0"),
        access_modes(spec.get("accessModes")),
        spec.get("persistentVolumeReclaimPolicy", ""),
        "Terminating" if document["metadata"].get("deletionTimestamp") else status.get("phase", ""),
        f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim else "",
        spec.get("storageClassName", ""),
        spec.get("volumeAttributesClassName", "<unset>"),
        status.get("reason", ""),
        age(document, now),
        spec.get("volumeMode", "<unset>"),
    ]


def _storage_class(document: Json, now: datetime) -> Cells:
    annotations = annotations_of(document)
    default = annotations.get("storageclass.kubernetes.io/is-default-class") == "true"
    return [
        name_of(document) + (" (default)" if default else ""),
        document.get("provisioner", ""),
        document.get("reclaimPolicy", "Delete"),
        document.get("volumeBindingMode", "Immediate"),
        bool(document.get("allowVolumeExpansion")),
        age(document, now),
    ]


def _csi_driver(document: Json, now: datetime) -> Cells:
    spec = spec_of(document)
    audiences = [request.get("audience", "") for request in spec.get("tokenRequests") or ()]
    return [
        name_of(document),
        spec.get("attachRequired", True),
        bool(spec.get("podInfoOnMount")),
        bool(spec.get("storageCapacity")),
        ",".join(audiences) if audiences else "<unset>",
        bool(spec.get("requiresRepublish")),
        ",".join(spec.get("volumeLifecycleModes") or ()) or "<none>",
        age(document, now),
    ]


def _csi_node(document: Json, now: datetime) -> Cells:
    return [name_of(document), len(spec_of(document).get("drivers") or ()), age(document, now)]


def _volume_attachment(document: Json, now: datetime) -> Cells:
    spec = spec_of(document)
    return [
        name_of(document),
        spec.get("attacher", ""),
        (spec.get("source") or {}).get("persistentVolumeName", ""),
        spec.get("nodeName", ""),
        bool(status_of(document).get("attached")),
        age(document, now),
    ]


PRINTERS: dict[tuple[str, str], Printer] = {
    ("", "PersistentVolumeClaim"): Printer(
        columns(
            NAME,
            "Status",
            "Volume",
            "Capacity",
            "Access Modes",
            "StorageClass",
            "VolumeAttributesClass",
            AGE,
            wide("VolumeMode"),
        ),
        _volume_claim,
    ),
    ("", "PersistentVolume"): Printer(
        columns(
            NAME,
            "Capacity",
            "Access Modes",
            "Reclaim Policy",
            "Status",
            "Claim",
            "StorageClass",
            "VolumeAttributesClass",
            "Reason",
            AGE,
            wide("VolumeMode"),
        ),
        _volume,
    ),
    ("storage.k8s.io", "StorageClass"): Printer(
        columns(NAME, "Provisioner", "ReclaimPolicy", "VolumeBindingMode", "AllowVolumeExpansion", AGE), _storage_class
    ),
    ("storage.k8s.io", "CSIDriver"): Printer(
        columns(
            NAME,
            column("AttachRequired", "boolean"),
            column("PodInfoOnMount", "boolean"),
            column("StorageCapacity", "boolean"),
            "TokenRequests",
            column("RequiresRepublish", "boolean"),
            "Modes",
            AGE,
        ),
        _csi_driver,
    ),
    ("storage.k8s.io", "CSINode"): Printer(columns(NAME, column("Drivers", "integer"), AGE), _csi_node),
    ("storage.k8s.io", "VolumeAttachment"): Printer(
        columns(NAME, column("Attacher")._replace(format="name"), "PV", "Node", column("Attached", "boolean"), AGE),
        _volume_attachment,
    ),
}
