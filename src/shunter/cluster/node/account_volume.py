"""The token of a pod's service account, where Kubernetes puts it: for pods that name an account. Pure.

kube-apiserver's admission plugin ServiceAccount adds this volume to every pod; the embedded API server has no such plugin, as
hardly any training pod calls the API server. Who names an account means to.
"""

from __future__ import annotations

import msgspec

from shunter.api.meta import Json
from shunter.cluster.node.assigned_pod import AssignedPod

PATH = "/var/run/secrets/kubernetes.io/serviceaccount"
VOLUME = "kube-api-access"
ROOT_CA = "kube-root-ca.crt"
_TOKEN_SECONDS = 3607
"""As the admission plugin asks: tokens of this life are known to be replaced in time."""


def with_account(pod: AssignedPod) -> AssignedPod:
    """The pod with the volume and its mounts; as it is when it names no account, wants no token or has one already."""
    spec = pod.spec
    containers = [*(spec.get("initContainers") or ()), *spec["containers"]]
    mounted = {mount["mountPath"].rstrip("/") for container in containers for mount in container.get("volumeMounts") or ()}
    is_named = spec.get("serviceAccountName", "") not in ("", "default")
    if not is_named or spec.get("automountServiceAccountToken") is False or PATH in mounted:
        return pod
    mounts = {field: [_with_mount(container) for container in spec[field]] for field in _CONTAINERS if spec.get(field)}
    return msgspec.structs.replace(pod, spec={**spec, **mounts, "volumes": [*(spec.get("volumes") or ()), _volume()]})


_CONTAINERS = ("initContainers", "containers")


def _with_mount(container: Json) -> Json:
    mount = {"name": VOLUME, "mountPath": PATH, "readOnly": True}
    return {**container, "volumeMounts": [*(container.get("volumeMounts") or ()), mount]}


def _volume() -> Json:
    namespace = {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}
    sources: list[Json] = [
        {"serviceAccountToken": {"path": "token", "expirationSeconds": _TOKEN_SECONDS}},
        {"configMap": {"name": ROOT_CA, "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {"downwardAPI": {"items": [namespace]}},
    ]
    return {"name": VOLUME, "projected": {"sources": sources}}
