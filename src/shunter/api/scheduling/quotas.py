"""What an object counts for in ResourceQuotas.

Source: k8s.io/kubernetes 1.36 `pkg/quota/v1/evaluator/core`. Amounts are exact, in each resource's own unit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any

import msgspec

from shunter.api.core import pod_has_ended
from shunter.api.formats.quantity import parse
from shunter.api.meta import Json
from shunter.api.resources import (
    CONFIG_MAPS,
    CORE_EVENTS,
    EVENTS,
    PERSISTENT_VOLUME_CLAIMS,
    PODS,
    REPLICATION_CONTROLLERS,
    RESOURCE_QUOTAS,
    SECRETS,
    SERVICES,
    Resource,
)
from shunter.api.scheduling.pod_requests import Amounts, PodRequests, may_overcommit, requested
from shunter.api.scheduling.storage_classes import class_of
from shunter.api.selectors import requirement_holds

COUNTED = ("configmaps", "secrets", "replicationcontrollers", "resourcequotas", "services", "persistentvolumeclaims")
"""Resources of the core group that are counted by their bare name."""
_NEEDED = ("cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory")
"""What every container has to say once a quota counts it."""
_NATIVE = ("cpu", "memory", "ephemeral-storage")
_HUGE_PAGES = "hugepages-"
_STORAGE_CLASS = ".storageclass.storage.k8s.io/"


def usage(resource: Resource, obj: Json) -> Amounts:
    """All that an object of the resource counts for, by the names that quotas use; events count for nothing. ValueError for what
    is no quantity."""
    if not counts(resource):
        return {}
    found: Amounts = {count_name(resource): Fraction(1)}
    if not resource.group and resource.plural in COUNTED:
        found[resource.plural] = Fraction(1)
    if resource == PODS:
        found |= _of_pod(obj)
    elif resource == PERSISTENT_VOLUME_CLAIMS:
        found |= _of_claim(obj)
    elif resource == SERVICES:
        found |= _of_service(obj)
    return found


def used(quota: Json, resource: Resource, objects: Iterable[Json], names: Iterable[str]) -> Amounts:
    """How much of each name the objects of a resource take up that the quota selects."""
    total = dict.fromkeys(names, Fraction(0))
    for one in objects:
        if selects(quota, resource, one):
            amounts = usage(resource, one)
            for name in total:
                total[name] += amounts.get(name, Fraction(0))
    return total


def resource_of(name: str) -> Resource | None:
    """What a name of a quota counts: a resource of the core group; None for other `count/...` and for what is not counted."""
    plural = name.removeprefix("count/")
    if plural == PODS.plural or name.startswith("limits.") or name in _NATIVE:
        return PODS
    if plural == PERSISTENT_VOLUME_CLAIMS.plural or name == "requests.storage" or _STORAGE_CLASS in name:
        return PERSISTENT_VOLUME_CLAIMS
    if name.startswith(("requests.", _HUGE_PAGES)):
        return PODS
    if plural == SERVICES.plural or name.startswith("services."):
        return SERVICES
    return next((one for one in (CONFIG_MAPS, SECRETS, REPLICATION_CONTROLLERS, RESOURCE_QUOTAS) if one.plural == plural), None)


def counts(resource: Resource) -> bool:
    """Whether quotas count its objects at all: events do not."""
    return resource.namespaced and resource not in (CORE_EVENTS, EVENTS)


def count_name(resource: Resource) -> str:
    """`count/jobs.batch`, `count/pods`."""
    return f"count/{resource.full_name}"


def selects(quota: Json, resource: Resource, obj: Json) -> bool:
    """Whether the object is in the quota's scopes, which only pods and claims can be."""
    spec = quota["spec"]
    rules = [{"scopeName": scope, "operator": "Exists"} for scope in spec.get("scopes") or ()]
    rules += (spec.get("scopeSelector") or {}).get("matchExpressions") or ()
    if not rules:
        return True
    in_scope = {PODS: _pod_in_scope, PERSISTENT_VOLUME_CLAIMS: _claim_in_scope}.get(resource)
    return in_scope is not None and all(in_scope(rule, obj) for rule in rules)


def counts_update(resource: Resource, obj: Json, old: Json) -> bool:
    """Whether an update may count for more than before: what a pod uses stays, but a deadline moves it to other scopes."""
    return resource != PODS or _is_terminating(obj) != _is_terminating(old)


def unspecified(pod: Json, hard: Iterable[str]) -> dict[str, list[str]]:
    """The containers that do not say what a quota counts, by its name, sorted."""
    spec = pod["spec"]
    if (spec.get("resources") or {}).get("requests") or (spec.get("resources") or {}).get("limits"):
        return {}
    missing: dict[str, list[str]] = {}
    for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
        specified = _specified(container.get("resources") or {})
        for name in sorted(set(hard) & set(_NEEDED) - specified):
            missing.setdefault(name, []).append(container.get("name", ""))
    return {name: sorted(set(missing[name])) for name in sorted(missing)}


def _specified(resources: Json) -> set[str]:
    requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
    return {*requests, *(f"requests.{name}" for name in requests), *(f"limits.{name}" for name in limits)}


def _of_pod(pod: Json) -> Amounts:
    """A pod that has ended takes up nothing."""
    if pod_has_ended(pod):
        return {}
    found: Amounts = {"pods": Fraction(1)}
    for name, amount in requested(msgspec.convert(pod["spec"], PodRequests)).items():
        if name in _NATIVE or name.startswith(_HUGE_PAGES):
            found[name] = found[f"requests.{name}"] = amount
        elif not may_overcommit(name):
            found[f"requests.{name}"] = amount
    limits = requested(msgspec.convert(_with_limits(pod["spec"]), PodRequests))
    found |= {f"limits.{name}": amount for name, amount in limits.items() if name in _NATIVE}
    return found


def _with_limits(spec: Json) -> Json:
    """The spec of a pod that requests what it may use at most."""

    def swapped(part: Json) -> Json:
        return {**part, "resources": {"requests": (part.get("resources") or {}).get("limits") or {}}}

    fields = {name: [swapped(one) for one in spec.get(name) or ()] for name in ("containers", "initContainers")}
    return {**swapped(spec), **fields}


def _of_claim(claim: Json) -> Amounts:
    spec = claim["spec"]
    size = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    found = {"requests.storage": parse(size)} if size is not None else {}
    if storage_class := class_of(claim):
        found |= {f"{storage_class}{_STORAGE_CLASS}{name}": amount for name, amount in found.items()}
        found[f"{storage_class}{_STORAGE_CLASS}persistentvolumeclaims"] = Fraction(1)
    return found


def _of_service(service: Json) -> Amounts:
    kind, ports = service["spec"].get("type", ""), len(service["spec"].get("ports") or ())
    if kind == "NodePort":
        return {"services.nodeports": Fraction(ports)}
    if kind == "LoadBalancer":
        has_ports = service["spec"].get("allocateLoadBalancerNodePorts", True)
        return {"services.loadbalancers": Fraction(1), **({"services.nodeports": Fraction(ports)} if has_ports else {})}
    return {}


def _pod_in_scope(rule: Json, pod: Json) -> bool:
    spec: dict[str, Any] = pod["spec"]
    is_best_effort: bool = pod.get("status", {}).get("qosClass") == "BestEffort"
    match rule["scopeName"]:
        case "Terminating":
            return _is_terminating(pod)
        case "NotTerminating":
            return not _is_terminating(pod)
        case "BestEffort":
            return is_best_effort
        case "NotBestEffort":
            return not is_best_effort
        case "PriorityClass":
            name = spec.get("priorityClassName", "")
            return requirement_holds({**rule, "key": "class"}, {"class": name} if name else {})
        case "CrossNamespacePodAffinity":
            return any(term.get("namespaces") or term.get("namespaceSelector") is not None for term in _affinity_terms(spec))
    return False


def _is_terminating(pod: Json) -> bool:
    return "activeDeadlineSeconds" in pod["spec"]


def _affinity_terms(spec: Json) -> Iterator[Json]:
    for kind in ("podAffinity", "podAntiAffinity"):
        terms = (spec.get("affinity") or {}).get(kind) or {}
        yield from terms.get("requiredDuringSchedulingIgnoredDuringExecution") or ()
        for weighted in terms.get("preferredDuringSchedulingIgnoredDuringExecution") or ():
            yield weighted["podAffinityTerm"]


def _claim_in_scope(rule: Json, claim: Json) -> bool:
    """A claim is in all classes that it has or is about to get."""
    if rule["scopeName"] != "VolumeAttributesClass":
        return False
    status = claim.get("status") or {}
    names = {
        claim["spec"].get("volumeAttributesClassName"),
        status.get("currentVolumeAttributesClassName"),
        (status.get("modifyVolumeStatus") or {}).get("targetVolumeAttributesClassName"),
    } - {None, ""}
    values = [{"class": str(name)} for name in names] or [{}]
    return any(requirement_holds({**rule, "key": "class"}, one) for one in values)
