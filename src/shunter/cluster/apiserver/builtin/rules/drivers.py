"""What CSIDrivers, CSINodes and VolumeAttachments may say.

Source: k8s.io/kubernetes 1.36 `pkg/apis/storage/validation/validation.go`.
"""

from __future__ import annotations

from shunter.api.field_errors import FieldError, duplicate, forbidden, invalid, required
from shunter.api.meta import Json
from shunter.api.names import label_key_faults, subdomain_faults
from shunter.cluster.apiserver.field_rules import changed, driver_name_errors, faults, negative, unsupported

_LIFECYCLES = ["Persistent", "Ephemeral"]
_GROUP_POLICIES = ["File", "None", "ReadWriteOnceWithFSType"]
_LONGEST_NODE_ID = 256
"""Bytes."""
_SHORTEST_TOKEN, _LONGEST_TOKEN = 600, 1 << 32
_SHORTEST_UPDATE = 10
_ONE_SOURCE = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"


def csi_driver_errors(driver: Json, old: Json | None) -> list[FieldError]:
    """`attachRequired` and `volumeLifecycleModes` never change; the error about the first calls it `spec.attachedRequired`, as
    `ValidateCSIDriverUpdate` does."""
    spec = driver["spec"]
    errors = [
        unsupported("spec.volumeLifecycleModes", mode, _LIFECYCLES)
        for mode in spec.get("volumeLifecycleModes") or ()
        if mode not in _LIFECYCLES
    ]
    if (policy := spec.get("fsGroupPolicy")) not in (None, *_GROUP_POLICIES):
        errors.append(unsupported("spec.fsGroupPolicy", policy, _GROUP_POLICIES))
    errors += _token_errors(spec)
    period = spec.get("nodeAllocatableUpdatePeriodSeconds")
    if period is not None and period < _SHORTEST_UPDATE:
        detail = f"must be greater than or equal to {_SHORTEST_UPDATE} seconds"
        errors.append(invalid("spec.nodeAllocatableUpdatePeriodSeconds", period, detail))
    if old is not None:
        errors += changed("spec.attachedRequired", spec.get("attachRequired"), old["spec"].get("attachRequired"))
        modes, were = spec.get("volumeLifecycleModes"), old["spec"].get("volumeLifecycleModes")
        errors += changed("spec.volumeLifecycleModes", modes, were)
    return errors


def csi_node_errors(node: Json, old: Json | None) -> list[FieldError]:
    """Drivers come and go; of one that stays only the number of volumes it takes (`allocatable`) may change."""
    errors: list[FieldError] = []
    names: set[str] = set()
    for index, driver in enumerate(node["spec"].get("drivers") or ()):
        here, name, identity = f"spec.drivers[{index}]", driver.get("name") or "", driver.get("nodeID") or ""
        errors += driver_name_errors(f"{here}.name", name)
        if name in names:
            errors.append(duplicate(f"{here}.name", name))
        names.add(name)
        if not identity:
            errors.append(required(f"{here}.nodeID"))
        elif len(identity.encode()) > _LONGEST_NODE_ID:
            errors.append(invalid(f"{here}.nodeID", identity, f"must be {_LONGEST_NODE_ID} characters or less"))
        errors += negative(f"{here}.allocatable.count", (driver.get("allocatable") or {}).get("count"))
        keys = driver.get("topologyKeys") or []
        errors += [duplicate(here, key) for at, key in enumerate(keys) if key in keys[:at]]
        errors += [error for key in keys for error in faults(here, key, label_key_faults(key))]
    if old is not None:
        before = {one.get("name"): one for one in old["spec"].get("drivers") or ()}
        for driver in node["spec"].get("drivers") or ():
            errors += changed("spec.drivers", _identity(driver), _identity(before.get(driver.get("name"), driver)))
    return errors


def _identity(driver: Json) -> Json:
    """What never changes while the driver is there; how many volumes it takes may."""
    return {name: value for name, value in driver.items() if name != "allocatable"}


def volume_attachment_errors(attachment: Json, old: Json | None) -> list[FieldError]:
    """On an update nothing is checked but that the spec is the same. Its source is a volume's name or an inline spec, whose
    contents are not checked."""
    spec = attachment["spec"]
    if old is not None:
        return changed("spec", spec, old["spec"])
    node, source = spec.get("nodeName") or "", spec.get("source") or {}
    errors = driver_name_errors("spec.attacher", spec.get("attacher") or "")
    errors += faults("spec.nodeName", node, subdomain_faults(node))
    name, inline = source.get("persistentVolumeName"), source.get("inlineVolumeSpec")
    if name is None and inline is None:
        return [*errors, required("spec.source", _ONE_SOURCE)]
    if name is not None and inline is not None:
        return [*errors, forbidden("spec.source", _ONE_SOURCE)]
    if name is None:
        return errors
    here = "spec.source.persistentVolumeName"
    errors += faults(here, name, subdomain_faults(name))
    return errors if name else [*errors, required(here, "must specify non empty persistentVolumeName")]


def _token_errors(spec: Json) -> list[FieldError]:
    errors: list[FieldError] = []
    audiences: set[str] = set()
    for index, token in enumerate(spec.get("tokenRequests") or ()):
        here, audience, seconds = f"spec.tokenRequests[{index}]", token.get("audience") or "", token.get("expirationSeconds")
        if audience in audiences:
            errors.append(duplicate(f"{here}.audience", audience))
            continue
        audiences.add(audience)
        if seconds is not None and seconds < _SHORTEST_TOKEN:
            errors.append(invalid(f"{here}.expirationSeconds", seconds, "may not specify a duration less than 10 minutes"))
        if seconds is not None and seconds > _LONGEST_TOKEN:
            errors.append(invalid(f"{here}.expirationSeconds", seconds, "may not specify a duration larger than 2^32 seconds"))
    in_secrets = spec.get("serviceAccountTokenInSecrets")
    if in_secrets is not None and not spec.get("tokenRequests"):
        detail = "serviceAccountTokenInSecrets is set but no tokenRequests are specified"
        errors.append(invalid("spec.serviceAccountTokenInSecrets", in_secrets, detail))
    return errors
