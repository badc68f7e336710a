"""Users grant only permissions that they have, unless they may `escalate` or `bind` the role.

The four kinds of RBAC are checked on every way to write them. Source: k8s.io/kubernetes 1.36 `registry/rbac` (its policybased
storages), k8s.io/component-helpers `auth/rbac/validation`; the messages are the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from shunter.api.meta import Json
from shunter.cluster.apiserver.auth.authz import Authorizer
from shunter.cluster.apiserver.auth.rbac import Action, covers_path, has
from shunter.cluster.apiserver.registry import ServedKind
from shunter.cluster.apiserver.requests import Call
from shunter.cluster.apiserver.status import StatusError, bad_request, forbidden, not_found, quoted

_EVERYTHING: tuple[Json, ...] = (
    {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]},
    {"verbs": ["*"], "nonResourceURLs": ["*"]},
)
_COLLECTED = ("ownerReferences", "finalizers", "managedFields", "selfLink")
"""Metadata that the garbage collector writes, which grants nothing."""


def check(authorizer: Authorizer, call: Call, served: ServedKind, document: Json, old: Json | None) -> None:
    """Raises 403 when the write grants permissions that its user lacks, by the rules of a role or by a binding, and 404 for a
    binding to a role that does not exist."""
    granted = served.kind.grants
    if not granted or call.user.is_admin or (old is not None and _only_collects(document, old)):
        return
    if granted == "rules":
        _check_rules(authorizer, call, served, document, old)
    else:
        _check_role(authorizer, call, served, document)


def _check_rules(authorizer: Authorizer, call: Call, served: ServedKind, role: Json, old: Json | None) -> None:
    target = call.target
    escalate = Action("escalate", target.group, target.plural, "", target.namespace, target.name)
    if authorizer.decision(call.user, escalate).allowed:
        return
    held = authorizer.rbac.rules(call.user, target.namespace)
    missing = uncovered(held, role.get("rules") or ())
    if missing:
        raise _not_held(call, served, role, missing)
    if (_aggregates(role) or _aggregates(old)) and uncovered(held, _EVERYTHING):
        why = "must have cluster-admin privileges to use the aggregationRule"
        raise forbidden(served.resource, role["metadata"].get("name", ""), why)


def _check_role(authorizer: Authorizer, call: Call, served: ServedKind, binding: Json) -> None:
    namespace, reference = call.target.namespace, binding["roleRef"]
    plural = {"Role": "roles", "ClusterRole": "clusterroles"}.get(reference.get("kind", ""))
    if plural is None:
        return  # No role is of this kind: validation refuses it.
    name = reference.get("name", "")
    if authorizer.decision(call.user, Action("bind", reference["apiGroup"], plural, "", namespace, name)).allowed:
        return
    if plural == "roles" and not namespace:
        raise bad_request("Namespace parameter required.")
    rules = authorizer.rbac.rules_of_role(reference, namespace)
    if rules is None:
        raise not_found(served.resource, name)
    missing = uncovered(authorizer.rbac.rules(call.user, namespace), rules)
    if missing:
        raise _not_held(call, served, binding, missing)


def _aggregates(role: Json | None) -> bool:
    return bool(((role or {}).get("aggregationRule") or {}).get("clusterRoleSelectors"))


def _only_collects(document: Json, old: Json) -> bool:
    def rest(one: Json) -> Json:
        return {**one, "metadata": {name: part for name, part in one["metadata"].items() if name not in _COLLECTED}}

    return rest(document) == rest(old)


def uncovered(held: Iterable[Json], granted: Iterable[Json]) -> list[Json]:
    """What `granted` allows and `held` does not, split into rules of one verb and one resource or path. Pure."""
    owned = list(held)
    return [part for rule in granted for part in _parts(rule) if not any(_covers(one, part) for one in owned)]


def _parts(rule: Json) -> Iterator[Json]:
    names = [[name] for name in rule.get("resourceNames") or ()] or [[]]
    for group in rule.get("apiGroups") or ():
        for resource in rule.get("resources") or ():
            for verb in rule.get("verbs") or ():
                for name in names:
                    yield {"apiGroups": [group], "resources": [resource], "resourceNames": name, "verbs": [verb]}
    for path in rule.get("nonResourceURLs") or ():
        for verb in rule.get("verbs") or ():
            yield {"nonResourceURLs": [path], "verbs": [verb]}


def _covers(rule: Json, part: Json) -> bool:
    (verb,) = part["verbs"]
    if not has(rule.get("verbs"), verb):
        return False
    if "nonResourceURLs" in part:
        (path,) = part["nonResourceURLs"]
        return any(covers_path(pattern, path) for pattern in rule.get("nonResourceURLs") or ())
    (group,), (resource,), names = part["apiGroups"], part["resources"], part["resourceNames"]
    owned_names = rule.get("resourceNames") or ()
    return (
        has(rule.get("apiGroups"), group)
        and _covers_resource(rule.get("resources") or (), resource)
        and (not owned_names or (bool(names) and names[0] in owned_names))
    )


def _covers_resource(owned: Sequence[str], resource: str) -> bool:
    _, slash, subresource = resource.partition("/")
    return "*" in owned or resource in owned or (bool(slash) and f"*/{subresource}" in owned)


def _not_held(call: Call, served: ServedKind, document: Json, missing: Iterable[Json]) -> StatusError:
    lines = "\n".join(sorted({_shown(rule) for rule in _compacted(missing)}))
    who = f'user "{call.user.name}" (groups={quoted(call.user.groups)})'
    why = f"{who} is attempting to grant RBAC permissions not currently held:\n{lines}"
    return forbidden(served.resource, document["metadata"].get("name", ""), why)


def _compacted(missing: Iterable[Json]) -> list[Json]:
    """Merges rules that differ only in their verb."""
    compact: dict[str, Json] = {}
    for part in missing:
        if "nonResourceURLs" in part:
            compact[repr(part)] = part
        else:
            about = compact.setdefault(repr({**part, "verbs": ""}), {**part, "verbs": []})
            about["verbs"] = [*about["verbs"], *part["verbs"]]
    return list(compact.values())


_SHOWN = {
    "apiGroups": "APIGroups",
    "resources": "Resources",
    "nonResourceURLs": "NonResourceURLs",
    "resourceNames": "ResourceNames",
    "verbs": "Verbs",
}


def _shown(rule: Json) -> str:
    return "{" + ", ".join(f"{name}:{quoted(rule[field])}" for field, name in _SHOWN.items() if rule.get(field)) + "}"
