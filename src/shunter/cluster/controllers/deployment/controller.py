"""I/O layer: what the planner sees of Deployments, from the shared caches."""

from __future__ import annotations

from collections.abc import Iterable

from shunter.api.apps import Deployment, ReplicaSet
from shunter.api.core import Pod
from shunter.api.resources import DEPLOYMENTS, PODS, REPLICA_SETS
from shunter.cluster.controllers.deployment.plan import Observed, plan, plan_failure
from shunter.cluster.controllers.reconciler import FunctionReconciler
from shunter.cluster.controllers.workloads.indexes import CONTROLLER_UID, OWNER_INDEXES, UNCONTROLLED, adopters
from shunter.kube.controllers.manager import Manager
from shunter.kube.controllers.plan import Key

COMPONENT = "deployment-controller"


def register(manager: Manager) -> None:
    """Adds the controller."""
    deployments = manager.informer(DEPLOYMENTS, Deployment)
    replica_sets = manager.informer(REPLICA_SETS, ReplicaSet, indexes=OWNER_INDEXES)
    pods = manager.informer(PODS, Pod, indexes=OWNER_INDEXES)

    def observe(key: Key) -> Observed | None:
        """The Deployment, its ReplicaSets with their pods, and those of its namespace that nothing controls."""
        deployment = deployments.store.get(key)
        if deployment is None:
            return None
        owned = replica_sets.store.by_index(CONTROLLER_UID, deployment.metadata.uid)
        return Observed(
            deployment=deployment,
            replica_sets=(*owned, *replica_sets.store.by_index(UNCONTROLLED, key.namespace)),
            pods={one.metadata.uid: pods.store.by_index(CONTROLLER_UID, one.metadata.uid) for one in owned},
        )

    def of_pod(pod: Pod) -> Iterable[Key]:
        """A Deployment that recreates waits for the end of its old pods."""
        owner = pod.metadata.controller
        found = replica_sets.store.get(Key(pod.metadata.namespace, owner.name)) if owner is not None else None
        root = found.metadata.controller if found is not None else None
        return () if root is None or root.kind != DEPLOYMENTS.kind else (Key(pod.metadata.namespace, root.name),)

    manager.controller(
        "deployment",
        FunctionReconciler(observe, plan, plan_failure),
        primary=deployments,
        owned=[replica_sets],
        mapped=[(replica_sets, lambda one: adopters(one, deployments.store)), (pods, of_pod)],
        recorder=manager.recorder(COMPONENT, "v1"),
    )
