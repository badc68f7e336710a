"""I/O layer: what the planner sees of PodDisruptionBudgets, from the shared caches."""

from __future__ import annotations

from collections.abc import Iterable

from shunter.api.apps import Deployment, ReplicaSet, ReplicationController, StatefulSet
from shunter.api.core import Pod
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
from shunter.cluster.controllers.disruption.replica_owners import ReplicaOwners
from shunter.cluster.controllers.reconciler import FunctionReconciler
from shunter.kube.cache.store import key_of
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

    owners = ReplicaOwners(deployments.store, replica_sets.store, controllers.store, stateful_sets.store)

    def observe(key: Key) -> Observed | None:
        """The budget, the pods that it selects, and the desired replicas of these pods' controllers, by the controller's uid."""
        budget = budgets.store.get(key)
        if budget is None:
            return None
        selected = tuple(pod for pod in pods.store.list(key.namespace) if _selects(budget, pod))
        direct = {owner.uid: owner for pod in selected if (owner := pod.metadata.controller) is not None}
        found = {uid: owners.scale(key.namespace, owner) for uid, owner in direct.items()}
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


def _selects(budget: DisruptionBudget, pod: Pod) -> bool:
    """A budget without a selector selects nothing, one with an empty selector everything."""
    selector = budget.spec.selector
    return selector is not None and selector.matches(pod.metadata.labels)
