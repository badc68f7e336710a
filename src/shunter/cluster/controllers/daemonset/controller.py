"""The shell: what the planner sees of DaemonSets, from the shared caches."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from shunter.api.apps import REVISION_HASH, ControllerRevision, DaemonSet
from shunter.api.core import Node
from shunter.api.resources import CONTROLLER_REVISIONS, DAEMON_SETS, NODES, PODS
from shunter.cluster.controllers.daemonset.backoff import FailureMemory
from shunter.cluster.controllers.daemonset.plan import Observed, plan, plan_failure
from shunter.cluster.controllers.daemonset.pod import DaemonPod
from shunter.cluster.controllers.workloads.indexes import (
    CONTROLLER_UID,
    OWNER_INDEXES,
    UNCONTROLLED,
    adopters,
    controlled_or_free,
)
from shunter.kube.cache.store import Store, key_of
from shunter.kube.controllers.manager import Manager
from shunter.kube.controllers.plan import Failure, Key, Plan

COMPONENT = "daemonset-controller"


def register(manager: Manager) -> None:
    """Adds the controller. It sees only pods with the label of daemons, since it needs more of them than others do."""
    sets = manager.informer(DAEMON_SETS, DaemonSet)
    pods = manager.informer(PODS, DaemonPod, label_selector=REVISION_HASH, indexes=OWNER_INDEXES)
    revisions = manager.informer(CONTROLLER_REVISIONS, ControllerRevision, indexes=OWNER_INDEXES)
    nodes = manager.informer(NODES, Node)

    def all_sets(node: Node) -> Iterable[Key]:
        return [key_of(one) for one in sets.store.list()]

    manager.controller(
        "daemonset",
        DaemonSetReconciler(sets.store, pods.store, revisions.store, nodes.store),
        primary=sets,
        owned=[pods, revisions],
        mapped=[
            (pods, lambda pod: adopters(pod, sets.store)),
            (revisions, lambda revision: adopters(revision, sets.store)),
            (nodes, all_sets),
        ],
        recorder=manager.recorder(COMPONENT, "v1"),
    )


class DaemonSetReconciler:
    """Pods for DaemonSets."""

    def __init__(
        self,
        sets: Store[DaemonSet],
        pods: Store[DaemonPod],
        revisions: Store[ControllerRevision],
        nodes: Store[Node],
    ) -> None:
        self._sets = sets
        self._pods = pods
        self._revisions = revisions
        self._nodes = nodes
        self._failures = FailureMemory()

    def observe(self, key: Key) -> Observed | None:
        """The DaemonSet with all nodes, its pods and revisions, and those of its namespace that nothing controls; also until when
        the replacement of failed pods waits, by the clock of this moment. None when there is no such DaemonSet."""
        daemon_set = self._sets.get(key)
        if daemon_set is None:
            return None
        uid = daemon_set.metadata.uid
        controlled = self._pods.by_index(CONTROLLER_UID, uid)
        return Observed(
            daemon_set=daemon_set,
            pods=(*controlled, *self._pods.by_index(UNCONTROLLED, key.namespace)),
            revisions=controlled_or_free(self._revisions, uid, key.namespace),
            nodes=self._nodes.list(),
            held=self._failures.held(daemon_set, controlled, datetime.now(UTC)),
        )

    def plan(self, observed: Observed, now: datetime) -> Plan:
        """Creates and deletes pods, one step of a rolling update when none are missing or too many, and writes the status."""
        return plan(observed, now)

    def plan_failure(self, observed: Observed, failure: Failure, now: datetime) -> Plan:
        """Nothing: the events of the refused writes tell of it."""
        return plan_failure(observed, failure, now)
