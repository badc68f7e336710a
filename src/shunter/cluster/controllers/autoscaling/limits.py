"""How far and how fast the number of replicas may go: stabilization over earlier recommendations, policies, and bounds.

Source: `horizontal.go`, normalizeDesiredReplicas and normalizeDesiredReplicasWithBehaviors.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import NamedTuple

from shunter.cluster.controllers.autoscaling.views import AutoscalerSpec, Behavior, ScalingRules

DOWNSCALE_STABILIZATION = 300
"""Seconds for which the highest recommendation counts before fewer replicas are desired."""
UP_FACTOR = 2.0
UP_LEAST = 4


class TimedValue(NamedTuple):
    """A number and when it was: a recommendation, or by how much the replicas were changed."""

    number: int
    when: datetime


class History(NamedTuple):
    """What the autoscaler remembers of one target; oldest first."""

    recommendations: tuple[TimedValue, ...] = ()
    added: tuple[TimedValue, ...] = ()
    removed: tuple[TimedValue, ...] = ()

    def recommending(self, replicas: int, now: datetime, longest: int) -> History:
        """With one more recommendation; those older than `longest` seconds are forgotten."""
        kept = [one for one in self.recommendations if one.when >= now - timedelta(seconds=longest)]
        return self._replace(recommendations=(*kept, TimedValue(replicas, now)))

    def rescaled(self, before: int, after: int, now: datetime, behavior: Behavior | None) -> History:
        """With a change of the replicas; changes that no policy looks at any more are forgotten."""
        if behavior is None:
            return self
        if after > before:
            return self._replace(added=(*_young(self.added, now, behavior.scale_up), TimedValue(after - before, now)))
        return self._replace(removed=(*_young(self.removed, now, behavior.scale_down), TimedValue(before - after, now)))


class Verdict(NamedTuple):
    """The replicas to have, what AbleToScale says, what ScalingLimited says, and what to remember."""

    replicas: int
    able: tuple[str, str]
    limited: tuple[str, str, str]
    """Status, reason, message."""
    history: History


READY = ("ReadyForNewScale", "recommended size matches current size")
UP_STABILIZED = (
    "ScaleUpStabilized",
    "recent recommendations were lower than current one, applying the lowest recent recommendation",
)
DOWN_STABILIZED = (
    "ScaleDownStabilized",
    "recent recommendations were higher than current one, applying the highest recent recommendation",
)
WITHIN = ("DesiredWithinRange", "the desired count is within the acceptable range")
TOO_MANY = ("TooManyReplicas", "the desired replica count is more than the maximum replica count")
TOO_FEW = ("TooFewReplicas", "the desired replica count is less than the minimum replica count")
UP_LIMIT = ("ScaleUpLimit", "the desired replica count is increasing faster than the maximum scale rate")
DOWN_LIMIT = ("ScaleDownLimit", "the desired replica count is decreasing faster than the maximum scale rate")


def limited(spec: AutoscalerSpec, current: int, desired: int, history: History, now: datetime) -> Verdict:
    """What becomes of the number that the metrics ask for."""
    if spec.behavior is None:
        stable = max([desired, *_since(history.recommendations, now, DOWNSCALE_STABILIZATION)])
        able = DOWN_STABILIZED if stable != desired else READY
        history = history.recommending(desired, now, DOWNSCALE_STABILIZATION)
        replicas, why = _by_default_rate(spec, current, stable)
    else:
        stable, able, longest = _stabilized(spec.behavior, current, desired, history, now)
        history = history.recommending(desired, now, longest)
        replicas, why = _by_policies(spec, spec.behavior, current, stable, history, now)
    return Verdict(replicas, able, ("False" if replicas == stable else "True", *why), history)


def _stabilized(
    behavior: Behavior, current: int, desired: int, history: History, now: datetime
) -> tuple[int, tuple[str, str], int]:
    """Up to the lowest recommendation of one window, down to the highest of the other; and the longer window."""
    up_window = behavior.scale_up.stabilization_window_seconds or 0
    given = behavior.scale_down.stabilization_window_seconds
    down_window = DOWNSCALE_STABILIZATION if given is None else given
    lowest = min([desired, *_after(history.recommendations, now, up_window)])
    highest = max([desired, *_after(history.recommendations, now, down_window)])
    stable = min(max(current, lowest), highest)
    able = READY
    if stable != desired:
        able = UP_STABILIZED if desired >= current else DOWN_STABILIZED
    return stable, able, max(up_window, down_window)


def _by_default_rate(spec: AutoscalerSpec, current: int, desired: int) -> tuple[int, tuple[str, str]]:
    rate = int(max(UP_FACTOR * current, UP_LEAST))
    most, why = (rate, UP_LIMIT) if spec.max_replicas > rate else (spec.max_replicas, TOO_MANY)
    if desired < spec.min_replicas:
        return spec.min_replicas, TOO_FEW
    return (most, why) if desired > most else (desired, WITHIN)


def _by_policies(
    spec: AutoscalerSpec, behavior: Behavior, current: int, desired: int, history: History, now: datetime
) -> tuple[int, tuple[str, str]]:
    if desired > current:
        rate = max(_limit(behavior.scale_up, current, history, now, up=True), current)
        most, why = (rate, UP_LIMIT) if spec.max_replicas > rate else (spec.max_replicas, TOO_MANY)
        return (most, why) if desired > most else (desired, WITHIN)
    if desired < current:
        rate = min(_limit(behavior.scale_down, current, history, now, up=False), current)
        least, why = (rate, DOWN_LIMIT) if spec.min_replicas < rate else (spec.min_replicas, TOO_FEW)
        return (least, why) if desired < least else (desired, WITHIN)
    return desired, WITHIN


def _limit(rules: ScalingRules, current: int, history: History, now: datetime, *, up: bool) -> int:
    """The highest, or lowest, number of replicas that the policies allow. `Min` selects the policy with the smallest change."""
    if rules.select_policy == "Disabled" or not rules.policies:
        return current
    sign = 1 if up else -1
    limits = []
    for policy in rules.policies:
        before = _at_start(current, policy.period_seconds, history, now)
        scaled = before * (1 + sign * policy.value / 100)
        limits.append(before + sign * policy.value if policy.type == "Pods" else math.ceil(scaled) if up else int(scaled))
    return min(limits) if up == (rules.select_policy == "Min") else max(limits)


def _at_start(current: int, period: int, history: History, now: datetime) -> int:
    """The replicas when the period of a policy began."""
    return current - sum(_after(history.added, now, period)) + sum(_after(history.removed, now, period))


def _since(moments: Iterable[TimedValue], now: datetime, seconds: int) -> list[int]:
    return [one.number for one in moments if one.when >= now - timedelta(seconds=seconds)]


def _after(moments: Iterable[TimedValue], now: datetime, seconds: int) -> list[int]:
    return [one.number for one in moments if one.when > now - timedelta(seconds=seconds)]


def _young(moments: Iterable[TimedValue], now: datetime, rules: ScalingRules) -> list[TimedValue]:
    longest = max((policy.period_seconds for policy in rules.policies), default=0)
    return [one for one in moments if one.when >= now - timedelta(seconds=longest)]
