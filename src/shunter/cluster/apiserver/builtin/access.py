"""RBAC: roles and who has them.

Source: k8s.io/kubernetes 1.36 `apis/rbac/v1` defaults, `apis/rbac/validation`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shunter.api.field_errors import FieldError, invalid, not_supported, required
from shunter.api.meta import Json
from shunter.api.names import path_segment_faults, subdomain_faults
from shunter.api.resources import Resource
from shunter.cluster.apiserver.builtin.typed import typed
from shunter.cluster.apiserver.field_rules import selector_errors, unsupported
from shunter.cluster.apiserver.kinds import Kind

_GROUP = "rbac.authorization.k8s.io"


def kinds() -> list[Kind]:
    """Role, ClusterRole, RoleBinding, ClusterRoleBinding. Their names need only be segments of a path (`system:node` is one), and
    a PUT creates what is not there."""
    return [
        _role("Role", "roles", namespaced=True, validate=_role_errors),
        _role("ClusterRole", "clusterroles", namespaced=False, validate=_cluster_role_errors),
        _binding("RoleBinding", "rolebindings", namespaced=True),
        _binding("ClusterRoleBinding", "clusterrolebindings", namespaced=False),
    ]


def _role(kind: str, plural: str, *, namespaced: bool, validate: Callable[[Json, Json | None], list[FieldError]]) -> Kind:
    rest = {"default": _default_role, "prepare": _prepare_role, "validate": validate}
    return _kind(kind, plural, namespaced=namespaced, grants="rules", **rest)


def _binding(kind: str, plural: str, *, namespaced: bool) -> Kind:
    return _kind(kind, plural, namespaced=namespaced, grants="role", default=_default_binding, validate=_binding_errors)


def _kind(kind: str, plural: str, *, namespaced: bool, **rest: Any) -> Kind:
    resource = Resource(_GROUP, "v1", kind, plural, namespaced)
    return typed(resource, name_faults=path_segment_faults, tracks_generation=False, created_by_update=True, **rest)


def _default_role(role: Json) -> None:
    role.setdefault("rules", None)


def _prepare_role(role: Json, old: Json | None) -> None:
    """No rules are stored as null, as Go does."""
    role["rules"] = role["rules"] or None


def _default_binding(binding: Json) -> None:
    binding["roleRef"]["apiGroup"] = binding["roleRef"].get("apiGroup") or _GROUP
    for subject in binding.get("subjects", ()):
        if subject.get("kind") in ("User", "Group"):
            subject.setdefault("apiGroup", _GROUP)


def _role_errors(role: Json, old: Json | None) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, rule in enumerate(role.get("rules") or ()):
        here = f"rules[{index}]"
        if not rule.get("verbs"):
            errors.append(required(f"{here}.verbs", "verbs must contain at least one value"))
        paths = rule.get("nonResourceURLs")
        if paths:
            if role["kind"] == "Role":
                errors.append(invalid(f"{here}.nonResourceURLs", paths, "namespaced rules cannot apply to non-resource URLs"))
            if rule.get("apiGroups") or rule.get("resources") or rule.get("resourceNames"):
                detail = "rules cannot apply to both regular resources and non-resource URLs"
                errors.append(invalid(f"{here}.nonResourceURLs", paths, detail))
            continue
        if not rule.get("apiGroups"):
            errors.append(required(f"{here}.apiGroups", "resource rules must supply at least one api group"))
        if not rule.get("resources"):
            errors.append(required(f"{here}.resources", "resource rules must supply at least one resource"))
    return errors


def _cluster_role_errors(role: Json, old: Json | None) -> list[FieldError]:
    errors = _role_errors(role, old)
    aggregation = role.get("aggregationRule")
    if aggregation is not None and not aggregation.get("clusterRoleSelectors"):
        detail = "at least one clusterRoleSelector required if aggregationRule is non-nil"
        errors.append(required("aggregationRule.clusterRoleSelectors", detail))
    for index, selector in enumerate((aggregation or {}).get("clusterRoleSelectors") or ()):
        here = f"aggregationRule.clusterRoleSelectors[{index}]"
        found = selector_errors(selector, here)
        errors += [*found, invalid(here, None, "invalid label selector.")] if found else []
    return errors


def _binding_errors(binding: Json, old: Json | None) -> list[FieldError]:
    errors: list[FieldError] = []
    reference = binding["roleRef"]
    if old is not None and reference != old["roleRef"]:
        errors.append(invalid("roleRef", reference, "cannot change roleRef"))
    if reference["apiGroup"] != _GROUP:
        errors.append(not_supported("roleRef.apiGroup", reference["apiGroup"], [_GROUP]))
    supported = ["Role", "ClusterRole"] if binding["kind"] == "RoleBinding" else ["ClusterRole"]
    if reference.get("kind", "") not in supported:
        errors.append(unsupported("roleRef.kind", reference.get("kind", ""), supported))
    name = reference.get("name", "")
    if not name:
        errors.append(required("roleRef.name"))
    errors += [invalid("roleRef.name", name, fault) for fault in (path_segment_faults(name) if name else ())]
    for index, subject in enumerate(binding.get("subjects", ())):
        errors += _subject_errors(subject, f"subjects[{index}]", namespaced=binding["kind"] == "RoleBinding")
    return errors


def _subject_errors(subject: Json, here: str, *, namespaced: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    kind, name, group = subject.get("kind", ""), subject.get("name", ""), subject.get("apiGroup", "")
    if not name:
        errors.append(required(f"{here}.name"))
    if kind not in ("ServiceAccount", "User", "Group"):
        return [*errors, not_supported(f"{here}.kind", kind, ["ServiceAccount", "User", "Group"])]
    if kind == "ServiceAccount":
        errors += [invalid(f"{here}.name", name, fault) for fault in (subdomain_faults(name) if name else ())]
        if not namespaced and not subject.get("namespace"):
            errors.append(required(f"{here}.namespace"))
    expected = "" if kind == "ServiceAccount" else _GROUP
    if group != expected:
        errors.append(not_supported(f"{here}.apiGroup", group, [expected]))
    return errors
