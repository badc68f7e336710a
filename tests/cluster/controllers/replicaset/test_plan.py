"""ReplicaSets in memory."""

from __future__ import annotations

from cluster.controllers.workloads.world import World, key, names


def test_a_replica_set_adopts_what_it_selects_and_lets_go_what_it_does_not() -> None:
    world = World()
    metadata = {"name": "orphan", "namespace": "w", "labels": {"app": "x"}}
    world.cluster.create({"kind": "Pod", "apiVersion": "v1", "metadata": metadata, "spec": {"containers": []}})
    world.create("ReplicaSet", replicas=2)
    world.settle_with_pods()
    assert len(world.pods) == 2
    assert "orphan" in names(world)
    world.cluster.patch("Pod", key("orphan"), {"metadata": {"labels": {"app": "y"}}})
    world.settle_with_pods()
    assert len(world.pods) == 3
    assert "ownerReferences" not in next(one for one in world.pods if one["metadata"]["name"] == "orphan")["metadata"]
