"""Whether there is enough capacity for a trial: quotas of its namespace, free resources of the nodes. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction

import msgspec

from shunter.api.core import pod_has_ended
from shunter.api.formats.quantity import parse
from shunter.api.meta import Json
from shunter.api.resources import JOBSETS, PODS, TRAIN_JOBS, TRAINING_RUNTIMES
from shunter.api.scheduling.pod_requests import Amounts, PodRequests, requested
from shunter.api.scheduling.quotas import count_name
from shunter.api.scheduling.quotas import used as counted
from shunter.cluster.node.registration import PROCESS_NODE

ONE_EACH = (TRAIN_JOBS, TRAINING_RUNTIMES, JOBSETS)
"""Objects of which a trial has one each, which quotas may count."""
NOTHING = Fraction(0)


def quota_obstacles(quotas: Iterable[Json], pods: Sequence[Json], *, asker: str = "the trial") -> Iterator[str]:
    """The quotas that do not allow the pods of one job and their objects."""
    for quota in quotas:
        status = quota.get("status") or {}
        hard, used = status.get("hard") or quota["spec"].get("hard") or {}, status.get("used") or {}
        wanted = counted(quota, PODS, pods, hard)
        for resource in ONE_EACH:
            wanted |= counted(quota, resource, [{}], set(hard) & {count_name(resource)})
        for name, quantity in hard.items():
            free = parse(quantity) - parse(used.get(name, 0))
            if wanted[name] > max(free, NOTHING):
                title = f"ResourceQuota {quota['metadata']['name']}"
                yield f"{title} leaves {_shown(free)} of {name}, {asker} requests {_shown(wanted[name])}"


def node_obstacles(nodes: Iterable[Json], running: Iterable[Json], pods: Sequence[Json]) -> Iterator[str]:
    """The resources of which all schedulable nodes together have too little free; whether pods fit on single nodes is not
    checked. None if a node runs pods as processes: it accepts any requests."""
    free: dict[str, Fraction] = {}
    names = set()
    for node in nodes:
        if PROCESS_NODE in (node["metadata"].get("labels") or {}):
            return
        if (node.get("spec") or {}).get("unschedulable"):
            continue
        names.add(node["metadata"]["name"])
        for name, quantity in ((node.get("status") or {}).get("allocatable") or {}).items():
            free[name] = free.get(name, NOTHING) + parse(quantity)
    for pod in running:
        if pod["spec"].get("nodeName") in names and not pod_has_ended(pod):
            for name, amount in needed([pod]).items():
                free[name] = free.get(name, NOTHING) - amount
    for name, amount in needed(pods).items():
        if amount > max(free.get(name, NOTHING), NOTHING):
            yield f"the nodes have {_shown(free.get(name, NOTHING))} of {name} left, the trial requests {_shown(amount)}"


def needed(pods: Iterable[Json]) -> Amounts:
    """The total requests of pods."""
    amounts: Amounts = {}
    for pod in pods:
        for name, amount in requested(msgspec.convert(pod["spec"], PodRequests)).items():
            amounts[name] = amounts.get(name, NOTHING) + amount
    return amounts


def _shown(amount: Fraction) -> str:
    return str(amount.numerator) if amount.denominator == 1 else f"{float(amount):g}"
