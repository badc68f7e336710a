"""What holds for every job of every kind, generated: the same pods each time, no loops, and statuses that only go forward."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from job_world import World
from shunter.api.meta import Json
from shunter.api.resources import PODS, SERVICES
from shunter.api.training.job_kind import JobKind
from shunter.api.training.kinds import JOB_KINDS
from shunter.operator.training.frameworks import framework_of

PHASES = ("Pending", "Running", "Succeeded", "Failed")

RUN_POLICIES = st.fixed_dictionaries(
    {},
    optional={
        "cleanPodPolicy": st.sampled_from(["All", "Running", "None"]),
        "activeDeadlineSeconds": st.integers(10, 30),
        "backoffLimit": st.integers(0, 3),
        "ttlSecondsAfterFinished": st.integers(0, 10),
        "suspend": st.booleans(),
    },
)
OWN_FIELDS: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "PyTorchJob": {
        "nprocPerNode": st.sampled_from(["auto", "cpu", "2"]),
        "elasticPolicy": st.fixed_dictionaries(
            {}, optional={"minReplicas": st.integers(1, 2), "maxReplicas": st.integers(2, 4), "rdzvId": st.just("x")}
        ),
    },
    "TFJob": {"successPolicy": st.sampled_from(["", "AllWorkers"]), "enableDynamicWorker": st.booleans()},
    "MPIJob": {"slotsPerWorker": st.integers(1, 4), "cleanPodPolicy": st.sampled_from(["All", "Running"])},
    "PaddleJob": {"elasticPolicy": st.fixed_dictionaries({}, optional={"minReplicas": st.integers(0, 2)})},
}
"""What kinds have beside roles and run policy."""


def replica_specs(kind: JobKind, role: str) -> st.SearchStrategy[Json]:
    containers: list[Json] = [{"name": kind.container, "image": "img:1"}]
    shapes = [containers, [*containers, {"name": "side", "image": "img:2"}]]
    if kind.port:
        shapes.append([{**containers[0], "ports": [{"name": kind.port.name, "containerPort": 4321}]}])
    return st.fixed_dictionaries(
        {
            "replicas": st.just(1) if role in ("Master", "Launcher") else st.integers(0, 3),
            "template": st.sampled_from(shapes).map(lambda shape: {"spec": {"containers": shape}}),
        },
        optional={"restartPolicy": st.sampled_from(["Always", "OnFailure", "Never", "ExitCode"])},
    )


def jobs(kind: JobKind) -> st.SearchStrategy[Json]:
    roles: dict[str, st.SearchStrategy[Any]] = {role: replica_specs(kind, role) for role in kind.roles}
    specs = st.fixed_dictionaries({}, optional=roles).filter(bool)
    spec = st.fixed_dictionaries(
        {kind.replica_specs: specs}, optional={"runPolicy": RUN_POLICIES, **OWN_FIELDS.get(kind.resource.kind, {})}
    )
    return spec.map(
        lambda body: {
            "apiVersion": kind.resource.api_version,
            "kind": kind.resource.kind,
            "metadata": {"name": "job", "namespace": "team-a", "uid": "u-job"},
            "spec": body,
        }
    )


WORLDS = (
    st.sampled_from(JOB_KINDS)
    .flatmap(lambda kind: jobs(kind).map(lambda job: World(framework_of(kind.resource.kind), job)))
    .filter(lambda world: not world.faults)
)
"""Jobs that admission accepts, as they were just created."""


def generated(examples: int) -> Callable[[Any], Any]:
    # Generated jobs that are refused are many, as it is not worth saying every rule again here.
    ignored = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]
    return settings(max_examples=examples, suppress_health_check=ignored, derandomize=True, database=None)


def bodies(world: World) -> dict[str, Json]:
    """The pods as they were made, without what the API server and the kubelet add."""
    made = world.all(PODS).items()
    return {name: {**pod["metadata"], "uid": "", "resourceVersion": "", "spec": pod["spec"]} for name, pod in made}


@pytest.mark.slow
@generated(150)
@given(WORLDS, st.randoms(use_true_random=False))
def test_plans_do_not_depend_on_the_order_or_number_of_events(world: World, order: random.Random) -> None:
    for _ in range(3):
        if not world.is_gone:
            assert world.plan(order) == world.plan()
            world.look()


@generated(150)
@given(WORLDS)
def test_roles_in_another_order_get_the_same_pods(world: World) -> None:
    field = next(name for name in world.job["spec"] if name.endswith("ReplicaSpecs"))
    backwards = dict(reversed(world.job["spec"][field].items()))
    other = World(world.framework, {**world.job, "spec": {**world.job["spec"], field: backwards}})
    world.settle()
    other.settle()
    assert bodies(world) == bodies(other)


@generated(150)
@given(WORLDS)
def test_a_look_at_ones_own_work_changes_nothing(world: World) -> None:
    world.settle()
    if not world.is_gone:
        assert (world.plan().writes, world.plan().events) == ((), ())


@generated(150)
@given(WORLDS, st.data())
def test_deleted_pods_and_services_come_back_the_same(world: World, data: st.DataObject) -> None:
    world.settle()
    if world.is_gone or world.is_finished:
        return
    before, services = bodies(world), set(world.all(SERVICES))
    gone = data.draw(st.sets(st.sampled_from(sorted(place for place in world.children)))) if world.children else set()
    for resource, name in gone:
        del world.objects[resource, name]
    world.settle()
    assert (bodies(world), set(world.all(SERVICES))) == (before, services)


@pytest.mark.slow
@generated(250)
@given(WORLDS, st.data())
def test_statuses_go_forward_and_count_what_is_there(world: World, data: st.DataObject) -> None:
    world.settle()
    for _ in range(data.draw(st.integers(1, 6))):
        if world.is_gone:
            return
        seen = world.status
        something_happens(world, data)
        world.settle()
        if not world.is_gone:
            assert_forward(seen, world.status)
            assert_counted(world)


def something_happens(world: World, data: st.DataObject) -> None:
    pods = sorted(name for name, pod in world.all(PODS).items() if pod.get("status", {}).get("phase") not in PHASES[2:])
    match data.draw(st.sampled_from(["phase", "phase", "phase", "suspend", "delete"])):
        case "suspend":
            world.set_suspended(data.draw(st.booleans()))
        case "phase" if pods:
            phase = data.draw(st.sampled_from(PHASES[1:]))
            for name in data.draw(st.sets(st.sampled_from(pods), min_size=1)):
                world.set_pod(name, phase, exit_code=data.draw(st.sampled_from([1, 130])) if phase == "Failed" else 0)
        case "delete" if pods:
            del world.objects[PODS, data.draw(st.sampled_from(pods))]


def assert_forward(old: Json, new: Json) -> None:
    """Ends are not taken back, times do not run backwards, and what was once told stays in the list."""
    was, now = ({one["type"]: one for one in status.get("conditions", [])} for status in (old, new))
    for type, condition in was.items():
        if type not in ("Running", "Restarting"):
            assert type in now
            assert now[type]["lastTransitionTime"] >= condition["lastTransitionTime"]
        if condition["status"] == "True" and type in ("Created", "Succeeded", "Failed"):
            assert now[type]["status"] == "True"
    for field in ("startTime", "completionTime"):
        if field in old:
            assert new[field] >= old[field]
    if "Succeeded" in was or "Failed" in was:
        assert new["completionTime"] == old["completionTime"]
    assert [type for type in now if now[type]["status"] == "True" and type in ("Running", "Restarting")] in (
        [],
        ["Running"],
        ["Restarting"],
    )


def assert_counted(world: World) -> None:
    """A job that goes on counts its pods by what they do; those of a suspended one are gone."""
    if world.is_finished or world.is_suspended:
        return
    for role, counts in world.status.get("replicaStatuses", {}).items():
        label = {"training.kubeflow.org/replica-type": role.lower()}
        phases = [
            pod.get("status", {}).get("phase")
            for pod in world.all(PODS).values()
            if label.items() <= pod["metadata"]["labels"].items()
        ]
        told = {"Running": counts.get("active", 0), "Succeeded": counts.get("succeeded", 0), "Failed": counts.get("failed", 0)}
        assert told == {phase: phases.count(phase) for phase in told}, role
