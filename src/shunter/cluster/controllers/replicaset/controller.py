"""I/O layer: what the planner sees of ReplicaSets and ReplicationControllers, from the shared caches."""

from __future__ import annotations

from collections.abc import Iterable

from shunter.api.apps import ReplicaSet, ReplicationController
from shunter.api.core import Pod
from shunter.api.resources import PODS, REPLICA_SETS, REPLICATION_CONTROLLERS, Resource
from shunter.cluster.controllers.reconciler import FunctionReconciler
from shunter.cluster.controllers.replicaset.plan import Observed, plan, plan_failure
from shunter.cluster.controllers.workloads.indexes import CONTROLLER_UID, OWNER_INDEXES, UNCONTROLLED, adopters
from shunter.kube.cache.store import by_controller_uid, key_of
from shunter.kube.controllers.manager import Manager
from shunter.kube.controllers.plan import Key

REPLICA_SET_COMPONENT = "replicaset-controller"
REPLICATION_COMPONENT = "replication-controller"


def register(manager: Manager) -> None:
    """Adds the controllers of both kinds."""
    pods = manager.informer(PODS, Pod, indexes=OWNER_INDEXES)
    replica_sets = manager.informer(REPLICA_SETS, ReplicaSet, indexes={CONTROLLER_UID: by_controller_uid})

    def observe(key: Key, resource: Resource, replica_set: ReplicaSet | None) -> Observed | None:
        """The ReplicaSet with its pods, the pods of its namespace that nothing controls, and the pods of all ReplicaSets of the
        same Deployment; its own pods where it has no Deployment."""
        if replica_set is None:
            return None
        controlled = pods.store.by_index(CONTROLLER_UID, replica_set.metadata.uid)
        owner = replica_set.metadata.controller
        siblings = replica_sets.store.by_index(CONTROLLER_UID, owner.uid) if owner and resource is REPLICA_SETS else ()
        of_siblings = tuple(pod for one in siblings for pod in pods.store.by_index(CONTROLLER_UID, one.metadata.uid))
        return Observed(
            replica_set=replica_set,
            pods=(*controlled, *pods.store.by_index(UNCONTROLLED, key.namespace)),
            siblings=of_siblings or controlled,
            resource=resource,
        )

    manager.controller(
        "replicaset",
        FunctionReconciler(lambda key: observe(key, REPLICA_SETS, replica_sets.store.get(key)), plan, plan_failure),
        primary=replica_sets,
        owned=[pods],
        mapped=[(pods, lambda pod: adopters(pod, replica_sets.store))],
        recorder=manager.recorder(REPLICA_SET_COMPONENT, "v1"),
    )
    controllers = manager.informer(REPLICATION_CONTROLLERS, ReplicationController)

    def as_replica_set(key: Key) -> ReplicaSet | None:
        found = controllers.store.get(key)
        return found.as_replica_set() if found is not None else None

    def replication_adopters(pod: Pod) -> Iterable[Key]:
        if pod.metadata.controller is not None:
            return ()
        candidates = controllers.store.list(pod.metadata.namespace)
        return [key_of(one) for one in candidates if one.as_replica_set().spec.selector.matches(pod.metadata.labels)]

    manager.controller(
        "replication",
        FunctionReconciler(lambda key: observe(key, REPLICATION_CONTROLLERS, as_replica_set(key)), plan, plan_failure),
        primary=controllers,
        owned=[pods],
        mapped=[(pods, replication_adopters)],
        recorder=manager.recorder(REPLICATION_COMPONENT, "v1"),
    )
