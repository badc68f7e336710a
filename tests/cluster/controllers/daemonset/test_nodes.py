"""Which nodes a daemon runs on, and where it stays."""

from __future__ import annotations

from cluster.controllers.workloads.world import DAEMON, World
from shunter.api.apps import DaemonSet
from shunter.api.core import Node, NodeSpec, Taint
from shunter.api.meta import ObjectMeta
from shunter.cluster.controllers.daemonset.pod import DaemonPod


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
