"""Deployments in memory: rollouts keep their bounds, come to their end, and say how they go."""

from __future__ import annotations

from random import Random

import pytest

from cluster.controllers.deployment.rollouts import DEFAULTS, conditions, rolled_out, slot_of
from cluster.controllers.workloads.world import World
from shunter.api.apps import Deployment, ReplicaSet


@pytest.mark.parametrize("seed", range(12))
def test_a_rollout_keeps_its_bounds_in_whatever_order_pods_become_ready_and_controllers_die(seed: int) -> None:
    random = Random(seed)
    replicas = random.randint(1, 7)
    surges: list[int | str] = [0, 1, "30%", "100%"]
    shortages: list[int | str] = [0, 1, "40%"]
    surge, unavailable = random.choice(surges), random.choice(shortages)
    if surge == unavailable == 0:
        unavailable = 1
    world = World()
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}
    world.create("Deployment", **{**DEFAULTS, "replicas": replicas, "strategy": strategy})
    rolled_out(world)
    most = replicas + (surge if isinstance(surge, int) else -(-int(surge[:-1]) * replicas // 100))
    missing = unavailable if isinstance(unavailable, int) else int(unavailable[:-1]) * replicas // 100
    least = replicas - (missing or (1 if most == replicas else 0))

    def keeps_bounds() -> None:
        ready = [pod for pod in world.pods if pod.get("status", {}).get("phase") == "Running"]
        sizes = sum(one.spec.replicas for one in world.all("ReplicaSet", ReplicaSet))
        assert sizes <= most, f"{sizes} pods wanted of at most {most}"
        assert len(ready) >= least, f"{len(ready)} pods available of at least {least}"

    world.watch = keeps_bounds
    world._dies = lambda: random.random() < 0.2
    for image in ("two", "three"):
        world.set_image("Deployment", image)
        for _ in range(600):
            world.step()
            waiting = [pod for pod in world.pods if pod["status"]["phase"] == "Pending"]
            if waiting and random.random() < 0.5:
                world.set_pod(random.choice(waiting), "Running")
            if world.images() == [image] * replicas and not waiting:
                break
    world._dies = lambda: False
    status = rolled_out(world)
    assert world.images() == ["three"] * replicas
    assert conditions(status) == {
        "Available": ("True", "MinimumReplicasAvailable"),
        "Progressing": ("True", "NewReplicaSetAvailable"),
    }


def test_a_template_from_before_is_the_same_replica_set_with_a_new_revision() -> None:
    world = World()
    world.create("Deployment", **DEFAULTS)
    rolled_out(world)
    for image in ("two", "one"):
        world.set_image("Deployment", image)
        rolled_out(world)
    revisions = {
        one.spec.template["spec"]["containers"][0]["image"]: (
            one.metadata.annotations["deployment.kubernetes.io/revision"],
            one.metadata.annotations.get("deployment.kubernetes.io/revision-history"),
        )
        for one in world.all("ReplicaSet", ReplicaSet)
    }
    assert revisions == {"one": ("3", "1"), "two": ("2", None)}
    assert world.get("Deployment", Deployment).metadata.annotations["deployment.kubernetes.io/revision"] == "3"


def test_old_replica_sets_beyond_the_limit_go_oldest_first() -> None:
    world = World()
    world.create("Deployment", **{**DEFAULTS, "revisionHistoryLimit": 1})
    for image in ("one", "two", "three", "four"):
        world.set_image("Deployment", image)
        rolled_out(world)
    images = [one.spec.template["spec"]["containers"][0]["image"] for one in world.all("ReplicaSet", ReplicaSet)]
    assert sorted(images) == ["four", "three"]


def test_recreate_makes_no_new_pod_before_the_last_old_one_is_gone() -> None:
    world = World()
    world.create("Deployment", **{**DEFAULTS, "strategy": {"type": "Recreate"}})
    rolled_out(world)
    for pod in world.pods:
        pod["metadata"]["finalizers"] = ["test/hold"]
    world.set_image("Deployment", "two")
    world.settle()
    assert world.images() == []
    assert len(world.pods) == 3
    for pod in world.pods:
        world.cluster.replace(slot_of(pod), {**pod, "metadata": {**pod["metadata"], "finalizers": []}})
    rolled_out(world)
    assert world.images() == ["two"] * 3


def test_a_taken_name_leads_to_another_hash() -> None:
    world = World()
    world.create("Deployment", **DEFAULTS)
    planned, _ = world.plan_deployment(world.cluster.of_kind("Deployment")[0])
    taken = next(write.body["metadata"]["name"] for write in planned.writes if hasattr(write, "body"))
    world.cluster.create(
        {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "metadata": {"name": taken, "namespace": "w", "labels": {"app": "other"}},
            "spec": {"replicas": 0, "selector": {"matchLabels": {"app": "other"}}, "template": {"metadata": {}}},
        }
    )
    rolled_out(world)
    assert world.get("Deployment", Deployment).status.collision_count == 1
    assert world.images() == ["one"] * 3
