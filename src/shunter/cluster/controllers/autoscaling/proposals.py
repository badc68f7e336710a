"""What each metric of an autoscaler asks for. Source: `horizontal.go`, computeStatusForResourceMetricGeneric and its callers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from fractions import Fraction
from typing import NamedTuple

from shunter.api.formats.quantity import format_milli, parse
from shunter.api.meta import Json
from shunter.cluster.controllers.autoscaling.calculation import (
    Outcome,
    PodUsage,
    Tolerances,
    by_average,
    by_utilization,
    grouped,
    requests,
    used,
)
from shunter.cluster.controllers.autoscaling.views import PodMetrics, Proposal, ScaledPod, Unable

_NO_TARGET = "invalid resource metric source: neither an average utilization target nor an average value (usage) target was set"
_NO_ADAPTER = "no custom metrics API registered"


class Sources(NamedTuple):
    """The pods that are scaled and their resource metrics, or why there are none."""

    pods: tuple[ScaledPod, ...] = ()
    metrics: tuple[PodMetrics, ...] = ()
    problem: str = ""


class FailedMetric(NamedTuple):
    """A metric without a value: the reason of the condition, and the text of condition and event."""

    reason: str
    message: str
    value: str
    """How the metric is called where several are summed up: `cpu resource`."""


def propose(metric: Json, current: int, sources: Sources, tolerances: Tolerances, now: datetime) -> Proposal | FailedMetric:
    """What the metric asks for."""
    match metric.get("type"):
        case "Resource":
            source = metric["resource"]
            name, container = source["name"], ""
            failed = FailedMetric("FailedGetResourceMetric", "", f"{name} resource metric")
            title = f"{name} resource utilization (percentage of request)"
        case "ContainerResource":
            source = metric["containerResource"]
            name, container = source["name"], source["container"]
            failed = FailedMetric("FailedGetContainerResourceMetric", "", f"{container} container metric")
            title = f"{name} container resource utilization (percentage of request)"
        case other:
            called = {"External": f"{_metric_name(metric)} external metric"}.get(other or "", f"{str(other).lower()} metric")
            return FailedMetric(f"FailedGet{other}Metric", _NO_ADAPTER, called)
    target = source["target"]
    try:
        if target.get("averageValue") is not None:
            title = f"{name} resource"
            outcome = _average(name, container, target, current, sources, tolerances, now)
        else:
            outcome = _utilization(name, container, target, current, sources, tolerances, now)
    except Unable as problem:
        return failed._replace(message=str(problem))
    value = format_milli(Fraction(outcome.average, 1000), binary=name == "memory")
    shown: Json = {"averageValue": value}
    if outcome.utilization is not None:
        shown["averageUtilization"] = outcome.utilization
    field = metric["type"][0].lower() + metric["type"][1:]
    status = {"name": name, **({"container": container} if container else {}), "current": shown}
    return Proposal(outcome.replicas, title, {"type": metric["type"], field: status})


def _average(
    name: str, container: str, target: Json, current: int, sources: Sources, tolerances: Tolerances, now: datetime
) -> Outcome:
    try:
        use = _use(name, container, sources)
        groups = grouped(sources.pods, use, name, now)
        return by_average(current, math.ceil(parse(target["averageValue"]) * 1000), groups, use, tolerances)
    except Unable as problem:
        raise Unable(f"failed to get {name} usage: {problem}") from None


def _utilization(
    name: str, container: str, target: Json, current: int, sources: Sources, tolerances: Tolerances, now: datetime
) -> Outcome:
    desired = target.get("averageUtilization")
    if desired is None:
        raise Unable(_NO_TARGET)
    try:
        use = _use(name, container, sources)
        groups = grouped(sources.pods, use, name, now)
        if not use.keys() - groups.ignored - groups.unready:
            raise Unable("did not receive metrics for targeted pods (pods might be unready)")
        requested = requests(sources.pods, name, container)
        return by_utilization(current, desired, groups, use, requested, tolerances)
    except Unable as problem:
        raise Unable(f"failed to get {name} utilization: {problem}") from None


def _use(name: str, container: str, sources: Sources) -> Mapping[str, PodUsage]:
    if sources.problem or not sources.metrics:
        why = sources.problem or "no metrics returned from resource metrics API"
        raise Unable(f"unable to get metrics for resource {name}: {why}")
    if not sources.pods:
        raise Unable("no pods returned by selector while calculating replica count")
    return used(sources.metrics, name, container)


def highest(proposals: Sequence[Proposal | FailedMetric]) -> Proposal | None:
    """The proposal that counts: the highest; None when no metric says anything."""
    found = [one for one in proposals if isinstance(one, Proposal)]
    return max(found, key=lambda one: one.replicas, default=None)


def _metric_name(metric: Json) -> str:
    return str(((metric.get("external") or {}).get("metric") or {}).get("name", ""))
