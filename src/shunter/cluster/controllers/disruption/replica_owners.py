"""Which owners of pods have replicas that a budget counts: those of Deployments, ReplicaSets, StatefulSets and
ReplicationControllers. Pure."""

from __future__ import annotations

from typing import NamedTuple

from shunter.api.apps import Deployment, ReplicaSet, ReplicationController, StatefulSet
from shunter.api.meta import OwnerReference
from shunter.api.resources import DEPLOYMENTS, REPLICA_SETS, REPLICATION_CONTROLLERS, STATEFUL_SETS
from shunter.kube.cache.store import Store
from shunter.kube.controllers.plan import Key


class ReplicaOwners(NamedTuple):
    """The objects that control pods and have replicas, as the caches have them."""

    deployments: Store[Deployment]
    replica_sets: Store[ReplicaSet]
    controllers: Store[ReplicationController]
    stateful_sets: Store[StatefulSet]

    def scale(self, namespace: str, owner: OwnerReference) -> tuple[str, int] | None:
        """The uid and replicas of the owner, or of a ReplicaSet's Deployment; None for kinds without replicas."""
        key = Key(namespace, owner.name)
        match owner.kind:
            case REPLICA_SETS.kind:
                found = self.replica_sets.get(key)
                root = found.metadata.controller if found is not None else None
                if root is not None and root.kind == DEPLOYMENTS.kind:
                    deployment = self.deployments.get(Key(namespace, root.name))
                    return (deployment.metadata.uid, deployment.spec.replicas) if deployment is not None else None
                return (found.metadata.uid, found.spec.replicas) if found is not None else None
            case REPLICATION_CONTROLLERS.kind:
                controller = self.controllers.get(key)
                return (controller.metadata.uid, controller.spec.replicas) if controller is not None else None
            case STATEFUL_SETS.kind:
                stateful_set = self.stateful_sets.get(key)
                return (stateful_set.metadata.uid, stateful_set.spec.replicas) if stateful_set is not None else None
        return None
