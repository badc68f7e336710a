"""The conditions of a Deployment."""

from __future__ import annotations

from datetime import timedelta

import pytest

from cluster.controllers.deployment.rollouts import DEFAULTS, conditions, rolled_out
from cluster.controllers.workloads.world import World
from shunter.api.apps import Deployment, ReplicaSet


def test_a_rollout_that_makes_no_progress_times_out_and_goes_on_when_it_can() -> None:
    world = World()
    world.create("Deployment", **{**DEFAULTS, "progressDeadlineSeconds": 30})
    world.settle()
    waiting = world.get("Deployment", Deployment)
    planned, _ = world.plan_deployment(world.cluster.of_kind("Deployment")[0])
    assert planned.requeue_after == pytest.approx(31)
    assert conditions(waiting.status)["Progressing"] == ("True", "ReplicaSetUpdated")
    world.cluster.now += timedelta(seconds=31)
    world.settle()
    late = world.get("Deployment", Deployment).status
    assert conditions(late)["Progressing"] == ("False", "ProgressDeadlineExceeded")
    assert conditions(rolled_out(world))["Progressing"] == ("True", "NewReplicaSetAvailable")


def test_a_refused_pod_is_a_condition_of_replica_set_and_deployment() -> None:
    world = World()
    world.refused = lambda body: "exceeded quota: q" if body["kind"] == "Pod" else ""
    world.create("Deployment", **DEFAULTS)
    for _ in range(5):
        world.step()
    (replica_set,) = world.all("ReplicaSet", ReplicaSet)
    failure = replica_set.status.condition("ReplicaFailure")
    assert failure is not None
    assert (failure.reason, failure.message) == ("FailedCreate", "exceeded quota: q")
    status = world.get("Deployment", Deployment).status
    assert conditions(status)["ReplicaFailure"] == ("True", "FailedCreate")
    world.refused = lambda body: ""
    assert "ReplicaFailure" not in conditions(rolled_out(world))
