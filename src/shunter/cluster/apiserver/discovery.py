"""What is served here, as clients discover it: the aggregated documents of kubectl and client-go, and the legacy lists of others.

Source: k8s.io/api `apidiscovery/v2`, `metav1.APIResourceList`. Documents are rebuilt when the registry changes, and come with an
ETag.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from shunter.api.meta import Json
from shunter.cluster.apiserver.registry import Registry, ServedKind

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
_CUSTOM_VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
_CHANGE = ("get", "patch", "update")

_GROUPS = (
    "",
    "apps",
    "events.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "autoscaling",
    "batch",
    "certificates.k8s.io",
    "networking.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "storage.k8s.io",
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "scheduling.k8s.io",
    "coordination.k8s.io",
    "node.k8s.io",
    "discovery.k8s.io",
)
"""The order in which a short name is looked up; custom groups follow by name."""


class Subresource(NamedTuple):
    """A subresource as discovery names it."""

    name: str
    kind: str
    verbs: tuple[str, ...]
    group: str = ""
    version: str = ""


class Virtual(NamedTuple):
    """A resource that is only asked, never stored."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = False
    verbs: tuple[str, ...] = ("create",)


VIRTUAL = (
    Virtual("", "v1", "bindings", "Binding", True),
    Virtual("authentication.k8s.io", "v1", "selfsubjectreviews", "SelfSubjectReview"),
    Virtual("authentication.k8s.io", "v1", "tokenreviews", "TokenReview"),
    Virtual("authorization.k8s.io", "v1", "localsubjectaccessreviews", "LocalSubjectAccessReview", True),
    Virtual("authorization.k8s.io", "v1", "selfsubjectaccessreviews", "SelfSubjectAccessReview"),
    Virtual("authorization.k8s.io", "v1", "selfsubjectrulesreviews", "SelfSubjectRulesReview"),
    Virtual("authorization.k8s.io", "v1", "subjectaccessreviews", "SubjectAccessReview"),
)

METRICS = (
    Virtual("metrics.k8s.io", "v1beta1", "nodes", "NodeMetrics", verbs=("get", "list")),
    Virtual("metrics.k8s.io", "v1beta1", "pods", "PodMetrics", True, verbs=("get", "list")),
)
"""What nodes measure; see resource_metrics.py."""

_UNSTORED = (*VIRTUAL, *METRICS)

_OWN_SUBRESOURCES = {
    ("", "namespaces"): (Subresource("finalize", "Namespace", ("update",)),),
    ("", "pods"): (
        Subresource("ephemeralcontainers", "Pod", ("get", "patch", "update")),
        Subresource("attach", "PodAttachOptions", ("create", "get")),
        Subresource("exec", "PodExecOptions", ("create", "get")),
        Subresource("portforward", "PodPortForwardOptions", ("create", "get")),
        Subresource("binding", "Binding", ("create",)),
        Subresource("eviction", "Eviction", ("create",), "policy", "v1"),
        Subresource("log", "Pod", ("get",)),
    ),
    ("certificates.k8s.io", "certificatesigningrequests"): (
        Subresource("approval", "CertificateSigningRequest", ("get", "patch", "update")),
    ),
    ("", "serviceaccounts"): (Subresource("token", "TokenRequest", ("create",), "authentication.k8s.io", "v1"),),
}


def subresources(served: ServedKind) -> Iterator[Subresource]:
    """The subresources of a kind, by name."""
    kind = served.kind
    found = list(_OWN_SUBRESOURCES.get((kind.resource.group, kind.resource.plural), ()))
    if kind.scale is not None:
        found.append(Subresource("scale", "Scale", _CHANGE, "autoscaling", "v1"))
    if kind.has_status:
        found.append(Subresource("status", kind.resource.kind, _CHANGE))
    yield from found[::-1] if served.custom else sorted(found)


def verbs(served: ServedKind) -> Sequence[str]:
    """The verbs of the resource itself: sorted (apiserver's `endpoints/installer.go`), of custom kinds in the order of
    apiextensions' `customresource_discovery_controller.go`. Namespaces have no `deletecollection`."""
    if served.key == ("", "namespaces"):
        return [verb for verb in _VERBS if verb != "deletecollection"]
    return _CUSTOM_VERBS if served.custom else _VERBS


class Document(NamedTuple):
    """A document and its ETag."""

    body: bytes
    etag: str


def _document(content: Json) -> Document:
    body = msgspec.json.encode(content)
    return Document(body, f'"{hashlib.sha256(body).hexdigest().upper()}"')


class Discovery:
    """Discovery documents of a registry, built on demand and kept until it changes."""

    @staticmethod
    def is_builtin(group: str) -> bool:
        """Whether it is one of Kubernetes' own groups, in which paths of nothing are answered otherwise than in custom ones."""
        return group in _GROUPS

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._edition = -1
        self._documents: dict[tuple[str, ...], Document] = {}

    def _cached(self, key: tuple[str, ...]) -> Document | None:
        if self._edition != self._registry.edition:
            self._edition = self._registry.edition
            self._documents.clear()
        return self._documents.get(key)

    def aggregated(self, *, core: bool) -> Document:
        """APIGroupDiscoveryList of /api (`core`) or /apis."""
        key = ("aggregated", str(core))
        document = self._cached(key)
        if document is None:
            document = self._documents[key] = _document(self._aggregated(core))
        return document

    def _aggregated(self, core: bool) -> Json:
        items = []
        for group in self._groups():
            if (group == "") is not core:
                continue
            versions = [
                {"version": version, "resources": list(self._entries(group, version)), "freshness": "Current"}
                for version in self._versions(group)
            ]
            items.append({"metadata": {"name": group} if group else {}, "versions": versions})
        return {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items}

    def _entries(self, group: str, version: str) -> Iterator[Json]:
        for served in self._of(group, version):
            kind, resource = served.kind, served.resource
            entry: Json = {
                "resource": resource.plural,
                "responseKind": {"group": "", "version": "", "kind": resource.kind},
                "scope": "Namespaced" if resource.namespaced else "Cluster",
                "singularResource": kind.singular or resource.kind.lower(),
                "verbs": list(verbs(served)),
            }
            if served.custom:
                entry["responseKind"] = {"group": group, "version": version, "kind": resource.kind}
            if kind.short_names:
                entry["shortNames"] = list(kind.short_names)
            if kind.categories:
                entry["categories"] = list(kind.categories)
            below = [
                {
                    "subresource": sub.name,
                    "responseKind": self._response_kind(served, sub),
                    "verbs": list(sub.verbs),
                }
                for sub in subresources(served)
            ]
            if below:
                entry["subresources"] = below
            yield entry
        for virtual in _UNSTORED:
            if (virtual.group, virtual.version) == (group, version):
                yield {
                    "resource": virtual.plural,
                    "responseKind": {"group": "", "version": "", "kind": virtual.kind},
                    "scope": "Namespaced" if virtual.namespaced else "Cluster",
                    "singularResource": _singular(virtual),
                    "verbs": list(virtual.verbs),
                }

    @staticmethod
    def _response_kind(served: ServedKind, sub: Subresource) -> Json:
        resource = served.resource
        if served.custom and sub.name == "status":
            return {"group": resource.group, "version": resource.version, "kind": sub.kind}
        return {"group": sub.group, "version": sub.version, "kind": sub.kind}

    def group_list(self) -> Document:
        """APIGroupList of /apis."""
        document = self._cached(("groups",))
        if document is None:
            groups = [self._group(group) for group in self._groups() if group]
            content = {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}
            document = self._documents["groups",] = _document(content)
        return document

    def group(self, group: str) -> Document | None:
        """APIGroup of /apis/GROUP; None when there is no such group."""
        if not group or group not in self._groups():
            return None
        return _document({"kind": "APIGroup", "apiVersion": "v1", **self._group(group)})

    def _group(self, group: str) -> Json:
        versions = [{"groupVersion": f"{group}/{version}", "version": version} for version in self._versions(group)]
        return {"name": group, "versions": versions, "preferredVersion": versions[0]}

    def resources(self, group: str, version: str) -> Document | None:
        """APIResourceList of a group version; None when it is not served."""
        document = self._cached(("resources", group, version))
        if document is None:
            if version not in self._versions(group):
                return None
            content = {
                "kind": "APIResourceList",
                "apiVersion": "v1",
                "groupVersion": f"{group}/{version}" if group else version,
                "resources": sorted(self._legacy(group, version), key=lambda entry: str(entry["name"]).partition("/")[0]),
            }
            if not group:
                del content["apiVersion"]
            document = self._documents["resources", group, version] = _document(content)
        return document

    def _legacy(self, group: str, version: str) -> Iterator[Json]:
        for served in self._of(group, version):
            kind, resource = served.kind, served.resource
            entry: Json = {
                "name": resource.plural,
                "singularName": kind.singular or resource.kind.lower(),
                "namespaced": resource.namespaced,
                "kind": resource.kind,
                "verbs": list(verbs(served)),
            }
            if kind.short_names:
                entry["shortNames"] = list(kind.short_names)
            if kind.categories:
                entry["categories"] = list(kind.categories)
            kind_digest = hashlib.sha256(f"{served.key[0]}/{version}/{resource.kind}".encode()).digest()
            entry["storageVersionHash"] = base64.b64encode(kind_digest[:8]).decode()
            yield entry
            for sub in subresources(served):
                below: Json = {"name": f"{resource.plural}/{sub.name}", "singularName": "", "namespaced": resource.namespaced}
                if sub.group:
                    below["group"], below["version"] = sub.group, sub.version
                yield {**below, "kind": sub.kind, "verbs": list(sub.verbs)}
        for virtual in _UNSTORED:
            if (virtual.group, virtual.version) == (group, version):
                yield {
                    "name": virtual.plural,
                    "singularName": _singular(virtual),
                    "namespaced": virtual.namespaced,
                    "kind": virtual.kind,
                    "verbs": list(virtual.verbs),
                }

    def _of(self, group: str, version: str) -> list[ServedKind]:
        found = [s for s in self._registry.all() if (s.resource.group, s.resource.version) == (group, version)]
        return sorted(found, key=lambda served: served.resource.plural)

    def _groups(self) -> list[str]:
        present = {s.resource.group for s in self._registry.all()} | {virtual.group for virtual in _UNSTORED}
        known = [group for group in _GROUPS if group in present]
        return known + sorted(present.difference(known))

    def _versions(self, group: str) -> list[str]:
        """The versions of a group, the preferred one first: as CRDs rank them, GA before beta before alpha, higher first."""
        found = {s.resource.version for s in self._registry.all() if s.resource.group == group}
        found |= {virtual.version for virtual in _UNSTORED if virtual.group == group}
        return sorted(found, key=_rank, reverse=True)


def _singular(virtual: Virtual) -> str:
    """metrics-server gives none."""
    return "" if virtual in METRICS else virtual.kind.lower()


def _rank(version: str) -> tuple[int, int, int, str]:
    """Source: apimachinery `version.CompareKubeAwareVersionStrings`."""
    for stage, word in ((2, "beta"), (1, "alpha")):
        major, found, minor = version[1:].partition(word)
        if found and major.isdigit() and minor.isdigit():
            return (stage, int(major), int(minor), "")
    return (3, int(version[1:]), 0, "") if version[1:].isdigit() else (0, 0, 0, version)
