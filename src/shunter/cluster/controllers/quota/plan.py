"""One reconcile of a ResourceQuota: its limits and what is used of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

import msgspec

from shunter.api.formats.quantity import canonical, format_milli, is_binary
from shunter.api.meta import Json
from shunter.api.resources import RESOURCE_QUOTAS, Resource
from shunter.api.scheduling.quotas import count_name, resource_of, used
from shunter.kube.controllers.plan import Plan, Ref, StatusWrite


class Observed(msgspec.Struct, frozen=True, kw_only=True):
    """A quota as it is stored, and all objects of its namespace that it may count, by their resource."""

    quota: Json
    objects: Mapping[Resource, Sequence[Json]] = {}


def plan(observed: Observed) -> Plan:
    """What the controller writes now."""
    quota, metadata = observed.quota, observed.quota["metadata"]
    hard: Json = quota["spec"].get("hard") or {}
    amounts = {name: Fraction(0) for name in hard if resource_of(name) is not None}
    for resource, objects in observed.objects.items():
        names = [name for name in hard if resource_of(name) == resource or name == count_name(resource)]
        amounts |= used(quota, resource, objects, names)
    desired: Json = {
        "hard": {name: canonical(value) for name, value in hard.items()},
        "used": {name: format_milli(amount, binary=is_binary(hard[name])) for name, amount in amounts.items()},
    }
    ref = Ref(RESOURCE_QUOTAS, metadata["namespace"], metadata["name"], metadata["uid"])
    version = metadata["resourceVersion"]
    status = {name: value for name, value in desired.items() if value}
    before = quota.get("status") or {}
    return Plan(status=StatusWrite(ref=ref, observed=before, desired=status, resource_version=version))
