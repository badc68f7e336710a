"""What a pod asks for: the sums over its containers, and the quality-of-service class that follows from them.

Source: k8s.io/component-helpers 1.36 `resource`, k8s.io/kubernetes `apis/core/v1/helper/qos`.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from shunter.api.meta import Json
from shunter.api.quantity import format_milli, parse

_COMPUTE = ("cpu", "memory")
_POD_LEVEL = ("cpu", "memory")


def containers_of(spec: Json) -> Iterator[Json]:
    """Containers and init containers of a pod spec."""
    yield from spec.get("containers") or ()
    yield from spec.get("initContainers", ())


def default_pod_level_requests(spec: Json) -> None:
    """Requests of the pod as a whole, where it has limits as a whole: what its containers ask for, else the limits."""
    resources = spec.get("resources")
    if not resources or not resources.get("limits"):
        return
    requests = dict(resources.get("requests", {}))
    for name, amount in container_requests(spec).items():
        if name in _POD_LEVEL:
            requests.setdefault(name, format_milli(amount, binary=name == "memory"))
    for name, limit in resources["limits"].items():
        if name in _POD_LEVEL or name.startswith("hugepages-"):
            requests.setdefault(name, limit)
    resources["requests"] = requests


def container_requests(spec: Json) -> dict[str, Fraction]:
    """What the containers ask for together: all that run at once, or the largest moment of initialisation."""
    running: dict[str, Fraction] = {}
    for container in spec.get("containers") or ():
        _add(running, _requests(container))
    sidecars: dict[str, Fraction] = {}
    peak: dict[str, Fraction] = {}
    for container in spec.get("initContainers", ()):
        wanted = _requests(container)
        if container.get("restartPolicy") == "Always":
            _add(running, wanted)
            _add(sidecars, wanted)
            moment = sidecars
        else:
            moment = dict(sidecars)
            _add(moment, wanted)
        for name, amount in moment.items():
            peak[name] = max(peak.get(name, Fraction(0)), amount)
    return {name: max(running.get(name, Fraction(0)), peak.get(name, Fraction(0))) for name in {**running, **peak}}


def qos_class(spec: Json) -> str:
    """`Guaranteed`, `Burstable` or `BestEffort`, from CPU and memory alone."""
    resources = spec.get("resources")
    askers = [resources] if resources else [container["resources"] for container in containers_of(spec)]
    asked = limited = False
    guaranteed = True
    for asker in askers:
        requests = {name: amount for name in _COMPUTE if (amount := parse(asker.get("requests", {}).get(name, 0)))}
        limits = {name: amount for name in _COMPUTE if (amount := parse(asker.get("limits", {}).get(name, 0)))}
        asked |= bool(requests)
        limited |= bool(limits)
        guaranteed &= len(limits) == len(_COMPUTE) and all(requests.get(name, limits[name]) == limits[name] for name in limits)
    if not asked and not limited:
        return "BestEffort"
    return "Guaranteed" if guaranteed else "Burstable"


def _requests(container: Json) -> dict[str, Fraction]:
    return {name: parse(amount) for name, amount in container["resources"].get("requests", {}).items()}


def _add(total: dict[str, Fraction], more: dict[str, Fraction]) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, Fraction(0)) + amount
