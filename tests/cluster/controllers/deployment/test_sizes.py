"""How large each ReplicaSet of a Deployment is, in a rollout and when it is scaled."""

from __future__ import annotations

from cluster.controllers.deployment.rollouts import DEFAULTS, conditions, image_of, rolled_out
from cluster.controllers.workloads.world import World
from shunter.api.apps import ReplicaSet


def test_a_paused_deployment_scales_but_does_not_roll_out() -> None:
    world = World()
    world.create("Deployment", **DEFAULTS)
    rolled_out(world)
    world.change("Deployment", {"paused": True, "replicas": 5})
    world.set_image("Deployment", "two")
    status = rolled_out(world)
    assert world.images() == ["one"] * 5
    assert conditions(status)["Progressing"] == ("Unknown", "DeploymentPaused")
    world.change("Deployment", {"paused": None})
    status = rolled_out(world)
    assert world.images() == ["two"] * 5
    assert conditions(status)["Progressing"] == ("True", "NewReplicaSetAvailable")


def test_scaling_during_a_rollout_shares_the_pods_in_proportion() -> None:
    world = World()
    world.create("Deployment", **{**DEFAULTS, "replicas": 10})
    rolled_out(world)
    world.set_image("Deployment", "two")
    world.settle()
    before = {image_of(one): one.spec.replicas for one in world.all("ReplicaSet", ReplicaSet)}
    assert before == {"one": 8, "two": 5}
    world.change("Deployment", {"replicas": 20})
    world.step()
    after = {image_of(one): one.spec.replicas for one in world.all("ReplicaSet", ReplicaSet)}
    assert after == {"one": 15, "two": 10}
