"""RBAC: the permissions that the stored roles and bindings give to a user.

Roles and bindings are compiled again when one of them changes. Source: k8s.io/kubernetes 1.36 `plugin/pkg/auth/authorizer/rbac`;
the reasons have the same text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from shunter.api.meta import Json
from shunter.cluster.apiserver.requests import User
from shunter.cluster.apiserver.storage.store import Entry, Store

_GROUP = "rbac.authorization.k8s.io"
_ACCOUNT = "system:serviceaccount"


class Action(NamedTuple):
    """A requested action, on a resource or, with `path`, on a path that is not one."""

    verb: str
    group: str = ""
    plural: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""


class _Grant(NamedTuple):
    """The rules that a binding gives to a subject; an empty namespace means all namespaces."""

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
        """Why the user may do it; empty when no role allows it."""
        for grant in self._all():
            where = grant.namespace
            if where and (where != action.namespace or action.path):
                continue
            if _matches(grant.subject, where, user) and any(allows(rule, action) for rule in grant.rules):
                return grant.reason
        return ""

    def rules(self, user: User, namespace: str) -> list[Json]:
        """Every rule that applies to the user in a namespace; in the whole cluster when it is empty."""
        return [
            rule
            for grant in self._all()
            if grant.namespace in ("", namespace) and _matches(grant.subject, grant.namespace, user)
            for rule in grant.rules
        ]

    def rules_of_role(self, reference: Json, namespace: str) -> tuple[Json, ...] | None:
        """The rules of the role that a `roleRef` names in a binding of this namespace; None where there is no such role."""
        is_cluster_role = reference["kind"] == "ClusterRole"
        roles = self._cluster_roles if is_cluster_role else self._roles
        role = roles.get("" if is_cluster_role else namespace, reference["name"])
        return None if role is None else tuple(role.document().get("rules") or ())

    def _all(self) -> list[_Grant]:
        if self._grants is None:
            self._grants = [*self._grants_of(self._cluster_bindings.entries()), *self._grants_of(self._bindings.entries())]
        return self._grants

    def _grants_of(self, bindings: Iterable[Entry]) -> Iterator[_Grant]:
        for entry in bindings:
            binding = entry.document()
            reference = binding["roleRef"]
            rules = self.rules_of_role(reference, entry.namespace)
            if rules is None:
                continue
            kind = "RoleBinding" if entry.namespace else "ClusterRoleBinding"
            bound = f"{entry.name}/{entry.namespace}" if entry.namespace else entry.name
            for subject in binding.get("subjects") or ():
                where = _namespace(subject, entry.namespace) if subject["kind"] == "ServiceAccount" else ""
                shown = f"{subject['name']}/{where}" if where else subject["name"]
                of = f'{reference["kind"]} "{reference["name"]}" to {subject["kind"]} "{shown}"'
                reason = f'RBAC: allowed by {kind} "{bound}" of {of}'
                yield _Grant(subject, entry.namespace, rules, reason)


def _matches(subject: Json, namespace: str, user: User) -> bool:
    """Whether the subject of a binding in this namespace is the user."""
    match subject["kind"]:
        case "User":
            return bool(subject["name"] == user.name)
        case "Group":
            return subject["name"] in user.groups
        case _:
            where = _namespace(subject, namespace)
            return bool(where) and user.name == f"{_ACCOUNT}:{where}:{subject['name']}"


def _namespace(account: Json, binding: str) -> str:
    """The namespace of a service account: that of the binding, unless the subject names another."""
    return account.get("namespace") or binding


def allows(rule: Json, action: Action) -> bool:
    """Whether a rule of a role allows an action."""
    if not has(rule.get("verbs"), action.verb):
        return False
    if action.path:
        return any(covers_path(pattern, action.path) for pattern in rule.get("nonResourceURLs") or ())
    names = rule.get("resourceNames")
    return (
        has(rule.get("apiGroups"), action.group)
        and _names(rule.get("resources") or (), action)
        and (not names or action.name in names)
    )


def has(allowed: list[str] | None, value: str) -> bool:
    """Whether a rule's list allows a value; `*` stands for everything."""
    return allowed is not None and ("*" in allowed or value in allowed)


def _names(resources: Iterable[str], action: Action) -> bool:
    wanted = {action.plural, "*"}
    if action.subresource:
        wanted = {f"{action.plural}/{action.subresource}", f"*/{action.subresource}", "*"}
    return any(name in wanted for name in resources)


def covers_path(pattern: str, path: str) -> bool:
    """Whether a rule's path covers this one (which may be a pattern itself); `*` at its end matches any rest."""
    return pattern in ("*", path) or (pattern.endswith("*") and path.startswith(pattern.rstrip("*")))
