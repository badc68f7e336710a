"""Views of policy/v1: what the embedded cluster's disruption controller decides on."""

from __future__ import annotations

from datetime import datetime

from shunter.api.meta import Condition, ObjectMeta, Struct
from shunter.api.selectors import LabelSelector


class DisruptionBudgetSpec(Struct, frozen=True):
    """At most one of two bounds: a number of pods, or a share such as `50%`. No `selector` finds no pod, an empty one every pod
    of the namespace."""

    min_available: int | str | None = None
    max_unavailable: int | str | None = None
    selector: LabelSelector | None = None


class DisruptionBudgetStatus(Struct, frozen=True):
    """What evictions are decided on. `desired_healthy` is how many of `expected_pods` must stay healthy; `disruptions_allowed`
    how many more pods may be evicted now."""

    observed_generation: int = 0
    disrupted_pods: dict[str, datetime] = {}
    """Pods that were evicted and whose deletion has not been seen yet."""
    disruptions_allowed: int = 0
    current_healthy: int = 0
    desired_healthy: int = 0
    expected_pods: int = 0
    conditions: tuple[Condition, ...] = ()


class DisruptionBudget(Struct, frozen=True):
    """Limits how many pods may be evicted at a time; it does not keep anybody from deleting them."""

    metadata: ObjectMeta
    spec: DisruptionBudgetSpec = DisruptionBudgetSpec()
    status: DisruptionBudgetStatus = DisruptionBudgetStatus()
