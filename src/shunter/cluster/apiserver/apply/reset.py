"""The fields that an endpoint does not write: writes through it neither own them nor conflict on them.

Source: `GetResetFields` of the registry strategies of Kubernetes 1.36.
"""

from __future__ import annotations

from functools import cache

from shunter.cluster.apiserver.apply.field_set import FieldSet, fields_at
from shunter.cluster.apiserver.kinds import Kind

_STATUS = fields_at(("status",))
_SPEC = fields_at(("spec",))
_ALL_BUT_STATUS = fields_at(("metadata",), ("spec",))
_SIGNING_REQUEST = ("certificates.k8s.io", "CertificateSigningRequest")
_OWN = {
    ("", *_SIGNING_REQUEST): fields_at(("spec",), ("status",)),
    ("approval", *_SIGNING_REQUEST): fields_at(("spec",), ("status", "certificate")),
}
"""By the endpoint and the kind."""
_STATUS_ENDPOINT = {
    _SIGNING_REQUEST: fields_at(("spec",), ("status", "conditions")),
    ("", "Pod"): fields_at(("spec",), ("metadata", "deletionTimestamp"), ("metadata", "ownerReferences")),
    ("apps", "Deployment"): fields_at(("spec",), ("metadata", "labels")),
}
_KEEP_METADATA_WRITABLE = frozenset(
    {"", "apps", "batch", "autoscaling", "policy", "networking.k8s.io", "certificates.k8s.io", "apiextensions.k8s.io"}
)


def reset_fields(kind: Kind, subresource: str) -> FieldSet:
    """The fields that writes through this endpoint of the kind leave as they are."""
    if own := _OWN.get((subresource, kind.resource.group, kind.resource.kind)):
        return own
    if subresource == "":
        return _STATUS if kind.has_status else {}
    if subresource == "status":
        return _of_status(kind.resource.group, kind.resource.kind)
    return {}


@cache
def _of_status(group: str, name: str) -> FieldSet:
    if (group, name) in _STATUS_ENDPOINT:
        return _STATUS_ENDPOINT[group, name]
    return _SPEC if group in _KEEP_METADATA_WRITABLE else _ALL_BUT_STATUS
