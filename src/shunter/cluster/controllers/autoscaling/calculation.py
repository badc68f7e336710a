"""How many replicas the use of a resource asks for. Amounts are in thousandths: of a core, or of a byte.

Source: `replica_calculator.go`, `metrics/utilization.go`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

from shunter.api.formats.durations import seconds
from shunter.api.formats.quantity import parse
from shunter.api.meta import condition_of
from shunter.cluster.controllers.autoscaling.views import PodMetrics, ScaledPod, Unable
from shunter.errors import InputError

CPU_INITIALIZATION = timedelta(minutes=5)
"""How long after a pod's start its processor time may be that of starting."""
INITIAL_READINESS_DELAY = timedelta(seconds=30)
TOLERANCE = 0.1


class Tolerances(NamedTuple):
    """The fractions by which usage may differ from its target without scaling."""

    down: float = TOLERANCE
    up: float = TOLERANCE

    def hold(self, ratio: float) -> bool:
        """Whether a ratio of use to target is close enough to 1 to change nothing; both limits count as close enough."""
        return 1.0 - self.down <= ratio <= 1.0 + self.up


class PodUsage(NamedTuple):
    """What one pod used over `window` before `moment`."""

    amount: int
    moment: datetime
    window: timedelta


class Groups(NamedTuple):
    """The pods by what their use says: names of those that count, are not ready, have no figures, or are on their way out."""

    ready: int
    unready: frozenset[str]
    missing: frozenset[str]
    ignored: frozenset[str]


class Outcome(NamedTuple):
    """The replicas desired, the use in percent of the request (None where that is not asked), and per pod on average."""

    replicas: int
    utilization: int | None
    average: int


def used(metrics: Iterable[PodMetrics], resource: str, container: str = "") -> dict[str, PodUsage]:
    """What each pod uses of a resource, in all its containers or in one."""
    found: dict[str, PodUsage] = {}
    for pod in metrics:
        chosen = [one for one in pod.containers if container in ("", one.name)]
        if not chosen or any(resource not in one.usage for one in chosen) or pod.timestamp is None:
            continue
        amount = sum(_milli(one.usage[resource]) for one in chosen)
        found[pod.metadata.name] = PodUsage(amount, pod.timestamp, duration(pod.window))
    return found


def requests(pods: Iterable[ScaledPod], resource: str, container: str = "") -> dict[str, int]:
    """What each pod requests of it. Raises Unable when one of the containers asked about requests nothing."""
    return {pod.metadata.name: _request(pod, resource, container) for pod in pods}


def grouped(pods: Iterable[ScaledPod], use: Mapping[str, PodUsage], resource: str, now: datetime) -> Groups:
    """Which pods' use counts. Processor time counts once the pod is ready, or was once."""
    ready, unready, missing, ignored = 0, set(), set(), set()
    for pod in pods:
        name = pod.metadata.name
        if pod.metadata.deletion_timestamp is not None or pod.status.phase == "Failed":
            ignored.add(name)
        elif pod.status.phase == "Pending":
            unready.add(name)
        elif name not in use:
            missing.add(name)
        elif resource == "cpu" and _is_starting(pod, use[name], now):
            unready.add(name)
        else:
            ready += 1
    return Groups(ready, frozenset(unready), frozenset(missing), frozenset(ignored))


def by_utilization(
    current: int,
    target: int,
    groups: Groups,
    use: Mapping[str, PodUsage],
    requested: Mapping[str, int],
    tolerances: Tolerances,
) -> Outcome:
    """The replicas with which use would be `target` percent of what pods request. Raises Unable when no pod's use counts."""
    counted = _counted(use, groups)
    percent, average = _utilization(counted, requested)
    ratio = percent / target
    outcome = Outcome(current, percent, average)
    settled = _settled(ratio, groups, tolerances, current)
    if settled is not None:
        return outcome._replace(replicas=settled)
    # Pods without metrics count as using what argues against the change.
    full = {name: requested[name] * max(100, target) // 100 for name in groups.missing}
    filled = _filled(counted, groups, ratio, full)
    new_ratio = _utilization(filled, requested)[0] / target
    return outcome._replace(replicas=_cautious(ratio, new_ratio, len(filled), current, tolerances))


def by_average(current: int, target: int, groups: Groups, use: Mapping[str, PodUsage], tolerances: Tolerances) -> Outcome:
    """The replicas with which a pod would use `target` on average. Raises Unable when no pod's use counts."""
    counted = _counted(use, groups)
    average = sum(counted.values()) // len(counted)
    ratio = average / target
    outcome = Outcome(current, None, average)
    settled = _settled(ratio, groups, tolerances, current)
    if settled is not None:
        return outcome._replace(replicas=settled)
    filled = _filled(counted, groups, ratio, dict.fromkeys(groups.missing, target))
    new_ratio = sum(filled.values()) // len(filled) / target
    return outcome._replace(replicas=_cautious(ratio, new_ratio, len(filled), current, tolerances))


def duration(text: str) -> timedelta:
    """A duration as Go writes it: `1m30.5s`; zero for any other text."""
    try:
        return timedelta(seconds=seconds(text))
    except InputError:
        return timedelta()


def _counted(use: Mapping[str, PodUsage], groups: Groups) -> dict[str, int]:
    counted = {name: one.amount for name, one in use.items() if name not in groups.ignored | groups.unready}
    if not counted:
        raise Unable("did not receive metrics for targeted pods (pods might be unready)")
    return counted


def _utilization(amounts: Mapping[str, int], requested: Mapping[str, int]) -> tuple[int, int]:
    """Percent of the requests, and the average."""
    known = {name: amount for name, amount in amounts.items() if name in requested}
    total = sum(requested[name] for name in known)
    if total == 0:
        raise Unable("no metrics returned matched known pods")
    return sum(known.values()) * 100 // total, sum(known.values()) // len(known)


def _settled(ratio: float, groups: Groups, tolerances: Tolerances, current: int) -> int | None:
    """The replicas; None where pods that are not ready or have no metrics could change them."""
    if (groups.unready and ratio > 1.0) or groups.missing:
        return None
    return current if tolerances.hold(ratio) else math.ceil(ratio * groups.ready)


def _filled(counted: Mapping[str, int], groups: Groups, ratio: float, full: Mapping[str, int]) -> dict[str, int]:
    filled = dict(counted)
    if ratio < 1.0:
        filled |= full
    elif ratio > 1.0:
        filled |= dict.fromkeys(groups.missing | groups.unready, 0)
    return filled


def _cautious(ratio: float, new_ratio: float, pods: int, current: int, tolerances: Tolerances) -> int:
    """The new count, unless the pods without metrics could reverse the direction."""
    if tolerances.hold(new_ratio) or (ratio < 1.0 < new_ratio) or (new_ratio < 1.0 < ratio):
        return current
    desired = math.ceil(new_ratio * pods)
    return current if (new_ratio < 1.0 and desired > current) or (new_ratio > 1.0 and desired < current) else desired


def _is_starting(pod: ScaledPod, use: PodUsage, now: datetime) -> bool:
    ready = condition_of(pod.status.conditions, "Ready")
    started = pod.status.start_time
    if ready is None or started is None:
        return True
    since = ready.last_transition_time or started
    if started + CPU_INITIALIZATION > now:
        return ready.status == "False" or use.moment < since + use.window
    return ready.status == "False" and started + INITIAL_READINESS_DELAY > since


def _request(pod: ScaledPod, resource: str, container: str) -> int:
    if not container and pod.spec.resources.requests:
        amount = pod.spec.resources.requests.get(resource)
        if amount is None:
            raise Unable(f"missing pod-level request for {resource} in Pod {pod.metadata.name}")
        return _milli(amount)
    sidecars = [one for one in pod.spec.init_containers if one.restart_policy == "Always"]
    chosen = [one for one in (*pod.spec.containers, *sidecars) if container in ("", one.name)]
    if not chosen:
        raise Unable(f"container {container} not found in Pod {pod.metadata.name}")
    for one in chosen:
        if resource not in one.resources.requests:
            raise Unable(f"missing request for {resource} in container {one.name} of Pod {pod.metadata.name}")
    return sum(_milli(one.resources.requests[resource]) for one in chosen)


def _milli(quantity: str | int | float) -> int:
    """As Go's MilliValue: rounded up."""
    return math.ceil(parse(quantity) * 1000)
