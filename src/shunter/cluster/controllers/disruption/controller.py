"""The shell: what the planner sees of PodDisruptionBudgets, from the shared caches."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from shunter.api.apps import Deployment, ReplicaSet, ReplicationController, StatefulSet
from shunter.api.core import Pod
from shunter.api.meta import OwnerReference
from shunter.api.policy import DisruptionBudget
from shunter.api.resources import (
    DEPLOYMENTS,
    POD_DISRUPTION_BUDGETS,
    PODS,
    REPLICA_SETS,
    REPLICATION_CONTROLLERS,
    STATEFUL_SETS,
)
from shunter.cluster.controllers.disruption.plan import Observed, plan
from shunter.cluster.controllers.reconciler import FunctionReconciler
from shunter.kube.cache.store import Store, key_of
from shunter.kube.controllers.manager import Manager
from shunter.kube.controllers.plan import Key

COMPONENT = "controllermanager"
"""The name that kube-controller-manager's events about budgets come from."""


def register(manager: Manager) -> None:
    """Adds the controller."""
    budgets = manager.informer(POD_DISRUPTION_BUDGETS, DisruptionBudget)
    pods = manager.informer(PODS, Pod)
    deployments = manager.informer(DEPLOYMENTS, Deployment)
    replica_sets = manager.informer(REPLICA_SETS, ReplicaSet)
    controllers = manager.informer(REPLICATION_CONTROLLERS, ReplicationController)
    stateful_sets = manager.informer(STATEFUL_SETS, StatefulSet)

    def selecting(pod: Pod) -> Iterable[Key]:
        return [key_of(one) for one in budgets.store.list(pod.metadata.namespace) if _selects(one, pod)]

    def of_namespace(obj: Deployment | ReplicaSet | ReplicationController | StatefulSet) -> Iterable[Key]:
        return [key_of(one) for one in budgets.store.list(obj.metadata.namespace)]

    scales = Scales(deployments.store, replica_sets.store, controllers.store, stateful_sets.store)

    def observe(key: Key) -> Observed | None:
        """The budget, the pods that it selects, and the desired replicas of these pods' controllers, by the controller's uid."""
        budget = budgets.store.get(key)
        if budget is None:
            return None
        selected = tuple(pod for pod in pods.store.list(key.namespace) if _selects(budget, pod))
        owners = {owner.uid: owner for pod in selected if (owner := pod.metadata.controller) is not None}
        found = {uid: scales.scale(key.namespace, owner) for uid, owner in owners.items()}
        return Observed(budget=budget, pods=selected, scales={uid: one for uid, one in found.items() if one is not None})

    manager.controller(
        "disruption",
        FunctionReconciler(observe, plan),
        primary=budgets,
        mapped=[
            (pods, selecting),
            (deployments, of_namespace),
            (replica_sets, of_namespace),
            (controllers, of_namespace),
            (stateful_sets, of_namespace),
        ],
        recorder=manager.recorder(COMPONENT, "v1"),
    )


class Scales(NamedTuple):
    """The objects that control pods and have replicas."""

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


def _selects(budget: DisruptionBudget, pod: Pod) -> bool:
    """A budget without a selector selects nothing, one with an empty selector everything."""
    selector = budget.spec.selector
    return selector is not None and selector.matches(pod.metadata.labels)
