"""What a fresh cluster holds: its namespaces, the CRDs of the kinds that the operator serves or needs, its version, classes of
priorities and runtimes, and the ClusterRole cluster-admin.

Runs at every start. What is there stays; a packaged CRD replaces an older one of ours.
"""

from __future__ import annotations

import logging
from typing import Any

from shunter.api.meta import Json, rfc3339
from shunter.api.resources import (
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_ROLES,
    CONFIG_MAPS,
    CUSTOM_RESOURCE_DEFINITIONS,
    NAMESPACES,
    PRIORITY_CLASSES,
    ROLE_BINDINGS,
    ROLES,
    RUNTIME_CLASSES,
)
from shunter.api.trainer import public_version
from shunter.cluster.apiserver.admission import runtime_class
from shunter.cluster.apiserver.backend import Backend
from shunter.cluster.apiserver.builtin.scheduling import SYSTEM_CLASSES
from shunter.cluster.apiserver.custom_resources import crd_lifecycle
from shunter.cluster.apiserver.object_meta import new_uid
from shunter.cluster.apiserver.packaged_schemas import packaged_crds
from shunter.cluster.apiserver.storage.store import Collection

log = logging.getLogger(__name__)

_OURS = "app.kubernetes.io/managed-by"
NAMESPACE_NAMES = ("default", "kube-node-lease", "kube-public", "kube-system", public_version.SYSTEM_NAMESPACE)

_ADMIN = "cluster-admin"
_BOOTSTRAPPING = {"kubernetes.io/bootstrapping": "rbac-defaults"}
_CLUSTER_ADMIN: Json = {
    "rules": [
        {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]},
        {"verbs": ["*"], "nonResourceURLs": ["*"]},
    ]
}
_CLUSTER_ADMINS: Json = {
    "subjects": [{"kind": "Group", "apiGroup": CLUSTER_ROLES.group, "name": "system:masters"}],
    "roleRef": {"apiGroup": CLUSTER_ROLES.group, "kind": CLUSTER_ROLES.kind, "name": _ADMIN},
}


async def bootstrap(backend: Backend) -> None:
    """Creates what is missing and returns when it is committed."""
    namespaces = backend.store.collection("", NAMESPACES.plural)
    for name in NAMESPACE_NAMES:
        if namespaces.head("", name) is None:
            await backend.store.write(namespaces, _namespace(backend, name), previous=None, durable=True)
    classes = backend.store.collection(PRIORITY_CLASSES.group, PRIORITY_CLASSES.plural)
    for packaged in SYSTEM_CLASSES:
        if classes.head("", packaged["metadata"]["name"]) is None:
            metadata = _metadata(backend, **packaged["metadata"], generation=1)
            await backend.store.write(classes, _tail({**packaged, "metadata": metadata}), previous=None, durable=True)
    runtime_classes = backend.store.collection(RUNTIME_CLASSES.group, RUNTIME_CLASSES.plural)
    if runtime_classes.head("", runtime_class.PACKAGED["metadata"]["name"]) is None:
        metadata = _metadata(backend, **runtime_class.PACKAGED["metadata"])
        await backend.store.write(runtime_classes, {**runtime_class.PACKAGED, "metadata": metadata}, previous=None, durable=True)
    for resource, content in (
        (CONFIG_MAPS, public_version.CONFIG_MAP),
        (ROLES, public_version.ROLE),
        (ROLE_BINDINGS, public_version.ROLE_BINDING),
    ):
        collection = backend.store.collection(resource.group, resource.plural)
        if collection.head(public_version.SYSTEM_NAMESPACE, public_version.NAME) is None:
            metadata = _metadata(backend, public_version.NAME, namespace=public_version.SYSTEM_NAMESPACE)
            await backend.store.write(collection, {"metadata": metadata, **content}, previous=None, durable=True)
    for resource, content in ((CLUSTER_ROLES, _CLUSTER_ADMIN), (CLUSTER_ROLE_BINDINGS, _CLUSTER_ADMINS)):
        collection = backend.store.collection(resource.group, resource.plural)
        if collection.head("", _ADMIN) is None:
            metadata = _metadata(backend, _ADMIN, labels=_BOOTSTRAPPING)
            await backend.store.write(collection, {"metadata": metadata, **content}, previous=None, durable=True)
    crds = backend.store.collection(CUSTOM_RESOURCE_DEFINITIONS.group, CUSTOM_RESOURCE_DEFINITIONS.plural)
    for packaged in packaged_crds():
        await _install(backend, crds, packaged)


def _tail(document: Json) -> Json:
    """What is stored of an object: kind and apiVersion come from where it lies."""
    return {name: part for name, part in document.items() if name not in ("kind", "apiVersion")}


def _namespace(backend: Backend, name: str) -> Json:
    return {
        "metadata": _metadata(backend, name, labels={"kubernetes.io/metadata.name": name}),
        "spec": {"finalizers": ["kubernetes"]},
        "status": {"phase": "Active"},
    }


def _metadata(backend: Backend, name: str, **rest: Any) -> Json:
    return {"name": name, "uid": new_uid(), "creationTimestamp": rfc3339(backend.now()), **rest}


async def _install(backend: Backend, crds: Collection, packaged: Json) -> None:
    name = packaged["metadata"]["name"]
    entry = crds.head("", name)
    now = backend.now()
    if entry is None:
        labels = {**packaged["metadata"].get("labels", {}), _OURS: "shunter"}
        metadata = _metadata(backend, **{**packaged["metadata"], "labels": labels}, generation=1)
        document = {"metadata": metadata, "spec": packaged["spec"]}
        crd_lifecycle.prepare(document, None, now)
        await backend.store.write(crds, document, previous=None, durable=True)
        return
    if entry.labels.get(_OURS) != "shunter":
        return
    stored = entry.document()
    document = {**stored, "metadata": dict(stored["metadata"]), "spec": packaged["spec"]}
    crd_lifecycle.prepare(document, stored, now)
    if document["spec"] != stored["spec"]:
        document["metadata"]["generation"] = stored["metadata"].get("generation", 0) + 1
        log.info("replacing the CRD of %s with the packaged one", name)
        await backend.store.write(crds, document, previous=entry, durable=True)
