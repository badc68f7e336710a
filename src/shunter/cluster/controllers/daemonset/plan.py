"""One reconcile of a DaemonSet: a pod on each node that takes it, and its status."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

import msgspec

from shunter.api.apps import ControllerRevision, DaemonSet, DaemonSetStatus, status_json
from shunter.api.core import Node
from shunter.api.meta import EPOCH
from shunter.api.resources import CONTROLLER_REVISIONS, DAEMON_SETS, PODS
from shunter.cluster.controllers.daemonset import rolling
from shunter.cluster.controllers.daemonset.history import history, superfluous
from shunter.cluster.controllers.daemonset.nodes import Place, place
from shunter.cluster.controllers.daemonset.pod import DaemonPod, daemon_pod, is_updated
from shunter.cluster.controllers.workloads.claiming import Owner, claims, controlled
from shunter.cluster.controllers.workloads.pods import (
    MOST_AT_ONCE,
    creation,
    deletion,
    is_available,
    next_availability,
    note,
)
from shunter.kube.controllers.plan import Note, Plan, StatusWrite, Write

_Places = Mapping[str, Place]
_PodsByNode = Mapping[str, Sequence[DaemonPod]]


class Observed(msgspec.Struct, frozen=True, kw_only=True):
    """A DaemonSet, the pods and revisions that it controls or could adopt, and all nodes. Failed pods of `held` (by uid) are
    replaced at that time, others at once."""

    daemon_set: DaemonSet
    pods: tuple[DaemonPod, ...] = ()
    revisions: tuple[ControllerRevision, ...] = ()
    nodes: tuple[Node, ...] = ()
    held: Mapping[str, datetime] = {}

    @property
    def owner(self) -> Owner:
        """The DaemonSet as the owner that its pods and revisions name."""
        return Owner(DAEMON_SETS, self.daemon_set.metadata)


def plan(observed: Observed, now: datetime) -> Plan:
    """What the controller writes now."""
    daemon_set, owner = observed.daemon_set, observed.owner
    adopting = (
        *claims(owner, daemon_set.spec.selector, PODS, observed.pods),
        *claims(owner, daemon_set.spec.selector, CONTROLLER_REVISIONS, observed.revisions),
    )
    if adopting or daemon_set.metadata.deletion_timestamp is not None:
        return Plan(writes=adopting)
    found = history(daemon_set, controlled(owner, observed.revisions))
    mine = controlled(owner, observed.pods)
    pods = _by_node(mine)
    places = {node.metadata.name: place(daemon_set, node) for node in observed.nodes}
    writes, events = _changes(observed, places, pods, found.hash, now)
    old = superfluous(daemon_set, found.old, mine)
    status = _status(observed, places, pods, found.hash, now)
    status = msgspec.structs.replace(status, collision_count=found.collisions)
    waits = [(moment - now).total_seconds() for moment in observed.held.values() if moment > now]
    if (seconds := next_availability(mine, daemon_set.spec.min_ready_seconds, now)) is not None:
        waits.append(seconds)
    return Plan(
        writes=(*found.writes, *writes, *old),
        status=StatusWrite.over(DAEMON_SETS, daemon_set.metadata, status_json(daemon_set.status), status_json(status)),
        events=events,
        requeue_after=min(waits, default=None),
    )


def _changes(
    observed: Observed, places: _Places, pods: _PodsByNode, hash: str, now: datetime
) -> tuple[tuple[Write, ...], tuple[Note, ...]]:
    """Pods that are missing or too many; when there are none, the next step of a rolling update."""
    daemon_set, owner = observed.daemon_set, observed.owner
    create: list[str] = []
    delete: list[DaemonPod] = []
    events: list[Note] = []
    for name, one in places.items():
        missing, surplus, notes = _on_node(observed, name, one, pods.get(name, ()), hash, now)
        create += [name] if missing else []
        delete += surplus
        events += notes
    delete += [pod for name, group in pods.items() if name not in places for pod in group if not pod.spec.node_name]
    if not create and not delete and daemon_set.spec.update_strategy.type == "RollingUpdate":
        desired = [name for name, one in places.items() if one.should_run]
        following = rolling.step(daemon_set, pods, desired, hash, now)
        create, delete = [*following.create], [*following.delete]
    creations = [creation(owner, daemon_pod(daemon_set, owner, name, hash)) for name in create[:MOST_AT_ONCE]]
    return (*creations, *(deletion(owner, pod) for pod in delete[:MOST_AT_ONCE])), tuple(events)


def _on_node(
    observed: Observed, name: str, place: Place, pods: Sequence[DaemonPod], hash: str, now: datetime
) -> tuple[bool, list[DaemonPod], list[Note]]:
    """Whether the node is missing a pod, which of its pods should go, and what to tell of it."""
    staying = [pod for pod in pods if not pod.is_leaving]
    if place.should_run and not pods:
        return True, [], []
    if not place.may_stay:
        return False, staying, []
    ended, events = [], []
    for pod in staying:
        if pod.is_finished and observed.held.get(pod.metadata.uid, now) <= now:
            ended.append(pod)
            events.append(_ended(observed.owner, pod, name))
    running = sorted((pod for pod in staying if not pod.is_finished), key=_seniority)
    if not rolling.allows_surge(observed.daemon_set):
        return False, [*ended, *running[1:]], events
    if len(running) <= 1:
        return place.should_run and not running and not ended, ended, events
    return False, [*ended, *_superseded(observed.daemon_set, running, hash, now)], events


def _superseded(daemon_set: DaemonSet, running: Sequence[DaemonPod], hash: str, now: datetime) -> list[DaemonPod]:
    """With surge a node may have one new and one old pod; the old one goes when it is of no use, or the new one is."""
    new = [pod for pod in running if is_updated(pod, daemon_set, hash)]
    old = [pod for pod in running if not is_updated(pod, daemon_set, hash)]
    surplus = [*new[1:], *old[1:]]
    if new and old and (not old[0].is_ready or is_available(new[0], daemon_set.spec.min_ready_seconds, now)):
        surplus.append(old[0])
    return surplus


def _ended(owner: Owner, pod: DaemonPod, node: str) -> Note:
    name = f"{pod.metadata.namespace}/{pod.metadata.name}"
    if pod.status.phase == "Failed":
        message = f"Found failed daemon pod {name} on node {node}, will try to kill it"
        return note(owner, "Warning", "FailedDaemonPod", message)
    message = f"Found succeeded daemon pod {name} on node {node}, will try to delete it"
    return note(owner, "Normal", "SucceededDaemonPod", message)


def _by_node(pods: Sequence[DaemonPod]) -> dict[str, list[DaemonPod]]:
    """The pods that count of each node: all but those that have ended and are being deleted."""
    found: dict[str, list[DaemonPod]] = {}
    for pod in pods:
        if pod.node and not (pod.is_finished and pod.is_leaving):
            found.setdefault(pod.node, []).append(pod)
    return found


def _seniority(pod: DaemonPod) -> tuple[bool, datetime, str]:
    """Pods that have a node come first, then older ones."""
    return not pod.spec.node_name, pod.metadata.creation_timestamp or EPOCH, pod.metadata.name


def _status(observed: Observed, places: _Places, pods: _PodsByNode, hash: str, now: datetime) -> DaemonSetStatus:
    daemon_set = observed.daemon_set
    desired = [name for name, one in places.items() if one.should_run]
    first = [min(pods[name], key=_seniority) for name in desired if pods.get(name)]
    ready = [pod for pod in first if pod.is_ready]
    available = sum(is_available(pod, daemon_set.spec.min_ready_seconds, now) for pod in ready)
    return DaemonSetStatus(
        observed_generation=daemon_set.metadata.generation,
        desired_number_scheduled=len(desired),
        current_number_scheduled=len(first),
        number_misscheduled=sum(not one.should_run and bool(pods.get(name)) for name, one in places.items()),
        number_ready=len(ready),
        updated_number_scheduled=sum(is_updated(pod, daemon_set, hash) for pod in first),
        number_available=available,
        number_unavailable=len(desired) - available,
    )
