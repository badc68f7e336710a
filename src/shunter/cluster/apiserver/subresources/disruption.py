"""Whether PodDisruptionBudgets let a pod be evicted now.

Source: k8s.io/kubernetes 1.36 `registry/core/pod/storage/eviction.go`. The budget's status is the disruption controller's; an
eviction takes one of its allowed disruptions, so that the next does not rely on a count from before.
"""

from __future__ import annotations

from shunter.api.core import FINISHED_PHASES
from shunter.api.meta import Json, stored_condition
from shunter.api.resources import POD_DISRUPTION_BUDGETS
from shunter.api.selectors import selects
from shunter.cluster.apiserver.kinds import Objects
from shunter.cluster.apiserver.status import StatusError, forbidden

_REFUSED = "Cannot evict pod as it would violate the pod's disruption budget."
_SEVERAL = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
_MOST_DISRUPTED = 2000
_RETRY_SECONDS = 10
_CAUSE = "DisruptionBudget"


def budget_of(pod: Json, objects: Objects) -> Json | None:
    """The budget that must allow the eviction of the pod; None where there is none. Raises 500 where several select it."""
    if _needs_no_budget(pod):
        return None
    metadata = pod["metadata"]
    budgets = [
        one
        for one in objects.all(POD_DISRUPTION_BUDGETS, metadata["namespace"])
        if one["spec"].get("selector") is not None and selects(one["spec"]["selector"], metadata.get("labels") or {})
    ]
    if len(budgets) > 1:
        raise StatusError(500, "", _SEVERAL)
    if not budgets or _is_unhealthy_surplus(pod, budgets[0]):
        return None
    return budgets[0]


def with_disruption(budget: Json, pod: str, now: str) -> Json:
    """The budget after the eviction of the pod. Raises 403 and 429."""
    metadata, status = budget["metadata"], budget.get("status") or {}
    name, allowed = metadata["name"], status.get("disruptionsAllowed", 0)
    if status.get("observedGeneration", 0) < metadata.get("generation", 0):
        raise _too_many(f"The disruption budget {name} is still being processed by the server.", retry_after=_RETRY_SECONDS)
    disrupted = status.get("disruptedPods") or {}
    if len(disrupted) > _MOST_DISRUPTED:
        why = "DisruptedPods map too big - too many evictions not confirmed by PDB controller"
        raise forbidden(POD_DISRUPTION_BUDGETS, name, why)
    if allowed <= 0:
        raise _too_many(_reason(name, status), retry_after=0)
    left = allowed - 1
    conditions = status.get("conditions") or []
    if left == 0:
        conditions = [_insufficient(one, now) for one in conditions]
    status = {
        **status,
        "disruptionsAllowed": left,
        "disruptedPods": {**disrupted, pod: now},
        "conditions": conditions,
    }
    return {**budget, "status": status}


def _needs_no_budget(pod: Json) -> bool:
    """Whether the pod has ended, has not started, or is being deleted."""
    return pod["status"].get("phase") in (*FINISHED_PHASES, "Pending") or "deletionTimestamp" in pod["metadata"]


def _is_unhealthy_surplus(pod: Json, budget: Json) -> bool:
    """Whether a pod that is not ready may go without counting."""
    if stored_condition(pod, "Ready").get("status") == "True":
        return False
    status = budget.get("status") or {}
    desired, healthy = int(status.get("desiredHealthy", 0)), int(status.get("currentHealthy", 0))
    always: bool = budget["spec"].get("unhealthyPodEvictionPolicy") == "AlwaysAllow"
    return always or 0 < desired <= healthy


def _reason(name: str, status: Json) -> str:
    condition: Json = next((one for one in status.get("conditions") or () if one["type"] == "DisruptionAllowed"), {})
    message = condition.get("message", "") if condition.get("status") == "False" else ""
    healthy, desired = status.get("currentHealthy", 0), status.get("desiredHealthy", 0)
    if message and condition["reason"] == "SyncFailed":
        return f"The disruption budget {name} does not allow evicting pods currently because it failed sync: {message}"
    if healthy <= desired:
        return f"The disruption budget {name} needs {desired} healthy pods and has {healthy} currently"
    if message:
        return f"The disruption budget {name} does not allow evicting pods currently ({condition['reason']}): {message}"
    return f"The disruption budget {name} does not allow evicting pods currently"


def _too_many(cause: str, *, retry_after: int) -> StatusError:
    details: Json = {"causes": [{"reason": _CAUSE, "message": cause}]}
    if retry_after:
        details["retryAfterSeconds"] = retry_after
    return StatusError(429, "TooManyRequests", _REFUSED, details)


def _insufficient(condition: Json, now: str) -> Json:
    if condition["type"] != "DisruptionAllowed" or condition["status"] == "False":
        return condition
    return {**condition, "status": "False", "reason": "InsufficientPods", "lastTransitionTime": now}
