"""The revisions of a StatefulSet: the one that its pods have, and the one that they are to get."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from shunter.api.apps import REVISION_HASH, ControllerRevision, StatefulSet
from shunter.api.core import Pod
from shunter.api.meta import ObjectMeta
from shunter.api.resources import CONTROLLER_REVISIONS, STATEFUL_SETS
from shunter.cluster.controllers.workloads.claiming import Owner
from shunter.cluster.controllers.workloads.hashes import canonical, encoded, fnv_1
from shunter.cluster.controllers.workloads.revisions import creation, data_of, ordered, renumbering
from shunter.kube.controllers.plan import Delete, Ref, Write

HASH = "controller.kubernetes.io/hash"
_LONGEST_PREFIX = 223


class Revisions(NamedTuple):
    """`writes` create the update revision, or renumber it."""

    current: ControllerRevision
    update: ControllerRevision
    collisions: int
    writes: tuple[Write, ...] = ()


def revisions(stateful_set: StatefulSet, stored: Sequence[ControllerRevision]) -> Revisions:
    """The newest revision if it has the template, else an older one that has, which becomes the newest, else a new one."""
    history = ordered(stored)
    data, template = data_of(stateful_set.spec.template), stateful_set.spec.template
    collisions = stateful_set.status.collision_count or 0
    equal = [one for one in history if one.data == data]
    number = history[-1].revision + 1 if history else 1
    writes: tuple[Write, ...] = ()
    if equal:
        update = equal[-1]
        if update is not history[-1]:
            writes = (renumbering(update, number),)
    else:
        names = {one.metadata.name for one in history}
        while (name := f"{stateful_set.metadata.name[:_LONGEST_PREFIX]}-{_hash(stateful_set, collisions)}") in names:
            collisions += 1
        owner = Owner(STATEFUL_SETS, stateful_set.metadata)
        labels = {HASH: _hash(stateful_set, collisions)}
        writes = (creation(owner, name, template, labels=labels, number=number),)
        update = ControllerRevision(metadata=ObjectMeta(name=name), data=data, revision=number)
    current = next((one for one in history if one.metadata.name == stateful_set.status.current_revision), update)
    return Revisions(current, update, collisions, writes)


def superfluous(
    stateful_set: StatefulSet, stored: Sequence[ControllerRevision], found: Revisions, pods: Sequence[Pod]
) -> list[Delete]:
    """Deletes the oldest revisions beyond revisionHistoryLimit that no pod has."""
    live = {found.current.metadata.name, found.update.metadata.name, *(revision_of(pod) for pod in pods)}
    unused = [one for one in ordered(stored) if one.metadata.name not in live]
    surplus = max(len(unused) - stateful_set.spec.revision_history_limit, 0)
    return [Delete(ref=Ref.of(CONTROLLER_REVISIONS, one.metadata)) for one in unused[:surplus]]


def revision_of(pod: Pod) -> str:
    """The name of the revision that the pod was made of, by its label; empty without it."""
    return pod.metadata.labels.get(REVISION_HASH, "")


def _hash(stateful_set: StatefulSet, collisions: int) -> str:
    return encoded(fnv_1(canonical(data_of(stateful_set.spec.template)) + str(collisions).encode()))
