"""References from a container's environment or files to fields of its pod.

Source: k8s.io/kubernetes 1.36 `apis/core/validation`, `apis/core/pods`.
"""

from __future__ import annotations

import re

from shunter.api.field_errors import FieldError, invalid, not_supported, required
from shunter.api.formats.quantity import canonical, parse
from shunter.api.meta import Json
from shunter.api.names import label_key_faults
from shunter.cluster.apiserver.field_rules import faults

_SUBSCRIPTED = re.compile(r"(.+)\['(.*)'\]")
_KNOWN = frozenset(
    (
        "metadata.annotations",
        "metadata.labels",
        "metadata.name",
        "metadata.namespace",
        "metadata.uid",
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.serviceAccountName",
        "spec.schedulerName",
        "status.phase",
        "status.hostIP",
        "status.hostIPs",
        "status.podIP",
        "status.podIPs",
        "spec.host",
    )
)
_RESOURCES = [f"{kind}.{name}" for kind in ("limits", "requests") for name in ("cpu", "ephemeral-storage", "memory")]
_CPU_DIVISORS = ("1m", "1")
_BYTE_DIVISORS = ("1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei")


def field_ref_errors(reference: Json, allowed: list[str], field: str) -> list[FieldError]:
    """A fieldRef to one of the `allowed` paths, or to one label or annotation."""
    if not reference.get("apiVersion"):
        return [required(f"{field}.apiVersion")]
    path = reference.get("fieldPath", "")
    if not path:
        return [required(f"{field}.fieldPath")]
    subscripted = _SUBSCRIPTED.fullmatch(path)
    name = subscripted[1] if subscripted else path
    if name not in _KNOWN:
        return [invalid(f"{field}.fieldPath", path, f"error converting fieldPath: field label not supported: {path}")]
    if subscripted:
        key = subscripted[2]
        if name == "metadata.annotations":
            return faults(field, key.lower(), label_key_faults(key.lower()))
        if name == "metadata.labels":
            return faults(field, key, label_key_faults(key))
        return [invalid(field, name, "does not support subscript")]
    return [] if path in allowed else [not_supported(f"{field}.fieldPath", path, allowed)]


def resource_field_errors(reference: Json, field: str, *, in_volume: bool) -> list[FieldError]:
    """A resourceFieldRef; files must say which container is meant."""
    if in_volume and not reference.get("containerName"):
        return [required(f"{field}.containerName")]
    resource = reference.get("resource", "")
    if not resource:
        return [required(f"{field}.resource")]
    if resource not in _RESOURCES and not resource.startswith(("limits.hugepages-", "requests.hugepages-")):
        return [not_supported(f"{field}.resource", resource, _RESOURCES)]
    return _divisor_errors(reference.get("divisor", "0"), resource, f"{field}.divisor")


def _divisor_errors(divisor: str, resource: str, field: str) -> list[FieldError]:
    name = resource.partition(".")[2]
    allowed = _CPU_DIVISORS if name == "cpu" else _BYTE_DIVISORS
    if not parse(divisor) or canonical(divisor) in allowed:
        return []
    listed = "1m and 1" if name == "cpu" else ", ".join(_BYTE_DIVISORS)
    noun = {"cpu": "cpu", "memory": "memory", "ephemeral-storage": "local ephemeral storage"}.get(name, "hugepages")
    return [invalid(field, resource, f"only divisor's values {listed} are supported with the {noun} resource")]
