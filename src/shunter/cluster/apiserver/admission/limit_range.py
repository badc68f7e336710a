"""Admission by LimitRanges: defaults for containers that say nothing, and bounds for containers, pods and claims.

Source: k8s.io/kubernetes 1.36 `plugin/pkg/admission/limitranger`.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import msgspec

from shunter.api.field_errors import aggregate
from shunter.api.formats.quantity import canonical, format_milli, parse
from shunter.api.meta import Json
from shunter.api.resources import LIMIT_RANGES, PERSISTENT_VOLUME_CLAIMS, PODS, Resource
from shunter.api.scheduling.pod_requests import PodRequests, requested
from shunter.cluster.apiserver.kinds import Objects, RejectedError

_ANNOTATION = "kubernetes.io/limit-ranger"
_Amounts = dict[str, Any]


def set_defaults(pod: Json, objects: Objects) -> None:
    """Fills in requests and limits of containers, in place, and says so in an annotation."""
    for limit_range in _of_namespace(pod, objects):
        items = [one for one in limit_range["spec"].get("limits") or () if one.get("type") == "Container"]
        limits = {name: value for one in items for name, value in (one.get("default") or {}).items()}
        requests = {name: value for one in items for name, value in (one.get("defaultRequest") or {}).items()}
        texts = [text for one in (pod["spec"].get("containers") or ()) for text in _fill(one, requests, limits, "container")]
        inits = pod["spec"].get("initContainers") or ()
        texts += [text for one in inits for text in _fill(one, requests, limits, "init container")]
        if texts:
            pod["metadata"].setdefault("annotations", {})[_ANNOTATION] = f"LimitRanger plugin set: {'; '.join(texts)}"


def review(resource: Resource, obj: Json, old: Json | None, objects: Objects) -> None:
    """Raises RejectedError for a pod or a claim beyond the bounds of its namespace."""
    if resource not in (PODS, PERSISTENT_VOLUME_CLAIMS) or (resource == PODS and old is not None):
        return
    for limit_range in _of_namespace(obj, objects):
        found = [fault for item in limit_range["spec"].get("limits") or () for fault in _faults(item, resource, obj)]
        if found:
            name = obj["metadata"].get("name", "")
            raise RejectedError(f'{resource.plural} "{name}" is forbidden: {aggregate(found)}')


def _of_namespace(obj: Json, objects: Objects) -> list[Json]:
    namespace = obj["metadata"].get("namespace", "")
    return sorted(objects.all(LIMIT_RANGES, namespace), key=lambda one: str(one["metadata"]["name"]))


def _fill(container: Json, requests: _Amounts, limits: _Amounts, kind: str) -> Iterable[str]:
    resources = container["resources"] = container.get("resources") or {}
    for field, defaults, what in (("requests", requests, "request"), ("limits", limits, "limit")):
        present = resources.get(field) or {}
        missing = {name: value for name, value in defaults.items() if name not in present}
        if missing:
            resources[field] = {**present, **missing}
            yield f"{', '.join(sorted(missing))} {what} for {kind} {container.get('name', '')}"


def _faults(item: Json, resource: Resource, obj: Json) -> Iterable[str]:
    kind = item.get("type", "")
    if resource == PERSISTENT_VOLUME_CLAIMS:
        if kind == "PersistentVolumeClaim":
            requests = (obj["spec"].get("resources") or {}).get("requests") or {}
            yield from _below(kind, item, requests, {})
            yield from _above_request(kind, item, requests)
    elif kind == "Container":
        for container in (*(obj["spec"].get("containers") or ()), *(obj["spec"].get("initContainers") or ())):
            resources = container.get("resources") or {}
            yield from _bounds(kind, item, resources.get("requests") or {}, resources.get("limits") or {})
    elif kind == "Pod":
        yield from _bounds(kind, item, _total(obj["spec"], "requests"), _total(obj["spec"], "limits"))


def _bounds(kind: str, item: Json, requests: _Amounts, limits: _Amounts) -> Iterable[str]:
    yield from _below(kind, item, requests, limits)
    for name, most in (item.get("max") or {}).items():
        start = f"maximum {name} usage per {kind} is {canonical(most)}"
        if name not in limits:
            yield f"{start}.  No limit is specified"
        elif parse(limits[name]) > parse(most):
            yield f"{start}, but limit is {canonical(limits[name])}"
        elif name in requests and parse(requests[name]) > parse(most):
            yield f"{start}, but request is {canonical(requests[name])}"
    for name, most in (item.get("maxLimitRequestRatio") or {}).items():
        yield from _ratio(kind, name, most, requests, limits)


def _below(kind: str, item: Json, requests: _Amounts, limits: _Amounts) -> Iterable[str]:
    for name, least in (item.get("min") or {}).items():
        start = f"minimum {name} usage per {kind} is {canonical(least)}"
        if name not in requests:
            yield f"{start}.  No request is specified"
        elif parse(requests[name]) < parse(least):
            yield f"{start}, but request is {canonical(requests[name])}"
        elif name in limits and parse(limits[name]) < parse(least):
            yield f"{start}, but limit is {canonical(limits[name])}"


def _above_request(kind: str, item: Json, requests: _Amounts) -> Iterable[str]:
    for name, most in (item.get("max") or {}).items():
        start = f"maximum {name} usage per {kind} is {canonical(most)}"
        if name not in requests:
            yield f"{start}.  No request is specified"
        elif parse(requests[name]) > parse(most):
            yield f"{start}, but request is {canonical(requests[name])}"


def _ratio(kind: str, name: str, most: Any, requests: _Amounts, limits: _Amounts) -> Iterable[str]:
    start = f"{name} max limit to request ratio per {kind} is {canonical(most)}"
    request, limit = parse(requests.get(name, 0)), parse(limits.get(name, 0))
    if request == 0:
        yield f"{start}, but no request is specified or request is 0"
    elif limit == 0:
        yield f"{start}, but no limit is specified or limit is 0"
    elif limit / request > parse(most):
        yield f"{start}, but provided ratio is {float(limit / request):.6f}"


def _total(spec: Json, field: str) -> _Amounts:
    """What a pod requests, or may use, as a whole, without its overhead; names that no container has are absent."""

    def with_field(part: Json) -> Json:
        return {**part, "overhead": {}, "resources": {"requests": (part.get("resources") or {}).get(field) or {}}}

    parts = {name: [with_field(one) for one in spec.get(name) or ()] for name in ("containers", "initContainers")}
    amounts = requested(msgspec.convert({**with_field(spec), **parts}, PodRequests))
    return {name: _quantity(amount) for name, amount in amounts.items()}


def _quantity(amount: Fraction) -> str:
    return format_milli(amount, binary=amount >= 1024 and amount.denominator == 1 and amount % 1024 == 0)
