"""Deployments in memory."""

from __future__ import annotations

from typing import Any

from cluster.controllers.workloads.world import World
from shunter.api.apps import Deployment, DeploymentStatus, ReplicaSet

ROLLING = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}}
DEFAULTS: dict[str, Any] = {"replicas": 3, "strategy": ROLLING, "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600}


def rolled_out(world: World) -> DeploymentStatus:
    world.settle_with_pods()
    return world.get("Deployment", Deployment).status


def conditions(status: DeploymentStatus) -> dict[str, tuple[str, str]]:
    return {condition.type: (condition.status, condition.reason) for condition in status.conditions}


def image_of(replica_set: ReplicaSet) -> str:
    return str(replica_set.spec.template["spec"]["containers"][0]["image"])


def slot_of(pod: dict[str, Any]) -> Any:
    from cluster.controllers.memory_cluster import Slot
    from shunter.kube.controllers.plan import Key

    return Slot("Pod", Key(pod["metadata"]["namespace"], pod["metadata"]["name"]))
