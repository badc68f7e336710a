"""Rolling updates of DaemonSets."""

from __future__ import annotations

import pytest

from cluster.controllers.workloads.world import World
from shunter.api.apps import DaemonSet


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
