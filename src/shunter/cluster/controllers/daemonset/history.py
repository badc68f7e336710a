"""The revisions of a DaemonSet's template: the one that it has now, and the older ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from shunter.api.apps import REVISION_HASH, ControllerRevision, DaemonSet
from shunter.api.core import Pod
from shunter.api.resources import CONTROLLER_REVISIONS, DAEMON_SETS
from shunter.cluster.controllers.workloads.claiming import Owner
from shunter.cluster.controllers.workloads.hashes import template_hash
from shunter.cluster.controllers.workloads.revisions import creation, data_of, ordered, renumbering
from shunter.kube.controllers.plan import Delete, Ref, Write


class History(NamedTuple):
    """`writes` create the current revision, or renumber it."""

    hash: str
    old: tuple[ControllerRevision, ...]
    collisions: int | None
    writes: tuple[Write, ...] = ()


def history(daemon_set: DaemonSet, revisions: Sequence[ControllerRevision]) -> History:
    """The revision with the DaemonSet's template, made where there is none, and the newest in any case."""
    template, collisions = daemon_set.spec.template, daemon_set.status.collision_count
    data = data_of(template)
    current = [one for one in ordered(revisions) if one.data == data]
    old = tuple(one for one in ordered(revisions) if one.data != data)
    number = max((one.revision for one in old), default=0) + 1
    if current:
        newest = current[-1]
        writes = (renumbering(newest, number),) if newest.revision < number else ()
        return History(newest.metadata.labels.get(REVISION_HASH, ""), old, collisions, writes)
    names = {one.metadata.name for one in old}
    while f"{daemon_set.metadata.name}-{template_hash(template, collisions)}" in names:
        collisions = (collisions or 0) + 1
    hash = template_hash(template, collisions)
    owner = Owner(DAEMON_SETS, daemon_set.metadata)
    made = creation(owner, f"{daemon_set.metadata.name}-{hash}", template, labels={REVISION_HASH: hash}, number=number)
    return History(hash, old, collisions, (made,))


def superfluous(daemon_set: DaemonSet, old: Sequence[ControllerRevision], pods: Iterable[Pod]) -> list[Delete]:
    """Deletes the oldest revisions beyond revisionHistoryLimit that no pod has."""
    live = {pod.metadata.labels.get(REVISION_HASH, "") for pod in pods}
    surplus = max(len(old) - daemon_set.spec.revision_history_limit, 0)
    unused = [one for one in old if one.metadata.labels.get(REVISION_HASH, "") not in live]
    return [Delete(ref=Ref.of(CONTROLLER_REVISIONS, one.metadata)) for one in unused[:surplus]]
