"""How large each ReplicaSet of a Deployment should be now: during a rollout, and after a change of `replicas`.

Source: k8s.io/kubernetes 1.36 `pkg/controller/deployment` rolling.go, recreate.go, sync.go.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from shunter.api.apps import Deployment, ReplicaSet
from shunter.cluster.controllers.deployment.bounds import max_surge, max_unavailable
from shunter.cluster.controllers.deployment.history import (
    DESIRED_REPLICAS,
    MAX_REPLICAS,
    Versions,
    active,
    by_creation,
    number,
)

Sizes: TypeAlias = Mapping[str, int]
"""The replicas that ReplicaSets should have, by name; those that are not mentioned stay as they are."""


def is_scaled(deployment: Deployment, versions: Versions) -> bool:
    """Whether `replicas` of the Deployment has changed since its ReplicaSets got their sizes."""
    desired = (number(one.metadata, DESIRED_REPLICAS) for one in active(versions.all))
    return any(one is not None and one != deployment.spec.replicas for one in desired)


def scaled(deployment: Deployment, versions: Versions) -> Sizes:
    """Sizes after a change of `replicas`: of the one active ReplicaSet, or during a rollout of all in proportion."""
    one = _only_active_or_latest(versions)
    if one is not None:
        return {one.metadata.name: deployment.spec.replicas}
    if versions.new is not None and _is_saturated(deployment, versions.new):
        return {one.metadata.name: 0 for one in versions.active_old}
    return _in_proportion(deployment, active(versions.all)) if deployment.is_rolling else {}


def first_size(deployment: Deployment, old: Sequence[ReplicaSet]) -> int:
    """What a ReplicaSet that is about to be made starts with."""
    return _grown(deployment, 0, sum(one.spec.replicas for one in old)) if deployment.is_rolling else deployment.spec.replicas


def rolled(deployment: Deployment, versions: Versions) -> Sizes:
    """The next step of a rolling update: the new ReplicaSet grows as far as maxSurge lets it; once it cannot, the old ones shrink
    as far as maxUnavailable lets them, pods that are not available first."""
    new, replicas = versions.new, deployment.spec.replicas
    assert new is not None, "a rolling update starts by making the new ReplicaSet"
    size = new.spec.replicas
    if size != replicas:
        total = sum(one.spec.replicas for one in versions.all)
        size = replicas if size > replicas else _grown(deployment, size, total)
    if size != new.spec.replicas:
        return {new.metadata.name: size}
    return _shrunk(deployment, versions, new)


def _grown(deployment: Deployment, size: int, total: int) -> int:
    room = deployment.spec.replicas + max_surge(deployment) - total
    return size if room <= 0 else size + min(room, deployment.spec.replicas - size)


def _shrunk(deployment: Deployment, versions: Versions, new: ReplicaSet) -> Sizes:
    old = sorted(versions.active_old, key=by_creation)
    least = deployment.spec.replicas - max_unavailable(deployment)
    missing = new.spec.replicas - _available(new)
    surplus = sum(one.spec.replicas for one in versions.all) - least - missing
    if not old or surplus <= 0:
        return {}
    sizes = {one.metadata.name: one.spec.replicas for one in old}
    for one in old:
        unhealthy = min(surplus, one.spec.replicas - _available(one))
        sizes[one.metadata.name] -= unhealthy
        surplus -= unhealthy
    spare = sum(_available(one) for one in (*old, new)) - least
    for one in old:
        fewer = min(max(spare, 0), sizes[one.metadata.name])
        sizes[one.metadata.name] -= fewer
        spare -= fewer
    return {one.metadata.name: sizes[one.metadata.name] for one in old if sizes[one.metadata.name] != one.spec.replicas}


def _available(replica_set: ReplicaSet) -> int:
    """Not more than there are to be: the status may still count pods that go."""
    return min(replica_set.status.available_replicas, replica_set.spec.replicas)


def _only_active_or_latest(versions: Versions) -> ReplicaSet | None:
    """The one ReplicaSet that is to have pods; where none is, the newest. None during a rollout."""
    found = active(versions.all)
    if len(found) == 1:
        return found[0]
    if found or not versions.all:
        return None
    return versions.new or max(versions.old, key=by_creation)


def _is_saturated(deployment: Deployment, new: ReplicaSet) -> bool:
    replicas = deployment.spec.replicas
    desired = number(new.metadata, DESIRED_REPLICAS)
    return new.spec.replicas == desired == new.status.available_replicas == replicas


def _in_proportion(deployment: Deployment, replica_sets: Sequence[ReplicaSet]) -> Sizes:
    """Each grows or shrinks by its share; what rounding leaves over goes to the largest."""
    allowed = deployment.spec.replicas + max_surge(deployment) if deployment.spec.replicas else 0
    change = allowed - sum(one.spec.replicas for one in replica_sets)
    ordered = sorted(replica_sets, key=by_creation, reverse=change > 0)
    ordered.sort(key=lambda one: -one.spec.replicas)
    sizes, added = {}, 0
    for one in ordered:
        part = 0
        if change and change != added:
            part = (min if change > 0 else max)(_fraction(deployment, one), change - added)
        sizes[one.metadata.name] = one.spec.replicas + part
        added += part
    if ordered and change:
        first = ordered[0].metadata.name
        sizes[first] = max(sizes[first] + change - added, 0)
    return sizes


def _fraction(deployment: Deployment, replica_set: ReplicaSet) -> int:
    """By how much a ReplicaSet would change alone."""
    size = replica_set.spec.replicas
    if deployment.spec.replicas == 0:
        return -size
    before = number(replica_set.metadata, MAX_REPLICAS) or deployment.status.replicas
    if before == 0:
        return 0
    desired = size * (deployment.spec.replicas + max_surge(deployment)) / before
    return math.floor(desired + 0.5) - size
