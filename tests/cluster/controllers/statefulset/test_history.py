"""The revisions of StatefulSets."""

from __future__ import annotations

from cluster.controllers.workloads.world import STATEFUL, World
from shunter.api.apps import ControllerRevision


def test_an_older_template_is_the_same_revision_with_a_new_number_and_history_is_bounded() -> None:
    world = World()
    world.create("StatefulSet", **STATEFUL, revisionHistoryLimit=1)
    for image in ("one", "two", "one", "three", "four"):
        world.set_image("StatefulSet", image)
        world.settle_with_pods()
    revisions = {_image(one): one.revision for one in world.all("ControllerRevision", ControllerRevision)}
    assert revisions == {"three": 4, "four": 5}
    assert all(one.data["spec"]["template"]["$patch"] == "replace" for one in world.all("ControllerRevision", ControllerRevision))


def _image(revision: ControllerRevision) -> str:
    return str(revision.data["spec"]["template"]["spec"]["containers"][0]["image"])
