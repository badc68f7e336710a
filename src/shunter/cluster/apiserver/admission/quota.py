"""Admission by ResourceQuotas: what would take more of a namespace than it has is refused.

Usage is counted from the objects for each write, in the same turn of the event loop in which the new object is stored: of
requests that come together none is let through that another left no room for.

Source: k8s.io/apiserver 1.36 `admission/plugin/resourcequota`.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from shunter.api.formats.quantity import canonical, format_milli, is_binary, parse
from shunter.api.meta import Json
from shunter.api.resources import PODS, RESOURCE_QUOTAS, Resource
from shunter.api.scheduling.pod_requests import Amounts
from shunter.api.scheduling.quotas import selects, unspecified, usage, used
from shunter.cluster.apiserver.kinds import Objects, RejectedError


def review(resource: Resource, obj: Json, old: Json | None, objects: Objects) -> None:
    """Raises RejectedError for an object that would exceed a quota of its namespace."""
    namespace = obj["metadata"].get("namespace", "")
    quotas = list(objects.all(RESOURCE_QUOTAS, namespace))
    if not quotas or (old is not None and resource == PODS):
        return
    asked = usage(resource, obj)
    added = {name: amount - (usage(resource, old) if old is not None else {}).get(name, 0) for name, amount in asked.items()}
    for quota in sorted(quotas, key=lambda one: str(one["metadata"]["name"])):
        hard: Json = quota["spec"].get("hard") or {}
        counted = {name: amount for name, amount in added.items() if name in hard and amount > 0}
        if selects(quota, resource, obj):
            _check(quota, resource, obj, counted, objects.all(resource, namespace))


def _check(quota: Json, resource: Resource, obj: Json, added: Amounts, others: Iterable[Json]) -> None:
    name, hard = quota["metadata"]["name"], quota["spec"].get("hard") or {}
    if resource == PODS and (missing := unspecified(obj, hard)):
        texts = [f"{what} for: {','.join(containers)}" for what, containers in missing.items()]
        raise _forbidden(resource, obj, f"failed quota: {name}: must specify {'; '.join(texts)}")
    if not added:
        return
    key = obj["metadata"].get("name", "")
    before = used(quota, resource, (one for one in others if one["metadata"]["name"] != key), added)
    over = sorted(what for what in added if before[what] + added[what] > parse(hard[what]))
    if over:
        asked = ",".join(f"{what}={_shown(added[what], hard[what])}" for what in over)
        taken = ",".join(f"{what}={_shown(before[what], hard[what])}" for what in over)
        limited = ",".join(f"{what}={canonical(hard[what])}" for what in over)
        why = f"exceeded quota: {name}, requested: {asked}, used: {taken}, limited: {limited}"
        raise _forbidden(resource, obj, why)


def _shown(amount: Fraction, like: str) -> str:
    return format_milli(amount, binary=is_binary(like))


def _forbidden(resource: Resource, obj: Json, message: str) -> RejectedError:
    metadata = obj["metadata"]
    return RejectedError(f'{resource.full_name} "{metadata.get("name", "")}" is forbidden: {message}')
