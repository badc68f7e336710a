"""What PersistentVolumeClaims may ask for, also as templates of a StatefulSet.

Source: k8s.io/kubernetes 1.36 `apis/core/validation`.
"""

from __future__ import annotations

from typing import Final

from shunter.api.field_errors import FieldError, forbidden, invalid, not_supported, required
from shunter.api.formats.quantity import parse
from shunter.api.meta import Json
from shunter.api.names import subdomain_faults
from shunter.cluster.apiserver.field_rules import faults, selector_errors

VOLUME_MODES: Final = ["Block", "Filesystem"]
_ACCESS_MODES = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"]
_REFERENCE = ("apiGroup", "kind", "name")


def claim_spec_errors(spec: Json, field: str) -> list[FieldError]:
    """The spec of a claim."""
    errors = access_mode_errors(spec, field, "at least 1 access mode is required")
    errors += selector_errors(spec.get("selector"), f"{field}.selector")
    storage = (spec.get("resources") or {}).get("requests", {}).get("storage")
    if storage is None:
        errors.append(required(f"{field}.resources[storage]"))
    elif parse(storage) <= 0:
        errors.append(invalid(f"{field}.resources[storage]", storage, "must be greater than zero"))
    for name in ("storageClassName", "volumeAttributesClassName"):
        if value := spec.get(name):
            errors += faults(f"{field}.{name}", value, subdomain_faults(value))
    if spec.get("volumeMode") not in (None, *VOLUME_MODES):
        errors.append(not_supported(f"{field}.volumeMode", spec["volumeMode"], VOLUME_MODES))
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if source and reference and any(source.get(name) != reference.get(name) for name in _REFERENCE):
        errors.append(invalid(field, spec, "must match dataSourceRef"))
    return errors


def access_mode_errors(spec: Json, field: str, detail: str = "") -> list[FieldError]:
    """The access modes of a claim or a volume."""
    here, modes = f"{field}.accessModes", spec.get("accessModes", [])
    if not modes:
        return [required(here, detail)]
    errors = [not_supported(here, mode, _ACCESS_MODES) for mode in modes if mode not in _ACCESS_MODES]
    if "ReadWriteOncePod" in modes and len(modes) > 1:
        errors.append(forbidden(here, "may not use ReadWriteOncePod with other access modes"))
    return errors
