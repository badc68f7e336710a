"""Quotas: whether both generations fit while they run side by side."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import msgspec

from shunter.api.meta import Json
from shunter.api.pod_requests import PodRequests, requested
from shunter.api.quantity import parse
from shunter.api.resources import RESOURCE_QUOTAS, TRAIN_JOBS
from shunter.migrate.findings import Topic
from shunter.migrate.readiness.facts import Facts, Fault, title
from shunter.operator.overview import FINISHED_STATES, overview, replica_specs

TOPIC = Topic(
    id="READY010",
    title="quotas have room for both generations",
    severity="warning",
    impact="advisory",
    change="manual",
    grade="D",
    explanation=(
        "While a v1 job and its twin are there together, both count. A quota that the v1 jobs fill keeps the pods of a twin "
        "waiting, and only events of a Job tell. Quotas on count/pytorchjobs.kubeflow.org do not limit TrainJobs."
    ),
    remedy="Raise the quota while both are there, or let each v1 job end before its twin starts.",
    effort=1,
    traps=("T22",),
)
_OBJECTS = f"count/{TRAIN_JOBS.plural}.{TRAIN_JOBS.group}"


def applies(facts: Facts) -> bool:
    return bool(facts.all(RESOURCE_QUOTAS)) and bool(facts.batch.outcomes)


def faults(facts: Facts) -> Iterator[Fault]:
    for quota in facts.all(RESOURCE_QUOTAS):
        hard = {**(quota.get("spec") or {}).get("hard", {})}
        used = (quota.get("status") or {}).get("used") or {}
        needs = _largest(facts, quota["metadata"]["namespace"])
        for name, limit in sorted(hard.items()):
            need, job = needs.get(name.removeprefix("requests."), (Fraction(0), ""))
            if name.startswith("limits.") or not job:
                continue
            room = parse(limit) - parse(used.get(name, "0"))
            if need > room:
                free = f"{_plain(room)} of {limit} is free"
                yield Fault(f"{name}: the twin of {job} asks for {_plain(need)}, and {free}.", title(quota))
        v1 = [name for name in hard if name.startswith("count/") and name.endswith("jobs.kubeflow.org")]
        if v1 and _OBJECTS not in hard:
            yield Fault(
                f"it limits {', '.join(sorted(v1))}, and TrainJobs not at all.", title(quota), f"Add {_OBJECTS} to the quota."
            )


def _largest(facts: Facts, namespace: str) -> dict[str, tuple[Fraction, str]]:
    """By resource, the most that the twin of one unfinished job asks for, and the job."""
    found: dict[str, tuple[Fraction, str]] = {}
    for outcome in facts.batch.outcomes:
        source = outcome.source
        if source.namespace != namespace or overview(source.value).state in FINISHED_STATES:
            continue
        for name, amount in _asked(source.value).items():
            if amount > found.get(name, (Fraction(0), ""))[0]:
                found[name] = amount, source.title
    return found


def _asked(job: Json) -> dict[str, Fraction]:
    """What all pods of a job ask for together; pods are `pods`."""
    total: dict[str, Fraction] = {"pods": Fraction(0)}
    for spec in replica_specs(job).values():
        replicas = spec.get("replicas", 1)
        pod = msgspec.convert((spec.get("template") or {}).get("spec") or {}, PodRequests)
        total["pods"] += replicas
        for name, amount in requested(pod).items():
            total[name] = total.get(name, Fraction(0)) + amount * replicas
    return total


def _plain(amount: Fraction) -> str:
    return f"{float(amount):g}"
