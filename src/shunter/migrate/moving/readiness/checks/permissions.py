"""The permissions of this user in each namespace: those that a plan needs, and those for moving running jobs and cleaning up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from shunter.api.resources import (
    CONFIG_MAPS,
    JOBSETS,
    PODS,
    TRAIN_JOBS,
    TRAINING_RUNTIMES,
    VALIDATING_POLICIES,
    VALIDATING_POLICY_BINDINGS,
)
from shunter.kube.access import Request, listed
from shunter.migrate.findings import Topic
from shunter.migrate.moving.readiness.facts import Facts, Fault
from shunter.migrate.moving.steps import V1_JOBS

TOPIC = Topic(
    id="READY007",
    title="this user has the permissions for a plan",
    severity="error",
    change="manual",
    grade="N",
    explanation=(
        "A plan creates runtimes and TrainJobs in each namespace, suspends v1 jobs that are moved, and keeps its journal in "
        "ConfigMaps. Users who create TrainJobs need permissions for them: those for v1 kinds do not apply."
    ),
    remedy="Grant the permissions (the ClusterRole shunter-edit has those for jobs), or let an administrator apply the plan.",
)
_NEEDED = (
    *((verb, resource) for resource in (TRAIN_JOBS, TRAINING_RUNTIMES) for verb in ("create", "get", "list", "patch", "delete")),
)


def requests(namespaces: Iterable[str], kinds: Iterable[str]) -> list[Request]:
    """The permissions to review; `kinds` are the kinds of the v1 jobs."""
    found = [Request("create", resource, "") for resource in (VALIDATING_POLICIES, VALIDATING_POLICY_BINDINGS)]
    names = sorted(kinds)
    for namespace in namespaces:
        found += [Request(verb, resource, namespace) for verb, resource in _NEEDED]
        found += [Request(verb, V1_JOBS[kind], namespace) for kind in names for verb in ("get", "list", "patch", "delete")]
        found += [Request("list", PODS, namespace), Request("get", JOBSETS, namespace)]
        found += [Request(verb, CONFIG_MAPS, namespace) for verb in ("create", "patch", "list")]
    return found


def applies(facts: Facts) -> bool:
    """Always, as every user has permissions to check."""
    return True


def faults(facts: Facts) -> Iterator[Fault]:
    """At most two for each namespace: missing permissions that a plan needs, and, as advice, other missing ones."""
    refused = [request for request, is_allowed in facts.allowed.items() if not is_allowed]
    for namespace in sorted({request.namespace for request in refused}):
        here = [request for request in refused if request.namespace == namespace]
        needed = [request for request in here if (request.verb, request.resource) in _NEEDED]
        others = [request for request in here if request not in needed]
        if needed:
            yield Fault(f"no permission to {listed(needed)}.", f"Namespace {namespace}")
        if others:
            yield Fault(
                f"no permission to {listed(others)}.",
                f"Namespace {namespace}" if namespace else "",
                _why(others),
                "advisory",
            )


def _why(requests: list[Request]) -> str:
    if all(request.resource in (VALIDATING_POLICIES, VALIDATING_POLICY_BINDINGS) for request in requests):
        return "Freezing v1 needs an administrator; to plan without it: plan --freeze none"
    return (
        "Moving running jobs needs get and patch on v1 jobs, list on pods and get on jobsets; cleaning up needs delete; the "
        "journal needs ConfigMaps in one namespace."
    )
