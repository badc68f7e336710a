"""A reconciler made of functions."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Generic, TypeVar

from shunter.kube.controllers.plan import NOTHING, Failure, Key, Plan

Observed = TypeVar("Observed")


class FunctionReconciler(Generic[Observed]):
    """Calls the given functions. Without `plan_failure` a failed write is retried, and recorded by its own event
    only."""

    def __init__(
        self,
        observe: Callable[[Key], Observed | None],
        plan: Callable[[Observed, datetime], Plan],
        plan_failure: Callable[[Observed, Failure, datetime], Plan] = lambda observed, failure, now: NOTHING,
    ) -> None:
        self._observe = observe
        self._plan = plan
        self._plan_failure = plan_failure

    def observe(self, key: Key) -> Observed | None:
        """The object and what it owns; None when there is nothing to do for this key."""
        return self._observe(key)

    def plan(self, observed: Observed, now: datetime) -> Plan:
        """The writes for what was observed."""
        return self._plan(observed, now)

    def plan_failure(self, observed: Observed, failure: Failure, now: datetime) -> Plan:
        """What to record after a failed write."""
        return self._plan_failure(observed, failure, now)
