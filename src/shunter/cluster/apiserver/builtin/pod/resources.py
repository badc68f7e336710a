"""Requests of a pod as a whole by default, and its quality-of-service class.

Source: k8s.io/kubernetes 1.36 `apis/core/v1`: `defaults.go`, `helper/qos`.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from shunter.api.formats.quantity import format_milli, parse
from shunter.api.meta import Json
from shunter.api.scheduling.pod_requests import PodRequests, requested_by_containers

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
    for name, amount in requested_by_containers(msgspec.convert(spec, PodRequests)).items():
        if name in _POD_LEVEL:
            requests.setdefault(name, format_milli(amount, binary=name == "memory"))
    for name, limit in resources["limits"].items():
        if name in _POD_LEVEL or name.startswith("hugepages-"):
            requests.setdefault(name, limit)
    resources["requests"] = requests


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
