"""How many pods a role gets: none for none, and none that is made only to be deleted again."""

from __future__ import annotations

import pytest

from job_world import World
from shunter.api.resources import PODS, SERVICES
from shunter.operator.training.framework import AnyFramework
from shunter.operator.training.frameworks import framework_of

TF, JAX, PADDLE = (framework_of(kind) for kind in ("TFJob", "JAXJob", "PaddleJob"))


def settled(framework: AnyFramework, roles: dict[str, int]) -> World:
    """A job with so many replicas a role, once its operator has nothing left to do."""
    template = {"spec": {"containers": [{"name": framework.container, "image": "img:1"}]}}
    specs = {role: {"replicas": count, "template": template} for role, count in roles.items()}
    world = World(
        framework,
        {
            "apiVersion": framework.info.resource.api_version,
            "kind": framework.info.resource.kind,
            "metadata": {"name": "job", "namespace": "team-a", "uid": "u1"},
            "spec": {framework.info.replica_specs: specs},
        },
    )
    world.settle()
    return world


@pytest.mark.parametrize("framework", [TF, JAX, PADDLE], ids=["TF", "JAX", "Paddle"])
def test_no_workers_at_all_are_done_at_once(framework: AnyFramework) -> None:
    world = settled(framework, {"Worker": 0})
    assert [one["type"] for one in world.status["conditions"] if one["status"] == "True"] == ["Created", "Succeeded"]
    assert world.all(PODS) == world.all(SERVICES) == {}


def test_a_role_without_replicas_beside_a_live_one_is_left_alone() -> None:
    """Upstream makes and deletes a pod of it for ever."""
    assert sorted(settled(PADDLE, {"Master": 0, "Worker": 2}).all(PODS)) == ["job-worker-0", "job-worker-1"]


def test_a_negative_number_of_replicas_is_none() -> None:
    """Admission of TFJobs lets it pass, as upstream's."""
    assert sorted(settled(TF, {"Worker": -1, "PS": 2}).all(PODS)) == ["job-ps-0", "job-ps-1"]
