"""Volumes: PersistentVolumeClaim, PersistentVolume, StorageClass.

Source: k8s.io/kubernetes 1.36 `apis/core/v1` and `apis/storage/v1` defaults, `apis/core/validation`.
"""

from __future__ import annotations

from datetime import UTC, datetime
from fractions import Fraction
from math import ceil
from typing import Any

import msgspec

from shunter.api.field_errors import FieldError, duplicate, forbidden, invalid, not_supported, required
from shunter.api.formats.quantity import parse
from shunter.api.meta import Json, ObjectMeta, annotations_of, rfc3339
from shunter.api.names import label_key_faults, subdomain_faults
from shunter.api.resources import PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, STORAGE_CLASSES
from shunter.api.scheduling.storage_classes import BETA_CLASS, class_of, default_class
from shunter.cluster.apiserver.builtin.pod.gated_fields import drop_gated_fields
from shunter.cluster.apiserver.builtin.pod.placement_rules import node_selector_errors
from shunter.cluster.apiserver.builtin.pod.volume_rules import persistent_source_errors, persistent_sources
from shunter.cluster.apiserver.builtin.rules.claims import VOLUME_MODES, access_mode_errors, claim_spec_errors
from shunter.cluster.apiserver.builtin.typed import typed
from shunter.cluster.apiserver.field_rules import IMMUTABLE, changed, faults, one_of
from shunter.cluster.apiserver.kinds import Kind, Objects, RejectedError

_STABLE_LABELS = {
    "beta.kubernetes.io/arch": "kubernetes.io/arch",
    "beta.kubernetes.io/os": "kubernetes.io/os",
    "beta.kubernetes.io/instance-type": "node.kubernetes.io/instance-type",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
}
_RECLAIM_POLICIES = ["Delete", "Recycle", "Retain"]
_CLAIM_IS_IMMUTABLE = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"


def kinds() -> list[Kind]:
    """PersistentVolumeClaim, PersistentVolume and StorageClass. New claims and volumes get the finalizer that protects them, and
    a claim that names no class the newest default one."""
    return [
        typed(
            PERSISTENT_VOLUME_CLAIMS,
            short_names=("pvc",),
            returns_deleted=True,
            has_status=True,
            tracks_generation=False,
            default=_default_claim,
            admit=_admit_claim,
            prepare=_prepare_claim,
            validate=_claim_errors,
            warnings=_class_warnings,
            review=_review_claim,
        ),
        typed(
            PERSISTENT_VOLUMES,
            short_names=("pv",),
            returns_deleted=True,
            has_status=True,
            tracks_generation=False,
            default=_default_volume,
            admit=_admit_volume,
            prepare=_prepare_volume,
            prepare_status=_prepare_volume_status,
            validate=_volume_errors,
            warnings=_volume_warnings,
        ),
        typed(
            STORAGE_CLASSES,
            short_names=("sc",),
            returns_deleted=True,
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
    if class_of(claim) is None and (name := default_class(_metadata(one) for one in objects.all(STORAGE_CLASSES))):
        claim["spec"]["storageClassName"] = name


def _metadata(obj: Json) -> ObjectMeta:
    return msgspec.convert(obj["metadata"], ObjectMeta)


def _protect(obj: Json, finalizer: str) -> None:
    finalizers = obj["metadata"].setdefault("finalizers", [])
    if finalizer not in finalizers:
        finalizers.append(finalizer)


def _admit_volume(volume: Json, old: Json | None, objects: Objects) -> None:
    """Admission plugin StorageObjectInUseProtection."""
    if old is None:
        _protect(volume, "kubernetes.io/pv-protection")


def _prepare_claim(claim: Json, old: Json | None) -> None:
    """A new data source in another namespace is dropped: the feature CrossNamespaceVolumeDataSource is off."""
    if (claim["spec"].get("dataSourceRef") or {}).get("namespace"):
        drop_gated_fields(claim["spec"], old and old["spec"], "dataSourceRef")
    if old is None:
        claim["status"] = {"phase": "Pending"}


def _claim_errors(claim: Json, old: Json | None) -> list[FieldError]:
    spec = claim["spec"]
    errors = claim_spec_errors(spec, "spec")
    if old is not None:
        errors += _claim_update_errors(spec, old)
        errors += _class_change_errors(claim, old)
    return errors


def _class_change_errors(claim: Json, old: Json) -> list[FieldError]:
    now, before = annotations_of(claim).get(BETA_CLASS, ""), annotations_of(old).get(BETA_CLASS, "")
    return [] if now == before else [invalid(f"metadata.annotations.{BETA_CLASS}", now, IMMUTABLE)]


def _claim_update_errors(spec: Json, old: Json) -> list[FieldError]:
    was = old["spec"]
    if "storageClassName" not in was and "storageClassName" in spec:
        was = {**was, "storageClassName": spec["storageClassName"]}  # a default class that came after the claim
    free = ("resources", "volumeName", *(("volumeAttributesClassName",) if old["status"].get("phase") == "Bound" else ()))
    rest, was_rest = ({name: value for name, value in one.items() if name not in free} for one in (spec, was))
    bound_elsewhere = was.get("volumeName") and spec.get("volumeName") != was["volumeName"]
    if rest != was_rest or bound_elsewhere:
        return [
            forbidden("spec", _CLAIM_IS_IMMUTABLE),
            *changed("volumeMode", spec.get("volumeMode"), was.get("volumeMode")),
        ]
    new_size, old_size = _requested({"spec": spec}), _requested(old)
    if new_size != old_size and old["status"].get("phase") != "Bound":
        return [forbidden("spec", _CLAIM_IS_IMMUTABLE)]
    # A claim that could not grow may be asked for less again, though not for what it has.
    capacity = parse((old["status"].get("capacity") or {}).get("storage", 0))
    if new_size < old_size and new_size <= capacity:
        detail = "field can not be less than status.capacity"
        return [forbidden("spec.resources.requests.storage", detail)]
    return []


def _review_claim(claim: Json, old: Json | None, objects: Objects) -> None:
    """Admission plugin PersistentVolumeClaimResize: a claim grows only where its class allows it."""
    if old is None or _requested(claim) <= _requested(old):
        return
    name = class_of(claim) or ""
    found = objects.get(STORAGE_CLASSES, "", name) if name else None
    if found is None or not found.get("allowVolumeExpansion"):
        raise RejectedError(
            f'persistentvolumeclaims "{claim["metadata"]["name"]}" is forbidden: only dynamically provisioned pvc can be resized '
            "and the storageclass that provisions the pvc must support resize"
        )


def _requested(claim: Json) -> Fraction:
    return parse(claim["spec"]["resources"].get("requests", {}).get("storage", 0))


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


def _volume_warnings(volume: Json, old: Json | None, objects: Objects) -> list[str]:
    warnings = _class_warnings(volume, old, objects)
    if volume["spec"]["persistentVolumeReclaimPolicy"] == "Recycle":
        said = "The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning."
        warnings.append(f"spec.persistentVolumeReclaimPolicy: {said}")
    return warnings


def _class_warnings(obj: Json, old: Json | None, objects: Objects) -> list[str]:
    if BETA_CLASS not in annotations_of(obj):
        return []
    return [f'metadata.annotations[{BETA_CLASS}]: deprecated since v1.8; use "storageClassName" attribute instead']


def _volume_errors(volume: Json, old: Json | None) -> list[FieldError]:
    spec = volume["spec"]
    errors = access_mode_errors(spec, "spec") + _capacity_errors(spec.get("capacity"))
    errors += persistent_source_errors(spec, "spec")
    policy, mode, affinity = spec["persistentVolumeReclaimPolicy"], spec.get("volumeMode"), spec.get("nodeAffinity")
    errors += one_of("spec.persistentVolumeReclaimPolicy", policy, _RECLAIM_POLICIES)
    if policy == "Recycle" and (spec.get("hostPath") or {}).get("path") == "/":
        errors.append(forbidden("spec.persistentVolumeReclaimPolicy", "may not be 'recycle' for a hostPath mount of '/'"))
    if name := spec.get("storageClassName"):
        errors += faults("spec.storageClassName", name, subdomain_faults(name))
    if mode not in (None, *VOLUME_MODES):
        errors.append(not_supported("spec.volumeMode", mode, VOLUME_MODES))
    if affinity is not None:
        errors += _affinity_errors(affinity, "spec.nodeAffinity")
    elif persistent_sources(spec)[:1] == ["local"]:
        errors.append(required("spec.nodeAffinity", "Local volume requires node affinity"))
    if old is not None:
        errors += _volume_update_errors(spec, old["spec"])
    return errors


def _capacity_errors(capacity: Json | None) -> list[FieldError]:
    errors = [] if capacity else [required("spec.capacity")]
    if not capacity or "storage" not in capacity or len(capacity) > 1:
        errors.append(not_supported("spec.capacity", capacity or None, ["storage"]))
    for name, amount in (capacity or {}).items():
        field, value = f"spec.capacity[{name}]", parse(amount)
        if value <= 0:
            errors.append(invalid(field, amount, "must be greater than zero"))
        if value < 0:
            errors.append(invalid(field, ceil(value), "must be a valid resource quantity"))
    return errors


def _affinity_errors(affinity: Json, field: str) -> list[FieldError]:
    if (needed := affinity.get("required")) is None:
        return [required(f"{field}.required", "must specify required node constraints")]
    return node_selector_errors(needed, f"{field}.required")


def _volume_update_errors(spec: Json, old: Json) -> list[FieldError]:
    """What the server prints of both sources beside this, a difference of Go's structs, is left out."""
    errors = changed("volumeMode", spec.get("volumeMode"), old.get("volumeMode"))
    if _fixed_source(spec, old) != _fixed_source(old, old):
        field = "spec.persistentvolumesource"
        errors.append(forbidden(field, f"{field} is immutable after creation"))
    if "nodeAffinity" in old and not _is_as_before(spec.get("nodeAffinity"), old["nodeAffinity"]):
        detail = f"{IMMUTABLE}, except for updating from beta label to GA"
        errors.append(invalid("nodeAffinity", spec.get("nodeAffinity"), detail))
    return errors


def _fixed_source(spec: Json, old: Json) -> Json:
    """What never changes of a source: the Secret for expansion may be added."""
    sources = {name: spec[name] for name in persistent_sources(spec)}
    if "csi" in sources and "controllerExpandSecretRef" not in (old.get("csi") or {}):
        sources["csi"] = {name: value for name, value in spec["csi"].items() if name != "controllerExpandSecretRef"}
    return sources


def _is_as_before(new: Any, old: Any) -> bool:
    """Whether two values are equal, but for keys of labels that were beta and are stable now."""
    if isinstance(new, dict) and isinstance(old, dict):
        return new.keys() == old.keys() and all(
            (name == "key" and new[name] == _STABLE_LABELS.get(old[name])) or _is_as_before(new[name], old[name]) for name in new
        )
    if isinstance(new, list) and isinstance(old, list):
        return len(new) == len(old) and all(map(_is_as_before, new, old))
    return bool(new == old)


def _default_class(storage_class: Json) -> None:
    storage_class.setdefault("reclaimPolicy", "Delete")
    storage_class.setdefault("volumeBindingMode", "Immediate")


def _class_errors(storage_class: Json, old: Json | None) -> list[FieldError]:
    errors: list[FieldError] = []
    if old is not None:
        for name in ("parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"):
            errors += changed(name, storage_class.get(name), old.get(name))
    provisioner = storage_class.get("provisioner") or ""
    errors += (
        faults("provisioner", provisioner, label_key_faults(provisioner.lower())) if provisioner else [required("provisioner")]
    )
    if "" in (storage_class.get("parameters") or {}):
        errors.append(invalid("parameters", "", "field can not be empty."))
    for index, term in enumerate(storage_class.get("allowedTopologies") or ()):
        errors += _topology_errors(term, f"allowedTopologies[{index}].matchLabelExpressions")
    errors += one_of("reclaimPolicy", storage_class["reclaimPolicy"], ["Delete", "Retain"])
    return errors + one_of("volumeBindingMode", storage_class["volumeBindingMode"], ["Immediate", "WaitForFirstConsumer"])


def _topology_errors(term: Json, field: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, requirement in enumerate(term.get("matchLabelExpressions") or ()):
        here, key, values = f"{field}[{index}]", requirement.get("key") or "", requirement.get("values") or []
        errors += faults(f"{here}.key", key, label_key_faults(key))
        errors += [] if values else [required(f"{here}.values")]
        errors += [duplicate(f"{here}.values[{at}]", value) for at, value in enumerate(values) if value in values[:at]]
    return errors
