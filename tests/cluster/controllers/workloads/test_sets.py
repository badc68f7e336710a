"""ReplicaSets, StatefulSets and DaemonSets in memory."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import msgspec
import pytest

from cluster.controllers.workloads.world import World
from shunter.api.apps import ControllerRevision, DaemonSet, StatefulSet
from shunter.api.core import Node, NodeSpec, Pod, Taint
from shunter.api.meta import MetadataOnly, ObjectMeta
from shunter.cluster.controllers.daemonset.backoff import FailureMemory
from shunter.cluster.controllers.daemonset.pod import DaemonPod
from shunter.cluster.controllers.replicaset.victims import victims

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
CLAIM = {"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"]}}
STATEFUL: dict[str, Any] = {
    "replicas": 3,
    "serviceName": "x",
    "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
}
DAEMON: dict[str, Any] = {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}}


def names(world: World) -> list[str]:
    return sorted(pod["metadata"]["name"] for pod in world.pods)


def pod(
    name: str, *, phase: str = "Running", node: str = "n", ready: float | None = 100, restarts: int = 0, cost: str = ""
) -> Pod:
    """A pod that has been ready for so many seconds."""
    status: dict[str, Any] = {"phase": phase, "containerStatuses": [{"name": "c", "restartCount": restarts}]}
    if ready is not None:
        since = (NOW - timedelta(seconds=ready)).isoformat()
        status["conditions"] = [{"type": "Ready", "status": "True", "lastTransitionTime": since}]
    metadata = {"name": name, "uid": name, "creationTimestamp": (NOW - timedelta(seconds=1000)).isoformat()}
    annotations = {"controller.kubernetes.io/pod-deletion-cost": cost} if cost else {}
    return msgspec.convert(
        {"metadata": {**metadata, "annotations": annotations}, "spec": {"nodeName": node}, "status": status}, Pod
    )


@pytest.mark.parametrize(
    ("first", "last"),
    [
        pytest.param({"node": ""}, {"phase": "Pending", "ready": None}, id="one without a node goes before a pending one"),
        pytest.param({"phase": "Pending", "ready": None}, {"ready": None}, id="a pending one goes before one that runs"),
        pytest.param({"ready": None}, {"cost": "-5"}, id="one that is not ready goes before a cheaper one"),
        pytest.param({"cost": "-5"}, {"ready": 1}, id="a cheaper one goes before a younger one"),
        pytest.param({"ready": 1}, {"restarts": 9}, id="one ready for a shorter time goes before one restarted"),
        pytest.param({"restarts": 9}, {}, id="one restarted more often goes first"),
    ],
)
def test_the_pods_of_least_use_go_first(first: dict[str, Any], last: dict[str, Any]) -> None:
    one, other = pod("b", **first), pod("a", **last)
    assert victims([other, one], (), 1, NOW) == (one,)


def test_pods_beside_others_go_first() -> None:
    crowded, lonely = pod("b", node="n1"), pod("a", node="n2")
    assert victims([lonely, crowded], [crowded, pod("c", node="n1"), lonely], 1, NOW) == (crowded,)


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


def test_an_older_template_is_the_same_revision_with_a_new_number_and_history_is_bounded() -> None:
    world = World()
    world.create("StatefulSet", **STATEFUL, revisionHistoryLimit=1)
    for image in ("one", "two", "one", "three", "four"):
        world.set_image("StatefulSet", image)
        world.settle_with_pods()
    revisions = {_image(one): one.revision for one in world.all("ControllerRevision", ControllerRevision)}
    assert revisions == {"three": 4, "four": 5}
    assert all(one.data["spec"]["template"]["$patch"] == "replace" for one in world.all("ControllerRevision", ControllerRevision))


@pytest.mark.parametrize(
    ("policy", "owners"),
    [
        ({"whenDeleted": "Retain", "whenScaled": "Retain"}, [None, None]),
        ({"whenDeleted": "Delete", "whenScaled": "Retain"}, ["StatefulSet", "StatefulSet"]),
        ({"whenDeleted": "Retain", "whenScaled": "Delete"}, [None, "Pod"]),
        ({"whenDeleted": "Delete", "whenScaled": "Delete"}, ["StatefulSet", "Pod"]),
    ],
)
def test_claims_belong_to_whom_the_retention_policy_says(policy: dict[str, str], owners: list[str | None]) -> None:
    world = World()
    world.create(
        "StatefulSet",
        **{**STATEFUL, "replicas": 2},
        volumeClaimTemplates=[CLAIM],
        persistentVolumeClaimRetentionPolicy=policy,
    )
    world.settle_with_pods()
    world.cluster.patch("Pod", key("x-1"), {"metadata": {"finalizers": ["test/hold"]}})
    world.change("StatefulSet", {"replicas": 1})
    world.settle_with_pods()
    claims = sorted(world.all("PersistentVolumeClaim", MetadataOnly), key=lambda one: one.metadata.name)
    assert [one.metadata.controller.kind if one.metadata.controller else None for one in claims] == owners


def test_a_daemon_runs_on_each_node_that_takes_it() -> None:
    world = World(nodes=["a", "b"])
    tainted = Node(metadata=ObjectMeta(name="c"), spec=NodeSpec(taints=(Taint(key="k", effect="NoSchedule"),)))
    world.nodes = (*world.nodes, tainted)
    world.create("DaemonSet", **DAEMON)
    world.settle_with_pods()
    assert sorted(one.node for one in world.all("Pod", DaemonPod)) == ["a", "b"]
    status = world.get("DaemonSet", DaemonSet).status
    assert (status.desired_number_scheduled, status.number_available, status.number_unavailable) == (2, 2, 0)


def test_a_daemon_stays_where_it_is_only_not_to_be_scheduled_any_more() -> None:
    world = World(nodes=["a"])
    world.create("DaemonSet", **DAEMON)
    world.settle_with_pods()
    for effect, left in (("NoSchedule", 1), ("NoExecute", 0)):
        world.nodes = (Node(metadata=ObjectMeta(name="a"), spec=NodeSpec(taints=(Taint(key="k", effect=effect),))),)
        world.settle()
        assert len(world.pods) == left, effect


@pytest.mark.parametrize(("surge", "unavailable", "most", "least"), [(0, 2, 5, 3), (2, 0, 7, 5)])
def test_an_update_of_daemons_keeps_its_bounds(surge: int, unavailable: int, most: int, least: int) -> None:
    world = World(nodes="abcde")
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}
    world.create("DaemonSet", updateStrategy=strategy)
    world.settle_with_pods()

    def keeps_bounds() -> None:
        ready = [one for one in world.pods if one["status"].get("phase") == "Running"]
        assert len(world.pods) <= most
        assert len(ready) >= least

    world.watch = keeps_bounds
    world.set_image("DaemonSet", "two")
    world.settle_with_pods()
    assert world.images() == ["two"] * 5
    assert world.get("DaemonSet", DaemonSet).status.updated_number_scheduled == 5


def test_a_daemon_that_fails_again_and_again_is_replaced_ever_later() -> None:
    memory, owner = FailureMemory(), DaemonSet(metadata=ObjectMeta(name="x", uid="owner"))
    now, waits = NOW, []
    for number in range(5):
        failed = msgspec.convert(
            {"metadata": {"name": "x", "uid": str(number)}, "spec": {"nodeName": "a"}, "status": {"phase": "Failed"}}, DaemonPod
        )
        until = memory.held(owner, [failed], now)[str(number)]
        assert memory.held(owner, [failed], now)[str(number)] == until, "the same failure counts once"
        waits.append((until - now).total_seconds())
        now = until
    assert waits == [0, 1, 2, 4, 8]


def key(name: str) -> Any:
    from shunter.kube.controllers.plan import Key

    return Key("w", name)


def _image(revision: ControllerRevision) -> str:
    return str(revision.data["spec"]["template"]["spec"]["containers"][0]["image"])
