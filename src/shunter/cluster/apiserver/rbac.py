"""Role-based access: what the roles allow that are bound to a user, worked out from the stored objects.

Roles and bindings are compiled again when one of them changes. Source: k8s.io/kubernetes 1.36 `plugin/pkg/auth/authorizer/rbac`;
the reasons are its words.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from shunter.api.meta import Json
from shunter.cluster.apiserver.requests import User
from shunter.cluster.apiserver.storage import Entry, Store

_GROUP = "rbac.authorization.k8s.io"
_ACCOUNT = "system:serviceaccount"


class Action(NamedTuple):
    """What somebody wants to do. `path` is for what is no resource."""

    verb: str
    group: str = ""
    plural: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""


class _Grant(NamedTuple):
    """A rule as it is bound; an empty namespace means everywhere."""

    subject: Json
    namespace: str
    rules: tuple[Json, ...]
    reason: str


class Rbac:
    """The roles and bindings of a store."""

    def __init__(self, store: Store) -> None:
        self._roles = store.collection(_GROUP, "roles")
        self._cluster_roles = store.collection(_GROUP, "clusterroles")
        self._bindings = store.collection(_GROUP, "rolebindings")
        self._cluster_bindings = store.collection(_GROUP, "clusterrolebindings")
        self._grants: list[_Grant] | None = None
        for collection in (self._roles, self._cluster_roles, self._bindings, self._cluster_bindings):
            collection.listeners.add(self._changed)

    def _changed(self, events: Iterable[object]) -> None:
        self._grants = None

    def reason(self, user: User, action: Action) -> str:
        """Why the user may do it; nothing when no role allows it."""
        for grant in self._all():
            where = grant.namespace
            if where and (where != action.namespace or action.path):
                continue
            if _is(grant.subject, user) and any(_allows(rule, action) for rule in grant.rules):
                return grant.reason
        return ""

    def rules(self, user: User, namespace: str) -> list[Json]:
        """Every rule that holds for the user in a namespace."""
        return [
            rule
            for grant in self._all()
            if grant.namespace in ("", namespace) and _is(grant.subject, user)
            for rule in grant.rules
        ]

    def _all(self) -> list[_Grant]:
        if self._grants is None:
            self._grants = [*self._grants_of(self._cluster_bindings.entries()), *self._grants_of(self._bindings.entries())]
        return self._grants

    def _grants_of(self, bindings: Iterable[Entry]) -> Iterator[_Grant]:
        for entry in bindings:
            binding = entry.document()
            reference = binding["roleRef"]
            roles = self._cluster_roles if reference["kind"] == "ClusterRole" else self._roles
            role = roles.get("" if roles is self._cluster_roles else entry.namespace, reference["name"])
            if role is None:
                continue
            kind = "RoleBinding" if entry.namespace else "ClusterRoleBinding"
            bound = f"{entry.name}/{entry.namespace}" if entry.namespace else entry.name
            rules = tuple(role.document().get("rules") or ())
            for subject in binding.get("subjects") or ():
                shown = f"{subject['name']}/{subject['namespace']}" if subject.get("namespace") else subject["name"]
                of = f'{reference["kind"]} "{reference["name"]}" to {subject["kind"]} "{shown}"'
                reason = f'RBAC: allowed by {kind} "{bound}" of {of}'
                yield _Grant(subject, entry.namespace, rules, reason)


def _is(subject: Json, user: User) -> bool:
    match subject["kind"]:
        case "User":
            return bool(subject["name"] in (user.name, "*"))
        case "Group":
            return subject["name"] in user.groups
        case _:
            return user.name == f"{_ACCOUNT}:{subject.get('namespace', '')}:{subject['name']}"


def _allows(rule: Json, action: Action) -> bool:
    if not _has(rule.get("verbs"), action.verb):
        return False
    if action.path:
        return any(_covers(pattern, action.path) for pattern in rule.get("nonResourceURLs") or ())
    names = rule.get("resourceNames")
    return (
        _has(rule.get("apiGroups"), action.group)
        and _names(rule.get("resources") or (), action)
        and (not names or action.name in names)
    )


def _has(allowed: list[str] | None, value: str) -> bool:
    return allowed is not None and ("*" in allowed or value in allowed)


def _names(resources: Iterable[str], action: Action) -> bool:
    wanted = {action.plural, "*"}
    if action.subresource:
        wanted = {f"{action.plural}/{action.subresource}", f"*/{action.subresource}", "*"}
    return any(name in wanted for name in resources)


def _covers(pattern: str, path: str) -> bool:
    return pattern in ("*", path) or (pattern.endswith("*") and path.startswith(pattern.rstrip("*")))
