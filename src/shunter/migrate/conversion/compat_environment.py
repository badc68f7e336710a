"""v1's variables for pods of v2 without a plugin, from what every pod of a JobSet knows.

The v1 engine computes the variables for a job named `$(TRAIN_JOB_NAME)`, which the kubelet replaces: so a runtime works for any
name, and only the engine has rules about variables. The index of a pod comes from an annotation.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from msgspec.structs import replace

from shunter.api.late_patterns import late_pattern
from shunter.api.meta import Json
from shunter.migrate.conversion.draft import JOB_NAME, JOB_NAME_VARIABLE, Draft, Group
from shunter.operator.training.framework import Settings
from shunter.operator.training.names import replica_name

NAMESPACE = "TRAIN_JOB_NAMESPACE"
"""Names the pod's namespace, where v1's operator wrote full names (CUSTOM_CLUSTER_DOMAIN)."""
GLOBAL_INDEX_SOURCE: Json = {"fieldRef": {"fieldPath": "metadata.annotations['jobset.sigs.k8s.io/job-global-index']"}}
"""A pod's place among all Jobs of the JobSet, in the order of its replicated jobs."""

_HOST = late_pattern(rf"\$\({JOB_NAME}\)-([a-z0-9-]+?)-([0-9]+)((?:\.\$\({NAMESPACE}\)\.svc)?)(?![a-z0-9-])")

Place = tuple[Group, int]
Host = Callable[[str, int], str]
"""The host of a pod of v1, by role in lower case and index, in terms of JOB_NAME."""


def place_roles(draft: Draft) -> None:
    """Says which pod of which group stands for each pod of v1, under the name that v1 gave it. Groups take the pods of their
    roles in order, those that come later what is left."""
    if draft.source.metadata.get("name"):
        placed = places(draft)
        draft.hosts = {replica_name(draft.job.name, role, index): place for (role, index), place in placed.items()}


def places(draft: Draft) -> dict[tuple[str, int], Place]:
    """The pods of v1, by role and index, and what stands for them."""
    taken: dict[str, int] = {}
    placed: dict[tuple[str, int], Place] = {}
    for group in draft.groups:
        room, own = group.count * group.replicas, 0
        for role in group.roles:
            before = taken.get(role, 0)
            count = min(draft.job.replica_count(role) - before, room - own)
            placed |= {(role, before + number): (group, own + number) for number in range(count)}
            taken[role], own = before + count, own + count
    return placed


def variables_of_v1(draft: Draft, role: str, index: int, *, host: Host | None = None, **sources: Json) -> list[Json]:
    """The variables that v1 gives the pod, in terms of what its pod of v2 knows: JOB_NAME_VARIABLE first. Variables named in
    `sources` have their value from there; `host` says where pods of v1 are now, by default `host_in(draft)`."""
    metadata = replace(draft.job.metadata, name=f"$({JOB_NAME})", namespace=f"$({NAMESPACE})")
    framework = draft.framework.with_settings(Settings(cluster_domain=draft.options.cluster_domain))
    host = host or host_in(draft)
    added = []
    for variable in framework.environment(replace(draft.job, metadata=metadata), role)(index):
        if variable["name"] in sources:
            variable = {"name": variable["name"], "valueFrom": sources[variable["name"]]}
        elif "value" in variable:
            variable = {**variable, "value": _rehosted(variable["value"], host, draft.options.cluster_domain)}
        added.append(variable)
    values = "".join(variable.get("value", "") for variable in added)
    known = [JOB_NAME_VARIABLE] if f"$({JOB_NAME})" in values else []
    if f"$({NAMESPACE})" in values:
        known.append({"name": NAMESPACE, "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}})
    return [*known, *added]


def host_in(draft: Draft) -> Host:
    """The hosts of the pods that stand for v1's."""
    lower = {(role.lower(), index): place for (role, index), place in places(draft).items()}

    def host(role: str, index: int) -> str:
        if (role, index) not in lower:
            return replica_name(f"$({JOB_NAME})", role, index)
        group, number = lower[role, index]
        return group.host_expression(number)

    return host


def _rehosted(value: str, host: Host, cluster_domain: str) -> str:
    """A value of v1 with the hosts of v2; full names stay full where the operator was given a domain."""

    def found(match: re.Match[str]) -> str:
        return host(match[1], int(match[2])) + (match[3] if cluster_domain else "")

    return _HOST.sub(found, value)
