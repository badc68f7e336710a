"""The scheduler's controller: it reconciles each waiting pod separately."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

from shunter.api.core import Node
from shunter.api.resources import NODES, PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, PODS, STORAGE_CLASSES
from shunter.cluster.controllers.reconciler import FunctionReconciler
from shunter.cluster.controllers.scheduler.claims import PodClaim
from shunter.cluster.controllers.scheduler.plan import Observed, Queued, behind, plan, plan_strictly, turn
from shunter.cluster.controllers.scheduler.pod import SchedulablePod
from shunter.cluster.controllers.volumes.controller import BY_CLAIM, UNBOUND, by_claim, by_free
from shunter.cluster.controllers.volumes.matching import FreeVolumes
from shunter.cluster.controllers.volumes.views import Claim, StorageClass, Volume
from shunter.kube.cache.store import Store, key_of
from shunter.kube.controllers.manager import Manager
from shunter.kube.controllers.plan import NOTHING, Create, Failure, Key, Plan

COMPONENT = "default-scheduler"
WAITING = "waiting-for-node"
NODE_NAME = "node-name"

ASSUME_SECONDS = 5.0
"""How long a pod that was bound counts as bound before the cache shows it."""


def register(manager: Manager, *, strict_resources: bool) -> None:
    """Adds the scheduler for pods with schedulerName default-scheduler."""
    # Pods that have a node matter only where they take up room.
    unbound = "" if strict_resources else "spec.nodeName="
    pods = manager.informer(PODS, SchedulablePod, field_selector=unbound, indexes={WAITING: by_waiting, NODE_NAME: by_node})
    nodes = manager.informer(NODES, Node)
    claims = manager.informer(PERSISTENT_VOLUME_CLAIMS, Claim)
    classes = manager.informer(STORAGE_CLASSES, StorageClass)
    persistent = manager.informer(PERSISTENT_VOLUMES, Volume, indexes={BY_CLAIM: by_claim, UNBOUND: by_free})
    volumes = Volumes(claims.store, classes.store, persistent.store)

    def observe(key: Key) -> Observed | None:
        """The pod, all nodes, and the pod's claims; None for a pod that does not wait for this scheduler."""
        pod = pods.store.get(key)
        if pod is None or not is_waiting(pod):
            return None
        return Observed(pod=pod, nodes=nodes.store.list(), claimed=volumes.of(pod, volumes.free()))

    def affected(found: Sequence[SchedulablePod]) -> Iterable[Key]:
        """These waiting pods; where resources count, also those behind them, as these may now take room, or no longer."""
        return [key_of(pod) for pod in (behind(found, pods.store.by_index(WAITING, WAITING)) if strict_resources else found)]

    def claiming(claim: Claim) -> Iterable[Key]:
        """Pods that wait for the claim."""
        waiting = pods.store.by_index(WAITING, WAITING)
        in_namespace = (pod for pod in waiting if pod.metadata.namespace == claim.metadata.namespace)
        return affected([pod for pod in in_namespace if claim.metadata.name in pod.claims])

    def all_waiting(_: Node) -> Iterable[Key]:
        return [key_of(pod) for pod in pods.store.by_index(WAITING, WAITING)]

    def all_claiming(_: StorageClass | Volume) -> Iterable[Key]:
        return affected([pod for pod in pods.store.by_index(WAITING, WAITING) if pod.claims])

    def waiting_for_room(pod: SchedulablePod) -> Iterable[Key]:
        """Pods on nodes may end, and make room."""
        return [key_of(other) for other in pods.store.by_index(WAITING, WAITING)] if pod.spec.node_name else ()

    recorder = manager.recorder(COMPONENT)
    if strict_resources:
        manager.controller(
            "scheduler",
            StrictScheduler(pods.store, nodes.store, volumes),
            primary=pods,
            mapped=[
                (nodes, all_waiting),
                (pods, waiting_for_room),
                (claims, claiming),
                (classes, all_claiming),
                (persistent, all_claiming),
            ],
            workers=1,
            recorder=recorder,
        )
    else:
        manager.controller(
            "scheduler",
            FunctionReconciler(observe, plan),
            primary=pods,
            mapped=[(nodes, all_waiting), (claims, claiming), (classes, all_claiming), (persistent, all_claiming)],
            workers=16,
            recorder=recorder,
        )


def is_waiting(pod: SchedulablePod) -> bool:
    """Whether the pod wants a node from us now; one with scheduling gates does not yet."""
    return (
        not pod.spec.node_name
        and pod.spec.scheduler_name == COMPONENT
        and not pod.spec.scheduling_gates
        and not pod.is_finished
        and pod.metadata.deletion_timestamp is None
    )


def by_waiting(pod: SchedulablePod) -> Iterable[str]:
    """The index of pods that wait for a node: all of them under WAITING."""
    return (WAITING,) if is_waiting(pod) else ()


def by_node(pod: SchedulablePod) -> Iterable[str]:
    """The index of pods that take up room on a node."""
    return (pod.spec.node_name,) if pod.spec.node_name and not pod.is_finished else ()


class Volumes(NamedTuple):
    """What is known of claims, their classes and their volumes."""

    claims: Store[Claim]
    classes: Store[StorageClass]
    volumes: Store[Volume]

    def free(self) -> FreeVolumes:
        """The volumes that claims may get, for all pods of one decision."""
        return FreeVolumes(self.volumes.by_index(UNBOUND, UNBOUND))

    def of(self, pod: SchedulablePod, free: FreeVolumes) -> tuple[PodClaim, ...]:
        """The claims of a pod, with the class of each and the volume that it has, or those that it may get."""
        return tuple(self._claimed(name, self.claims.get(Key(pod.metadata.namespace, name)), free) for name in pod.claims)

    def _claimed(self, name: str, claim: Claim | None, free: FreeVolumes) -> PodClaim:
        if claim is None:
            return PodClaim(name, None)
        of_class = claim.storage_class
        known = self.classes.get(Key("", of_class)) if of_class else None
        return PodClaim(name, claim, known, tuple(self._of_claim(claim)), free)

    def _of_claim(self, claim: Claim) -> Iterable[Volume]:
        if claim.is_bound:
            volume = self.volumes.get(Key("", claim.spec.volume_name))
            return () if volume is None else (volume,)
        return self.volumes.by_index(BY_CLAIM, str(key_of(claim)))


class StrictScheduler:
    """Nodes for pods that have room for them. Needs to be the only worker: it remembers what it just gave away."""

    def __init__(self, pods: Store[SchedulablePod], nodes: Store[Node], volumes: Volumes) -> None:
        self._pods = pods
        self._nodes = nodes
        self._volumes = volumes
        self._assumed: dict[str, tuple[str, float]] = {}
        """Pods bound by us that the cache still shows as waiting: uid to node and the time until when that is believed."""

    def observe(self, key: Key) -> Observed | None:
        """The pod, all nodes, its claims, the waiting pods that come before it, and the pods that take up room on each node,
        including those bound a moment ago. None for a pod that does not wait for this scheduler."""
        pod = self._pods.get(key)
        if pod is None or not is_waiting(pod):
            return None
        waiting = self._pods.by_index(WAITING, WAITING)
        self._forget({other.metadata.uid for other in waiting} - {pod.metadata.uid})
        ahead = [other for other in waiting if other.metadata.uid not in self._assumed and turn(other) < turn(pod)]
        nodes = self._nodes.list()
        assigned = {node.metadata.name: self._on(node.metadata.name, waiting) for node in nodes}
        free = self._volumes.free()
        queued = tuple(Queued(other, self._volumes.of(other, free)) for other in ahead)
        return Observed(pod=pod, nodes=nodes, claimed=self._volumes.of(pod, free), ahead=queued, assigned=assigned)

    def plan(self, observed: Observed, now: datetime) -> Plan:
        """Binds the pod to the first node with room, and counts it there for ASSUME_SECONDS, or until the cache shows it."""
        planned = plan_strictly(observed, now)
        for write in planned.writes:
            if isinstance(write, Create):
                until = time.monotonic() + ASSUME_SECONDS
                self._assumed[observed.pod.metadata.uid] = (write.body["target"]["name"], until)
        return planned

    def plan_failure(self, observed: Observed, failure: Failure, now: datetime) -> Plan:
        """Nothing, but the room that the pod was given counts as free again."""
        self._assumed.pop(observed.pod.metadata.uid, None)
        return NOTHING

    def _forget(self, waiting: set[str]) -> None:
        """Keeps what is assumed about pods that still wait in the cache, for as long as that is believed."""
        now = time.monotonic()
        self._assumed = {uid: bound for uid, bound in self._assumed.items() if uid in waiting and bound[1] > now}

    def _on(self, node: str, waiting: Iterable[SchedulablePod]) -> tuple[SchedulablePod, ...]:
        assumed = (pod for pod in waiting if self._assumed.get(pod.metadata.uid, ("",))[0] == node)
        return (*self._pods.by_index(NODE_NAME, node), *assumed)
