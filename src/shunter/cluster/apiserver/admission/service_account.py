"""What the service account of a pod adds to it: the account's name, its token as a volume, its image pull secrets.

Source: k8s.io/kubernetes 1.36 `plugin/pkg/admission/serviceaccount`. Clients in pods (client-go, the `kubernetes` package, JAX
by means of that) take KUBERNETES_SERVICE_HOST for a promise that the token is there, too. Left out: the deprecated annotation
`kubernetes.io/enforce-mountable-secrets`, and mirror pods, which only a kubelet makes.
"""

from __future__ import annotations

import asyncio

from shunter.api.meta import Json
from shunter.api.resources import PODS, SERVICE_ACCOUNTS
from shunter.cluster.apiserver.backend import Backend
from shunter.cluster.apiserver.object_meta import generated_name
from shunter.cluster.apiserver.registry import ServedKind
from shunter.cluster.apiserver.status import forbidden

NAME = "ServiceAccount"
"""The plugin's name in `--disable-admission-plugins`."""
DEFAULT_ACCOUNT = "default"
MOUNT_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"
ROOT_CA = "kube-root-ca.crt"
_VOLUME_PREFIX = "kube-api-access-"
_TOKEN_SECONDS = 3607
"""Not a whole hour: real API servers know by it the tokens that clients are known to read again in time."""
_CREATION_SECONDS = 10.0
"""How long a pod of a new namespace waits for the account that the controller makes there. The original waits up to two seconds,
which is too short on a laptop that is busy with training."""


async def admit(backend: Backend, served: ServedKind, pod: Json) -> None:
    """Changes a pod before it is created. Raises 403 when its service account does not exist."""
    if served.resource != PODS:
        return
    spec, metadata = pod["spec"], pod["metadata"]
    name = spec.get("serviceAccountName") or DEFAULT_ACCOUNT
    account = await _account(backend, metadata["namespace"], name)
    if account is None:
        shown = metadata.get("generateName") or metadata.get("name", "")
        why = f'error looking up service account {metadata["namespace"]}/{name}: serviceaccount "{name}" not found'
        raise forbidden(PODS, shown, why)
    spec["serviceAccountName"] = spec["serviceAccount"] = name
    if _wants_token(spec, account):
        mount_token(spec)
    if not spec.get("imagePullSecrets") and account.get("imagePullSecrets"):
        spec["imagePullSecrets"] = [{"name": secret.get("name", "")} for secret in account["imagePullSecrets"]]


async def _account(backend: Backend, namespace: str, name: str) -> Json | None:
    """The account; that of a new namespace is waited for."""
    found = backend.objects.get(SERVICE_ACCOUNTS, namespace, name)
    if found is not None or name != DEFAULT_ACCOUNT:
        return found
    collection = backend.store.collection(SERVICE_ACCOUNTS.group, SERVICE_ACCOUNTS.plural)
    changed = asyncio.Event()

    def notice(events: object) -> None:
        changed.set()

    collection.listeners.add(notice)
    try:
        async with asyncio.timeout(_CREATION_SECONDS):
            while found is None:
                await changed.wait()
                changed.clear()
                found = backend.objects.get(SERVICE_ACCOUNTS, namespace, name)
    except TimeoutError:
        return None
    finally:
        collection.listeners.discard(notice)
    return found


def _wants_token(spec: Json, account: Json) -> bool:
    """The pod's word counts before the account's."""
    for said in (spec, account):
        if said.get("automountServiceAccountToken") is not None:
            return bool(said["automountServiceAccountToken"])
    return True


def mount_token(spec: Json) -> None:
    """Mounts the token in every container that has nothing at its place; a volume that is there already is used."""
    volumes = [volume["name"] for volume in spec.get("volumes") or ()]
    existing = next((name for name in volumes if name.startswith(_VOLUME_PREFIX)), "")
    name = existing or generated_name(_VOLUME_PREFIX)
    lacking = [
        container
        for container in (*(spec.get("initContainers") or ()), *spec["containers"])
        if all(mount["mountPath"] != MOUNT_PATH for mount in container.get("volumeMounts") or ())
    ]
    for container in lacking:
        mount = {"name": name, "readOnly": True, "mountPath": MOUNT_PATH}
        container["volumeMounts"] = [*(container.get("volumeMounts") or ()), mount]
    if lacking and not existing:
        spec["volumes"] = [*(spec.get("volumes") or ()), {"name": name, "projected": _token_source()}]


def _token_source() -> Json:
    namespace = {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}
    return {
        "sources": [
            {"serviceAccountToken": {"expirationSeconds": _TOKEN_SECONDS, "path": "token"}},
            {"configMap": {"name": ROOT_CA, "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
            {"downwardAPI": {"items": [namespace]}},
        ],
        "defaultMode": 0o644,
    }
