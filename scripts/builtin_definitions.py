"""Kubernetes' built-in OpenAPI definitions, as the embedded API server serves them: OpenAPI v3, trimmed to the groups it knows.

Source: the PyPI package kubernetes-validate (Apache-2.0), which carries the API server's own published document. Its form is made
for JSON Schema validators (`type: [x, "null"]`, `$defs`, `enum` on apiVersion and kind); that is undone here. What that document
lacks, the defaults of Kubernetes' Go types, is added from `DEFAULTS`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import kubernetes_validate

from shunter.api.meta import Json

KUBERNETES = "1.36"

SERVED = frozenset(
    {
        "v1",
        "admissionregistration.k8s.io/v1",
        "apiextensions.k8s.io/v1",
        "apiregistration.k8s.io/v1",
        "apps/v1",
        "authentication.k8s.io/v1",
        "authorization.k8s.io/v1",
        "autoscaling/v1",
        "autoscaling/v2",
        "batch/v1",
        "certificates.k8s.io/v1",
        "coordination.k8s.io/v1",
        "discovery.k8s.io/v1",
        "events.k8s.io/v1",
        "networking.k8s.io/v1",
        "node.k8s.io/v1",
        "policy/v1",
        "rbac.authorization.k8s.io/v1",
        "scheduling.k8s.io/v1",
        "storage.k8s.io/v1",
    }
)
"""Group versions whose kinds, and everything these refer to, are kept."""

CORE = "io.k8s.api.core.v1."
DEFAULTS: dict[tuple[str, str], object] = {
    (CORE + "AzureDiskVolumeSource", "fsType"): "ext4",
    (CORE + "AzureDiskVolumeSource", "readOnly"): False,
    (CORE + "ContainerPort", "protocol"): "TCP",
    (CORE + "FileKeySelector", "optional"): False,
    (CORE + "GRPCAction", "service"): "",
    (CORE + "ISCSIPersistentVolumeSource", "iscsiInterface"): "default",
    (CORE + "ISCSIVolumeSource", "iscsiInterface"): "default",
    (CORE + "RBDPersistentVolumeSource", "keyring"): "/etc/ceph/keyring",
    (CORE + "RBDPersistentVolumeSource", "pool"): "rbd",
    (CORE + "RBDPersistentVolumeSource", "user"): "admin",
    (CORE + "RBDVolumeSource", "keyring"): "/etc/ceph/keyring",
    (CORE + "RBDVolumeSource", "pool"): "rbd",
    (CORE + "RBDVolumeSource", "user"): "admin",
    (CORE + "ScaleIOPersistentVolumeSource", "fsType"): "xfs",
    (CORE + "ScaleIOPersistentVolumeSource", "storageMode"): "ThinProvisioned",
    (CORE + "ScaleIOVolumeSource", "fsType"): "xfs",
    (CORE + "ScaleIOVolumeSource", "storageMode"): "ThinProvisioned",
    (CORE + "ServicePort", "protocol"): "TCP",
    **{
        (CORE + holder, "name"): ""
        for holder in (
            "ConfigMapEnvSource",
            "ConfigMapKeySelector",
            "ConfigMapProjection",
            "ConfigMapVolumeSource",
            "LocalObjectReference",
            "SecretEnvSource",
            "SecretKeySelector",
            "SecretProjection",
        )
    },
}
"""`+default` markers of k8s.io/api 0.36 (`core/v1/types.go`): they reach CRDs and the keys of server-side apply."""


def builtin_definitions() -> dict[str, Json]:
    """Definition name -> schema, sorted, for everything reachable from the kinds of `SERVED`.

    Raises KeyError when a default names a field that Kubernetes no longer has.
    """
    published = _published()
    kept = _reachable(published, (name for name, definition in published.items() if _is_served(definition)))
    definitions = {name: _as_openapi_v3(published[name]) for name in sorted(kept)}
    for (name, field), value in DEFAULTS.items():
        definitions[name]["properties"][field]["default"] = value
    definitions["io.k8s.apimachinery.pkg.util.intstr.IntOrString"]["format"] = "int-or-string"
    return definitions


def _published() -> dict[str, Json]:
    folder = Path(kubernetes_validate.__file__).parent / "kubernetes-json-schema" / f"v{KUBERNETES}.0-local"
    definitions: dict[str, Json] = json.loads((folder / "_definitions.json").read_bytes())["$defs"]
    return definitions


def _is_served(definition: Json) -> bool:
    return any(_group_version(gvk) in SERVED for gvk in definition.get("x-kubernetes-group-version-kind", ()))


def _group_version(gvk: Json) -> str:
    return f"{gvk['group']}/{gvk['version']}" if gvk["group"] else gvk["version"]


def _reachable(published: dict[str, Json], roots: Iterable[str]) -> set[str]:
    found: set[str] = set()
    waiting = list(roots)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting.extend(_references(published[name]))
    return found


def _references(node: object) -> Iterable[str]:
    if isinstance(node, dict):
        for key, value in node.items():
            # JSONSchemaProps has a property that is itself named $ref.
            if key == "$ref" and isinstance(value, str):
                yield value.rpartition("/")[2]
            else:
                yield from _references(value)
    elif isinstance(node, list):
        for item in node:
            yield from _references(item)


def _as_openapi_v3(schema: Json) -> Json:
    out: Json = {}
    for key, value in schema.items():
        if key == "type" and isinstance(value, list):
            out["type"] = next(name for name in value if name != "null")
        elif key == "properties":
            out["properties"] = {name: _as_openapi_v3(_without_pinned_value(name, field)) for name, field in value.items()}
        elif key in ("items", "additionalProperties") and isinstance(value, dict):
            out[key] = _as_openapi_v3(value)
        elif key == "oneOf":
            out["oneOf"] = [_as_openapi_v3(branch) for branch in value]
        elif key == "x-kubernetes-group-version-kind":
            out[key] = [gvk for gvk in value if _group_version(gvk) in SERVED]
        else:
            out[key] = value
    if "$ref" in out:
        # OpenAPI 3.0 ignores what stands beside a $ref.
        reference = {"$ref": f"#/components/schemas/{out.pop('$ref').rpartition('/')[2]}"}
        return {"allOf": [reference], **out} if out else reference
    return out


def _without_pinned_value(name: str, field: Json) -> Json:
    """apiVersion and kind of every object are pinned by an enum that the API server's own document does not have."""
    return {key: value for key, value in field.items() if key != "enum"} if name in ("apiVersion", "kind") else field
