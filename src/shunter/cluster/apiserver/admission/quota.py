"""Admission by ResourceQuotas: what would take more of a namespace than it has is refused.

Usage is counted from the objects for each write, in the same turn of the event loop in which the new object is stored: of
requests that come together none is let through that another left no room for.

Source: k8s.io/apiserver 1.36 `admission/plugin/resourcequota`.
"""

from __future__ import annotations

from fractions import Fraction

from shunter.api.formats.quantity import canonical, format_milli, is_binary, parse
from shunter.api.meta import Json
from shunter.api.resources import PODS, RESOURCE_QUOTAS, Resource
from shunter.api.scheduling.pod_requests import Amounts
from shunter.api.scheduling.quotas import counts_update, selects, unspecified, usage, used
from shunter.cluster.apiserver.kinds import Objects, RejectedError


def review(resource: Resource, obj: Json, old: Json | None, objects: Objects) -> None:
    """Raises RejectedError for an object that would exceed a quota of its namespace."""
    namespace = obj["metadata"].get("namespace", "")
    quotas = sorted(objects.all(RESOURCE_QUOTAS, namespace), key=lambda one: str(one["metadata"]["name"]))
    if not quotas or (old is not None and not counts_update(resource, obj, old)):
        return
    asked = usage(resource, obj)
    selecting = [quota for quota in quotas if selects(quota, resource, obj)]
    for quota in selecting:
        _check_said(quota, resource, obj)
    for quota in selecting:
        before = usage(resource, old) if old is not None and selects(quota, resource, old) else {}
        _check_room(quota, resource, obj, {name: amount - before.get(name, 0) for name, amount in asked.items()}, objects)


def _check_said(quota: Json, resource: Resource, obj: Json) -> None:
    if resource == PODS and (missing := unspecified(obj, _hard(quota))):
        texts = [f"{what} for: {','.join(containers)}" for what, containers in missing.items()]
        raise _forbidden(resource, obj, f"failed quota: {quota['metadata']['name']}: must specify {'; '.join(texts)}")


def _check_room(quota: Json, resource: Resource, obj: Json, added: Amounts, objects: Objects) -> None:
    name, hard = quota["metadata"]["name"], _hard(quota)
    counted = {what: amount for what, amount in added.items() if what in hard and amount > 0}
    if not counted:
        return
    before = used(quota, resource, objects.all(resource, obj["metadata"].get("namespace", "")), counted)
    over = sorted(what for what in counted if before[what] + counted[what] > parse(hard[what]))
    if over:
        asked = ",".join(f"{what}={_shown(counted[what], hard[what])}" for what in over)
        taken = ",".join(f"{what}={_shown(before[what], hard[what])}" for what in over)
        limited = ",".join(f"{what}={canonical(hard[what])}" for what in over)
        why = f"exceeded quota: {name}, requested: {asked}, used: {taken}, limited: {limited}"
        raise _forbidden(resource, obj, why)


def _hard(quota: Json) -> Json:
    hard: Json = quota["spec"].get("hard") or {}
    return hard


def _shown(amount: Fraction, like: str) -> str:
    return format_milli(amount, binary=is_binary(like))


def _forbidden(resource: Resource, obj: Json, message: str) -> RejectedError:
    metadata = obj["metadata"]
    return RejectedError(f'{resource.full_name} "{metadata.get("name", "")}" is forbidden: {message}')
