"""One reconcile of a PodDisruptionBudget: how many of its pods are healthy, and how many there have to be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

import msgspec

from shunter.api.core import Pod
from shunter.api.meta import Condition, Json, as_json, condition_of
from shunter.api.policy import DisruptionBudget, DisruptionBudgetStatus
from shunter.api.resources import POD_DISRUPTION_BUDGETS
from shunter.cluster.controllers.workloads.shares import share
from shunter.kube.controllers.plan import Note, Plan, Ref, StatusWrite

_ALLOWED = "DisruptionAllowed"
_UNSEEN = timedelta(minutes=2)
"""How long an evicted pod counts as gone although its deletion was not seen."""
_COUNTERS = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")
"""What Go writes even when it is zero."""


class Observed(msgspec.Struct, frozen=True, kw_only=True):
    """A budget, the pods that it selects, and the replicas of the controllers that they have, by the controller's uid."""

    budget: DisruptionBudget
    pods: tuple[Pod, ...] = ()
    scales: Mapping[str, tuple[str, int]] = {}
    """For the uid of each controller whose scale is known: the uid of what is scaled, and its replicas."""


def plan(observed: Observed, now: datetime) -> Plan:
    """What the controller writes now. `now` is cut to whole seconds, as times are stored."""
    budget, now = observed.budget, now.replace(microsecond=0)
    if budget.metadata.deletion_timestamp is not None:
        return Plan()
    disrupted = {
        name: since for name, since in budget.status.disrupted_pods.items() if _is_unconfirmed(observed.pods, name, since, now)
    }
    unmanaged = _unmanaged(observed)
    if unmanaged:
        message = f'found no controllers for pod "{unmanaged[0]}"'
        failed = msgspec.structs.replace(budget.status, disruptions_allowed=0)
        status = _with_condition(failed, "False", "SyncFailed", message, budget.metadata.generation, now)
        warning = Note(
            regarding=Ref.of(POD_DISRUPTION_BUDGETS, budget.metadata),
            type="Warning",
            reason="CalculateExpectedPodCountFailed",
            message=f"Failed to calculate the number of expected pods: {message}",
        )
        return Plan(status=_write(budget, status), events=(warning,))
    expected, desired = _expected(observed)
    healthy = sum(pod.is_ready and not pod.is_leaving and pod.metadata.name not in disrupted for pod in observed.pods)
    allowed = max(healthy - desired, 0) if expected > 0 else 0
    status = DisruptionBudgetStatus(
        observed_generation=budget.metadata.generation,
        disrupted_pods=disrupted,
        disruptions_allowed=allowed,
        current_healthy=healthy,
        desired_healthy=desired,
        expected_pods=expected,
        conditions=budget.status.conditions,
    )
    value, reason = ("True", "SufficientPods") if allowed else ("False", "InsufficientPods")
    status = _with_condition(status, value, reason, "", budget.metadata.generation, now)
    waits = [(since + _UNSEEN - now).total_seconds() for since in disrupted.values()]
    return Plan(status=_write(budget, status), requeue_after=min(waits, default=None))


def _is_unconfirmed(pods: Sequence[Pod], name: str, since: datetime, now: datetime) -> bool:
    pod = next((pod for pod in pods if pod.metadata.name == name), None)
    return pod is not None and not pod.is_leaving and now < since + _UNSEEN


def _expected(observed: Observed) -> tuple[int, int]:
    """How many pods there should be, and how many of them healthy."""
    spec = observed.budget.spec
    if spec.max_unavailable is not None:
        total = _scale(observed)
        return total, max(total - share(spec.max_unavailable, total, up=True), 0)
    if isinstance(spec.min_available, str):
        total = _scale(observed)
        return total, share(spec.min_available, total, up=True)
    return len(observed.pods), spec.min_available or 0


def _needs_scale(observed: Observed) -> bool:
    spec = observed.budget.spec
    return spec.max_unavailable is not None or isinstance(spec.min_available, str)


def _unmanaged(observed: Observed) -> list[str]:
    """Pods whose controller's replicas are needed and not known. Pods without any count for nothing."""
    if not _needs_scale(observed):
        return []
    owners = ((pod.metadata.name, pod.metadata.controller) for pod in observed.pods)
    return sorted(name for name, owner in owners if owner is not None and owner.uid not in observed.scales)


def _scale(observed: Observed) -> int:
    owners = {owner.uid for pod in observed.pods if (owner := pod.metadata.controller) is not None}
    return sum(dict(observed.scales[uid] for uid in owners).values())


def _with_condition(
    status: DisruptionBudgetStatus, value: str, reason: str, message: str, generation: int, now: datetime
) -> DisruptionBudgetStatus:
    known = condition_of(status.conditions, _ALLOWED)
    since = known.last_transition_time if known is not None and known.status == value else None
    condition = Condition(
        type=_ALLOWED,
        status=value,
        reason=reason,
        message=message,
        last_transition_time=since or now,
        observed_generation=generation,
    )
    return msgspec.structs.replace(status, conditions=(condition,))


def _write(budget: DisruptionBudget, status: DisruptionBudgetStatus) -> StatusWrite:
    return StatusWrite.over(POD_DISRUPTION_BUDGETS, budget.metadata, _json(budget.status), _json(status))


def _json(status: DisruptionBudgetStatus) -> Json:
    encoded = as_json(status)
    for condition in encoded.get("conditions", ()):
        condition.setdefault("message", "")
    return {**dict.fromkeys(_COUNTERS, 0), **encoded}
