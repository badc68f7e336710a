"""The shell: what the planner sees of ReplicaSets and ReplicationControllers, from the shared caches."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime

from shunter.api.apps import ReplicaSet, ReplicationController
from shunter.api.core import Pod
from shunter.api.resources import PODS, REPLICA_SETS, REPLICATION_CONTROLLERS, Resource
from shunter.cluster.controllers.replicaset.plan import Observed, plan, plan_failure
from shunter.cluster.controllers.workloads.indexes import CONTROLLER_UID, OWNER_INDEXES, UNCONTROLLED, adopters
from shunter.kube.cache.store import Store, by_controller_uid, key_of
from shunter.kube.controllers.manager import Manager
from shunter.kube.controllers.plan import Failure, Key, Plan

REPLICA_SET_COMPONENT = "replicaset-controller"
REPLICATION_COMPONENT = "replication-controller"


def register(manager: Manager) -> None:
    """Adds the controllers of both kinds."""
    pods = manager.informer(PODS, Pod, indexes=OWNER_INDEXES)
    replica_sets = manager.informer(REPLICA_SETS, ReplicaSet, indexes={CONTROLLER_UID: by_controller_uid})
    manager.controller(
        "replicaset",
        ReplicaSetReconciler(REPLICA_SETS, replica_sets.store.get, pods.store, replica_sets.store),
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
        ReplicaSetReconciler(REPLICATION_CONTROLLERS, as_replica_set, pods.store),
        primary=controllers,
        owned=[pods],
        mapped=[(pods, replication_adopters)],
        recorder=manager.recorder(REPLICATION_COMPONENT, "v1"),
    )


class ReplicaSetReconciler:
    """Pods for ReplicaSets, or for ReplicationControllers; `siblings` are what a controller of the owner may own beside it."""

    def __init__(
        self,
        resource: Resource,
        get: Callable[[Key], ReplicaSet | None],
        pods: Store[Pod],
        siblings: Store[ReplicaSet] | None = None,
    ) -> None:
        self._resource = resource
        self._get = get
        self._pods = pods
        self._siblings = siblings

    def observe(self, key: Key) -> Observed | None:
        """The ReplicaSet, or the ReplicationController in the form of one; its pods, and those of its namespace that nothing
        controls; as siblings its own pods where it has no others. None when it is gone."""
        replica_set = self._get(key)
        if replica_set is None:
            return None
        controlled = self._pods.by_index(CONTROLLER_UID, replica_set.metadata.uid)
        return Observed(
            replica_set=replica_set,
            pods=(*controlled, *self._pods.by_index(UNCONTROLLED, key.namespace)),
            siblings=self._pods_of_siblings(replica_set) or controlled,
            resource=self._resource,
        )

    def plan(self, observed: Observed, now: datetime) -> Plan:
        """Adopts, creates or deletes pods, and writes the status."""
        return plan(observed, now)

    def plan_failure(self, observed: Observed, failure: Failure, now: datetime) -> Plan:
        """The condition ReplicaFailure for a pod that could not be created or deleted; any other refusal is only tried again."""
        return plan_failure(observed, failure, now)

    def _pods_of_siblings(self, replica_set: ReplicaSet) -> tuple[Pod, ...]:
        owner = replica_set.metadata.controller
        if owner is None or self._siblings is None:
            return ()
        siblings = self._siblings.by_index(CONTROLLER_UID, owner.uid)
        return tuple(pod for one in siblings for pod in self._pods.by_index(CONTROLLER_UID, one.metadata.uid))
