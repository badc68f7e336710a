"""What PodDisruptionBudgets may say.

Source: k8s.io/kubernetes 1.36 `apis/policy/validation`.
"""

from __future__ import annotations

from shunter.api.field_errors import FieldError, invalid, required
from shunter.api.meta import Json
from shunter.cluster.apiserver.builtin.rules.workloads import share_errors, whole_errors
from shunter.cluster.apiserver.field_rules import negative, selector_errors, unsupported

_EVICTION_POLICIES = ["AlwaysAllow", "IfHealthyBudget"]


def disruption_budget_status_errors(budget: Json, old: Json | None) -> list[FieldError]:
    """No count is negative, and a condition has all that a metav1.Condition needs."""
    status = budget["status"]
    errors: list[FieldError] = []
    for name in ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"):
        errors += negative(f"status.{name}", status.get(name))
    for index, condition in enumerate(status.get("conditions") or ()):
        for name in ("lastTransitionTime", "reason", "status", "type"):
            if not condition.get(name):
                errors.append(required(f"status.conditions[{index}].{name}"))
    return errors


def disruption_budget_errors(budget: Json, old: Json | None) -> list[FieldError]:
    """`minAvailable` and `maxUnavailable` exclude each other, and either is a count or at most 100%. Every field may change."""
    spec = budget["spec"]
    errors = []
    if "minAvailable" in spec and "maxUnavailable" in spec:
        errors.append(invalid("spec", spec, "minAvailable and maxUnavailable cannot be both set"))
    for name in ("minAvailable", "maxUnavailable"):
        if name in spec:
            errors += share_errors(f"spec.{name}", spec[name]) + whole_errors(f"spec.{name}", spec[name])
    errors += selector_errors(spec.get("selector"), "spec.selector")
    policy = spec.get("unhealthyPodEvictionPolicy")
    if policy is not None and policy not in _EVICTION_POLICIES:
        errors.append(unsupported("spec.unhealthyPodEvictionPolicy", policy, _EVICTION_POLICIES))
    return errors
