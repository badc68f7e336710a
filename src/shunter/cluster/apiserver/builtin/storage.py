"""Volumes: PersistentVolumeClaim, PersistentVolume, StorageClass.

Source: k8s.io/kubernetes 1.36 `apis/core/v1` and `apis/storage/v1` defaults, `apis/core/validation`.
"""

from __future__ import annotations

from datetime import UTC, datetime

from shunter.api.field_errors import FieldError, forbidden, invalid, not_supported, required
from shunter.api.meta import Json, annotations_of, rfc3339
from shunter.api.names import subdomain_faults
from shunter.api.quantity import parse
from shunter.api.resources import PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, STORAGE_CLASSES
from shunter.cluster.apiserver.builtin.typed import typed
from shunter.cluster.apiserver.field_rules import changed, faults, one_of, selector_errors
from shunter.cluster.apiserver.kinds import Kind, Objects

_ACCESS_MODES = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"]
_VOLUME_MODES = ["Block", "Filesystem"]
_CLAIM_IS_IMMUTABLE = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"


def kinds() -> list[Kind]:
    return [
        typed(
            PERSISTENT_VOLUME_CLAIMS,
            short_names=("pvc",),
            has_status=True,
            tracks_generation=False,
            default=_default_claim,
            admit=_admit_claim,
            prepare=_prepare_claim,
            validate=_claim_errors,
        ),
        typed(
            PERSISTENT_VOLUMES,
            short_names=("pv",),
            has_status=True,
            tracks_generation=False,
            default=_default_volume,
            admit=_admit_volume,
            prepare=_prepare_volume,
            prepare_status=_prepare_volume_status,
            validate=_volume_errors,
        ),
        typed(
            STORAGE_CLASSES,
            short_names=("sc",),
            tracks_generation=False,
            default=_default_class,
            validate=_class_errors,
        ),
    ]


def _default_claim(claim: Json) -> None:
    claim["spec"].setdefault("volumeMode", "Filesystem")
    claim.setdefault("status", {}).setdefault("phase", "Pending")


def _admit_claim(claim: Json, old: Json | None, objects: Objects) -> None:
    """Admission plugins DefaultStorageClass and StorageObjectInUseProtection."""
    if old is not None:
        return
    _protect(claim, "kubernetes.io/pvc-protection")
    spec = claim["spec"]
    if "storageClassName" not in spec and (name := _default_class_name(objects)):
        spec["storageClassName"] = name


def _default_class_name(objects: Objects) -> str:
    """The newest of the classes that are marked as default; empty when there is none."""
    marked = [
        one["metadata"]
        for one in objects.all(STORAGE_CLASSES)
        if annotations_of(one).get("storageclass.kubernetes.io/is-default-class") == "true"
    ]
    newest = sorted(marked, key=lambda metadata: (metadata["creationTimestamp"], metadata["name"]), reverse=True)
    return str(newest[0]["name"]) if newest else ""


def _protect(obj: Json, finalizer: str) -> None:
    finalizers = obj["metadata"].setdefault("finalizers", [])
    if finalizer not in finalizers:
        finalizers.append(finalizer)


def _admit_volume(volume: Json, old: Json | None, objects: Objects) -> None:
    """Admission plugin StorageObjectInUseProtection."""
    if old is None:
        _protect(volume, "kubernetes.io/pv-protection")


def _prepare_claim(claim: Json, old: Json | None) -> None:
    if old is None:
        claim["status"] = {"phase": "Pending"}


def _claim_errors(claim: Json, old: Json | None) -> list[FieldError]:
    spec = claim["spec"]
    errors = _access_mode_errors(spec, "spec.accessModes")
    errors += selector_errors(spec.get("selector"), "spec.selector")
    storage = spec["resources"].get("requests", {}).get("storage")
    if storage is None:
        errors.append(required("spec.resources[storage]"))
    elif parse(storage) <= 0:
        errors.append(invalid("spec.resources[storage]", storage, "must be greater than zero"))
    if name := spec.get("storageClassName"):
        errors += faults("spec.storageClassName", name, subdomain_faults(name))
    if spec.get("volumeMode") not in (None, *_VOLUME_MODES):
        errors.append(not_supported("spec.volumeMode", spec["volumeMode"], _VOLUME_MODES))
    if old is not None:
        errors += _claim_update_errors(spec, old)
    return errors


def _claim_update_errors(spec: Json, old: Json) -> list[FieldError]:
    was = old["spec"]
    if "storageClassName" not in was and "storageClassName" in spec:
        was = {**was, "storageClassName": spec["storageClassName"]}  # a default class that came after the claim
    rest = {name: value for name, value in spec.items() if name not in ("resources", "volumeName", "volumeAttributesClassName")}
    was_rest = {
        name: value for name, value in was.items() if name not in ("resources", "volumeName", "volumeAttributesClassName")
    }
    bound_elsewhere = was.get("volumeName") and spec.get("volumeName") != was["volumeName"]
    if rest != was_rest or bound_elsewhere:
        return [forbidden("spec", _CLAIM_IS_IMMUTABLE)]
    new_size = parse(spec["resources"].get("requests", {}).get("storage", 0))
    old_size = parse(was["resources"].get("requests", {}).get("storage", 0))
    if new_size != old_size and old["status"].get("phase") != "Bound":
        return [forbidden("spec", _CLAIM_IS_IMMUTABLE)]
    if new_size < old_size:
        detail = "field can not be less than status.capacity"
        return [forbidden("spec.resources.requests.storage", detail)]
    return []


def _default_volume(volume: Json) -> None:
    volume["spec"].setdefault("persistentVolumeReclaimPolicy", "Retain")
    volume["spec"].setdefault("volumeMode", "Filesystem")
    if "hostPath" in volume["spec"]:
        volume["spec"]["hostPath"].setdefault("type", "")
    volume.setdefault("status", {}).setdefault("phase", "Pending")


def _prepare_volume(volume: Json, old: Json | None) -> None:
    if old is None:
        volume["status"] = {"phase": "Pending", "lastPhaseTransitionTime": rfc3339(datetime.now(UTC))}


def _prepare_volume_status(volume: Json, old: Json | None) -> None:
    if old is not None and volume["status"].get("phase") != (old.get("status") or {}).get("phase"):
        volume["status"]["lastPhaseTransitionTime"] = rfc3339(datetime.now(UTC))


def _volume_errors(volume: Json, old: Json | None) -> list[FieldError]:
    spec = volume["spec"]
    errors = _access_mode_errors(spec, "spec.accessModes")
    if not spec.get("capacity"):
        errors.append(required("spec.capacity"))
    elif "storage" not in spec["capacity"]:
        errors.append(not_supported("spec.capacity", spec["capacity"], ["storage"]))
    policy = spec["persistentVolumeReclaimPolicy"]
    if policy not in ("Delete", "Recycle", "Retain"):
        errors.append(not_supported("spec.persistentVolumeReclaimPolicy", policy, ["Delete", "Recycle", "Retain"]))
    if old is not None:
        errors += changed("spec.volumeMode", spec.get("volumeMode"), old["spec"].get("volumeMode"))
    return errors


def _default_class(storage_class: Json) -> None:
    storage_class.setdefault("reclaimPolicy", "Delete")
    storage_class.setdefault("volumeBindingMode", "Immediate")


def _class_errors(storage_class: Json, old: Json | None) -> list[FieldError]:
    errors: list[FieldError] = []
    if old is not None:
        errors += [
            forbidden(name, f"updates to {name} are forbidden.")
            for name in ("parameters", "provisioner", "reclaimPolicy", "volumeBindingMode")
            if storage_class.get(name) != old.get(name)
        ]
    if not storage_class.get("provisioner"):
        errors.append(required("provisioner"))
    errors += one_of("reclaimPolicy", storage_class["reclaimPolicy"], ["Delete", "Retain"])
    return errors + one_of("volumeBindingMode", storage_class["volumeBindingMode"], ["Immediate", "WaitForFirstConsumer"])


def _access_mode_errors(spec: Json, field: str) -> list[FieldError]:
    modes = spec.get("accessModes", [])
    if not modes:
        return [required(field, "at least 1 access mode is required")]
    errors = [not_supported(field, mode, _ACCESS_MODES) for mode in modes if mode not in _ACCESS_MODES]
    if "ReadWriteOncePod" in modes and len(modes) > 1:
        errors.append(forbidden(field, "may not use ReadWriteOncePod with other access modes"))
    return errors
