"""What is sent again of a JobSet's lists that may never change.

volumeClaimPolicies and failurePolicy.rules are immutable, and server-side apply replaces them as a whole (listType atomic). When
a JobSet is created, and only then, its webhook completes their items: a retentionPolicy, a status, names of rules, quantities in
canonical form. Who sends them a second time as they were written is refused (`Value is immutable`). So a list that holds what
is desired is sent as it is stored; one that does not is sent as it is desired, and the user sees the refusal.

Fields outside these lists need no such care: those that we do not send stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from shunter.api.formats.quantity import canonical
from shunter.api.meta import Json
from shunter.operator.trainer.views import LiveJobSet

DELETED_WITH_JOBSET = {"whenDeleted": "Delete"}
"""The retentionPolicy of claims that have none (JobSet 0.12, `pkg/webhooks`)."""

_EMPTY: Sequence[Any] = (None, {}, [], "", 0, False)


def with_stored_lists(desired: Json, live: LiveJobSet) -> Json:
    """The JobSet to apply over the one that is there."""
    spec = {**desired["spec"]}
    policies = spec.get("volumeClaimPolicies")
    if policies and _are_made_of(live.spec.volume_claim_policies, policies, _is_policy_of):
        spec["volumeClaimPolicies"] = [*live.spec.volume_claim_policies]
    failure_policy = spec.get("failurePolicy") or {}
    stored_rules = (live.spec.failure_policy or {}).get("rules") or []
    rules = failure_policy.get("rules")
    if rules and _are_made_of(stored_rules, [_named(rule, index) for index, rule in enumerate(rules)], _is_same):
        spec["failurePolicy"] = {**failure_policy, "rules": stored_rules}
    return {**desired, "spec": spec}


def _are_made_of(stored: Sequence[Json], desired: Sequence[Json], is_made_of: Callable[[Json, Json], bool]) -> bool:
    return len(stored) == len(desired) and all(map(is_made_of, stored, desired))


def _is_policy_of(stored: Json, desired: Json) -> bool:
    """Whether a policy is the desired one, completed. Fields that only another release of JobSet has are completions, too."""
    retention = {**DELETED_WITH_JOBSET, **(desired.get("retentionPolicy") or {})}
    if any((stored.get("retentionPolicy") or {}).get(field) != value for field, value in retention.items()):
        return False
    return _are_made_of(stored.get("templates") or [], desired.get("templates") or [], _is_claim_of)


def _is_claim_of(stored: Json, desired: Json) -> bool:
    return all(_is_same(stored.get(part), desired.get(part)) for part in ("metadata", "spec"))


def _named(rule: Json, index: int) -> Json:
    return {**rule, "name": rule.get("name") or f"failurePolicyRule{index}"}


def _is_same(stored: Any, desired: Any) -> bool:
    """Whether both mean the same: what is empty may be absent, and quantities may be written differently."""
    if isinstance(stored, dict) and isinstance(desired, dict):
        return all(_is_same(stored.get(name), desired.get(name)) for name in {**stored, **desired})
    if isinstance(stored, list) and isinstance(desired, list):
        return len(stored) == len(desired) and all(map(_is_same, stored, desired))
    if stored == desired or (stored in _EMPTY and desired in _EMPTY):
        return True
    return bool(_canonical(stored) == _canonical(desired))


def _canonical(value: Any) -> Any:
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        return value
    try:
        return canonical(value)
    except ValueError:
        return value
