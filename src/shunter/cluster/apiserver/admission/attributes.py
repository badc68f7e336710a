"""One write as admission sees it, which rules are about it, and the AdmissionRequest that describes it."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

from shunter.api.meta import Json
from shunter.api.resources import Resource
from shunter.cluster.apiserver.requests import User

Operation = Literal["CREATE", "UPDATE", "DELETE", "CONNECT"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Attributes:
    """One write as admission sees it."""

    operation: Operation
    resource: Resource
    options: Json
    """The CreateOptions, UpdateOptions or DeleteOptions as they were sent."""
    subresource: str
    namespace: str
    name: str
    old: Json | None
    user: User
    dry_run: bool
    warn: Callable[[str], None]
    kind: Resource | None = None
    """The kind of the objects, where it is not the kind of the resource."""
    view: Callable[[Json], Json] = lambda document: document
    """Converts a document of the resource to that kind."""

    def labels(self, document: Json | None) -> list[Json]:
        """The labels of the new and of the old object, if they exist: object selectors match either. A Scale has none."""
        shown = [self.view(version) for version in (document, self.old) if version is not None]
        return [(version.get("metadata") or {}).get("labels") or {} for version in shown]


class Rule(NamedTuple):
    """`RuleWithOperations`; `*` stands for everything."""

    operations: frozenset[str]
    groups: frozenset[str]
    versions: frozenset[str]
    resources: frozenset[str]
    scope: str

    def matches(self, attributes: Attributes) -> bool:
        """Whether all parts of the rule hold for the write. `pods` and `*` do not include subresources; `pods/status`, `pods/*`,
        `*/status` and `*/*` name those, and only `*/*` of them also names the resources themselves."""
        resource, subresource = attributes.resource, attributes.subresource
        return (
            _has(self.operations, attributes.operation)
            and _has(self.groups, resource.group)
            and _has(self.versions, resource.version)
            and (self.scope in ("*", "Namespaced" if resource.namespaced else "Cluster"))
            and _names(self.resources, resource.plural, subresource)
        )


def _has(allowed: frozenset[str], value: str) -> bool:
    return "*" in allowed or value in allowed


def _names(resources: frozenset[str], plural: str, subresource: str) -> bool:
    everything = (plural, "*", "*/*")
    wanted = (f"{plural}/{subresource}", f"{plural}/*", f"*/{subresource}", "*/*") if subresource else everything
    return any(name in resources for name in wanted)


def rule_of(rule: Json) -> Rule:
    """From the JSON of a rule. A missing list matches nothing; a missing scope is `*`."""
    return Rule(
        operations=frozenset(rule.get("operations") or ()),
        groups=frozenset(rule.get("apiGroups") or ()),
        versions=frozenset(rule.get("apiVersions") or ()),
        resources=frozenset(rule.get("resources") or ()),
        scope=rule.get("scope") or "*",
    )


def review(attributes: Attributes, document: Json | None) -> Json:
    """The AdmissionReview that asks about a write."""
    resource = attributes.resource
    of = attributes.kind or resource
    kind = {"group": of.group, "version": of.version, "kind": of.kind}
    plural = {"group": resource.group, "version": resource.version, "resource": resource.plural}
    request: Json = {
        "uid": str(uuid.uuid4()),
        "kind": kind,
        "resource": plural,
        "requestKind": kind,
        "requestResource": plural,
        "operation": attributes.operation,
        "userInfo": {"username": attributes.user.name, "groups": list(attributes.user.groups)},
        "object": None if document is None else attributes.view(document),
        "oldObject": None if attributes.old is None else attributes.view(attributes.old),
        "dryRun": attributes.dry_run,
        "options": {"kind": f"{attributes.operation.title()}Options", "apiVersion": "meta.k8s.io/v1", **attributes.options},
    }
    if attributes.name:
        request["name"] = attributes.name
    if attributes.namespace:
        request["namespace"] = attributes.namespace
    if attributes.subresource:
        request["subResource"] = request["requestSubResource"] = attributes.subresource
    return {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request}
