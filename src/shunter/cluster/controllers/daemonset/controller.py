"""I/O layer: what the planner sees of DaemonSets, from the shared caches."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from shunter.api.apps import REVISION_HASH, ControllerRevision, DaemonSet
from shunter.api.core import Node
from shunter.api.resources import CONTROLLER_REVISIONS, DAEMON_SETS, NODES, PODS
from shunter.cluster.controllers.daemonset.backoff import FailureMemory
from shunter.cluster.controllers.daemonset.plan import Observed, plan
from shunter.cluster.controllers.daemonset.pod import DaemonPod
from shunter.cluster.controllers.reconciler import FunctionReconciler
from shunter.cluster.controllers.workloads.indexes import (
    CONTROLLER_UID,
    OWNER_INDEXES,
    UNCONTROLLED,
    adopters,
    controlled_or_free,
)
from shunter.kube.cache.store import key_of
from shunter.kube.controllers.manager import Manager
from shunter.kube.controllers.plan import Key

COMPONENT = "daemonset-controller"


def register(manager: Manager) -> None:
    """Adds the controller. It sees only pods with the label of daemons, since it needs more of them than others do."""
    sets = manager.informer(DAEMON_SETS, DaemonSet)
    pods = manager.informer(PODS, DaemonPod, label_selector=REVISION_HASH, indexes=OWNER_INDEXES)
    revisions = manager.informer(CONTROLLER_REVISIONS, ControllerRevision, indexes=OWNER_INDEXES)
    nodes = manager.informer(NODES, Node)

    failures = FailureMemory()

    def observe(key: Key) -> Observed | None:
        """The DaemonSet with all nodes, its pods and revisions, those of its namespace that nothing controls, and until when the
        replacement of failed pods waits, by the current time."""
        daemon_set = sets.store.get(key)
        if daemon_set is None:
            return None
        uid = daemon_set.metadata.uid
        controlled = pods.store.by_index(CONTROLLER_UID, uid)
        return Observed(
            daemon_set=daemon_set,
            pods=(*controlled, *pods.store.by_index(UNCONTROLLED, key.namespace)),
            revisions=controlled_or_free(revisions.store, uid, key.namespace),
            nodes=nodes.store.list(),
            held=failures.held(daemon_set, controlled, datetime.now(UTC)),
        )

    def all_sets(node: Node) -> Iterable[Key]:
        return [key_of(one) for one in sets.store.list()]

    manager.controller(
        "daemonset",
        FunctionReconciler(observe, plan),
        primary=sets,
        owned=[pods, revisions],
        mapped=[
            (pods, lambda pod: adopters(pod, sets.store)),
            (revisions, lambda revision: adopters(revision, sets.store)),
            (nodes, all_sets),
        ],
        recorder=manager.recorder(COMPONENT, "v1"),
    )
