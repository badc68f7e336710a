"""RBAC: roles and who has them.

Source: k8s.io/kubernetes 1.36 `apis/rbac/v1` defaults, `apis/rbac/validation`.
"""

from __future__ import annotations

from typing import Any

from shunter.api.field_errors import FieldError, invalid, not_supported, required
from shunter.api.meta import Json
from shunter.api.names import path_segment_faults
from shunter.api.resources import Resource
from shunter.cluster.apiserver.builtin.typed import typed
from shunter.cluster.apiserver.field_rules import unsupported
from shunter.cluster.apiserver.kinds import Kind

_GROUP = "rbac.authorization.k8s.io"


def kinds() -> list[Kind]:
    return [
        _kind("Role", "roles", namespaced=True, default=_default_role, prepare=_prepare_role, validate=_role_errors),
        _kind(
            "ClusterRole", "clusterroles", namespaced=False, default=_default_role, prepare=_prepare_role, validate=_role_errors
        ),
        _kind("RoleBinding", "rolebindings", namespaced=True, default=_default_binding, validate=_binding_errors),
        _kind("ClusterRoleBinding", "clusterrolebindings", namespaced=False, default=_default_binding, validate=_binding_errors),
    ]


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
        if rule.get("nonResourceURLs"):
            if rule.get("apiGroups") or rule.get("resources") or rule.get("resourceNames"):
                detail = "rules cannot apply to both regular resources and non-resource URLs"
                errors.append(invalid(f"{here}.nonResourceURLs", rule["nonResourceURLs"], detail))
            continue
        if not rule.get("apiGroups"):
            errors.append(required(f"{here}.apiGroups", "resource rules must supply at least one api group"))
        if not rule.get("resources"):
            errors.append(required(f"{here}.resources", "resource rules must supply at least one resource"))
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
    if not reference.get("name"):
        errors.append(required("roleRef.name"))
    for index, subject in enumerate(binding.get("subjects", ())):
        here = f"subjects[{index}]"
        kind = subject.get("kind", "")
        if not subject.get("name"):
            errors.append(required(f"{here}.name"))
        if kind not in ("ServiceAccount", "User", "Group"):
            errors.append(not_supported(f"{here}.kind", kind, ["ServiceAccount", "User", "Group"]))
        elif kind == "ServiceAccount" and binding["kind"] == "ClusterRoleBinding" and not subject.get("namespace"):
            errors.append(required(f"{here}.namespace"))
    return errors
