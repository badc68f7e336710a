"""StatefulSets in memory: the order of their pods, and updates."""

from __future__ import annotations

from random import Random

import pytest

from cluster.controllers.workloads.world import CLAIM, STATEFUL, World, key, names
from shunter.api.apps import StatefulSet
from shunter.api.meta import MetadataOnly


def test_pods_of_a_stateful_set_come_one_after_the_other_with_their_claims_and_go_in_reverse() -> None:
    world = World()
    world.create("StatefulSet", **STATEFUL, volumeClaimTemplates=[CLAIM])
    for number in range(3):
        world.settle()
        assert names(world) == [f"x-{one}" for one in range(number + 1)], "the next waits for the one before"
        world.run_pods()
    world.settle()
    assert sorted(one.metadata.name for one in world.all("PersistentVolumeClaim", MetadataOnly)) == [
        "data-x-0",
        "data-x-1",
        "data-x-2",
    ]
    first = world.pods[0]
    assert first["spec"]["hostname"] == "x-0"
    assert first["spec"]["subdomain"] == "x"
    assert first["spec"]["volumes"][0] == {"name": "data", "persistentVolumeClaim": {"claimName": "data-x-0"}}
    assert first["metadata"]["labels"]["apps.kubernetes.io/pod-index"] == "0"
    world.change("StatefulSet", {"replicas": 1})
    world.settle()
    assert names(world) == ["x-0"]
    assert len(world.all("PersistentVolumeClaim", MetadataOnly)) == 3, "claims stay"


def test_parallel_pods_come_all_at_once() -> None:
    world = World()
    world.create("StatefulSet", **STATEFUL, podManagementPolicy="Parallel")
    world.settle()
    assert names(world) == ["x-0", "x-1", "x-2"]


@pytest.mark.parametrize("seed", range(6))
def test_an_update_replaces_one_pod_at_a_time_from_the_last_to_the_partition(seed: int) -> None:
    random = Random(seed)
    world = World()
    world.create("StatefulSet", **{**STATEFUL, "replicas": 4})
    world.settle_with_pods()
    world.change("StatefulSet", {"updateStrategy": {"rollingUpdate": {"partition": 2}}})
    world._dies = lambda: random.random() < 0.3

    def keeps_bounds() -> None:
        ready = [one for one in world.pods if one["status"].get("phase") == "Running"]
        assert len(ready) >= 3, "more than one pod is missing"

    world.watch = keeps_bounds
    world.set_image("StatefulSet", "two")
    for _ in range(40):
        world.step()
        world.run_pods()
    world._dies = lambda: False
    world.settle_with_pods()
    assert world.images() == ["one", "one", "two", "two"]
    status = world.get("StatefulSet", StatefulSet).status
    assert (status.current_replicas, status.updated_replicas) == (2, 2)
    assert status.current_revision != status.update_revision
    world.cluster.delete("Pod", key("x-0"), "Background")
    world.watch = lambda: None
    world.settle_with_pods()
    assert world.images() == ["one", "one", "two", "two"], "a pod below the partition comes back as it was"
    world.change("StatefulSet", {"updateStrategy": {"rollingUpdate": {"partition": 0}}})
    world.settle_with_pods()
    status = world.get("StatefulSet", StatefulSet).status
    assert world.images() == ["two"] * 4
    assert status.current_revision == status.update_revision


def test_on_delete_waits_for_users_to_delete() -> None:
    world = World()
    world.create("StatefulSet", **{**STATEFUL, "updateStrategy": {"type": "OnDelete"}})
    world.settle_with_pods()
    world.set_image("StatefulSet", "two")
    world.settle_with_pods()
    assert world.images() == ["one"] * 3
    world.cluster.delete("Pod", key("x-1"), "Background")
    world.settle_with_pods()
    assert world.images() == ["one", "one", "two"]
