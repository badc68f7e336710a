"""The shell: what the planner sees of Deployments, from the shared caches."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from shunter.api.apps import Deployment, ReplicaSet
from shunter.api.core import Pod
from shunter.api.resources import DEPLOYMENTS, PODS, REPLICA_SETS
from shunter.cluster.controllers.deployment.plan import Observed, plan, plan_failure
from shunter.cluster.controllers.workloads.indexes import CONTROLLER_UID, OWNER_INDEXES, UNCONTROLLED, adopters
from shunter.kube.cache.store import Store
from shunter.kube.controllers.manager import Manager
from shunter.kube.controllers.plan import Failure, Key, Plan

COMPONENT = "deployment-controller"


def register(manager: Manager) -> None:
    """Adds the controller."""
    deployments = manager.informer(DEPLOYMENTS, Deployment)
    replica_sets = manager.informer(REPLICA_SETS, ReplicaSet, indexes=OWNER_INDEXES)
    pods = manager.informer(PODS, Pod, indexes=OWNER_INDEXES)

    def of_pod(pod: Pod) -> Iterable[Key]:
        """A Deployment that recreates waits for the end of its old pods."""
        owner = pod.metadata.controller
        found = replica_sets.store.get(Key(pod.metadata.namespace, owner.name)) if owner is not None else None
        root = found.metadata.controller if found is not None else None
        return () if root is None or root.kind != DEPLOYMENTS.kind else (Key(pod.metadata.namespace, root.name),)

    manager.controller(
        "deployment",
        DeploymentReconciler(deployments.store, replica_sets.store, pods.store),
        primary=deployments,
        owned=[replica_sets],
        mapped=[(replica_sets, lambda one: adopters(one, deployments.store)), (pods, of_pod)],
        recorder=manager.recorder(COMPONENT, "v1"),
    )


class DeploymentReconciler:
    """ReplicaSets for Deployments."""

    def __init__(self, deployments: Store[Deployment], replica_sets: Store[ReplicaSet], pods: Store[Pod]) -> None:
        self._deployments = deployments
        self._replica_sets = replica_sets
        self._pods = pods

    def observe(self, key: Key) -> Observed | None:
        """The Deployment, its ReplicaSets with their pods, and those of its namespace that nothing controls. None when there is
        no such Deployment."""
        deployment = self._deployments.get(key)
        if deployment is None:
            return None
        owned = self._replica_sets.by_index(CONTROLLER_UID, deployment.metadata.uid)
        return Observed(
            deployment=deployment,
            replica_sets=(*owned, *self._replica_sets.by_index(UNCONTROLLED, key.namespace)),
            pods={one.metadata.uid: self._pods.by_index(CONTROLLER_UID, one.metadata.uid) for one in owned},
        )

    def plan(self, observed: Observed, now: datetime) -> Plan:
        """Adopts, makes, scales or removes ReplicaSets, and writes the status."""
        return plan(observed, now)

    def plan_failure(self, observed: Observed, failure: Failure, now: datetime) -> Plan:
        """Of a ReplicaSet that could not be made: a collision in the status where its name is taken, else an event and, if there
        is a deadline, the condition Progressing. Any other refusal is only tried again."""
        return plan_failure(observed, failure, now)
