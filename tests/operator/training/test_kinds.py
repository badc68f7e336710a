"""What all job kinds but MPIJob have in common, and how they differ in it: environment, masters, names, faults."""

from __future__ import annotations

from typing import Any

import pytest

from framework_jobs import JAX, PADDLE, TF, XGB, Played, job, manifest
from job_world import World
from shunter.api.resources import PODS, SERVICES
from shunter.operator.training.framework import AnyFramework
from shunter.operator.training.frameworks import framework_of
from shunter.operator.training.replicas import desired_pods


@pytest.mark.parametrize("framework", [XGB, JAX, PADDLE], ids=["XGBoost", "JAX", "Paddle"])
def test_every_container_of_other_kinds_gets_the_environment(framework: AnyFramework) -> None:
    (pod, *_) = desired_pods(framework, job(framework, {"Master": 1, "Worker": 1}, sidecar=True))
    trains, side = pod["spec"]["containers"]
    assert trains["env"] == side["env"] != []


@pytest.mark.parametrize(
    ("framework", "roles", "masters"),
    [
        (TF, {"Worker": 2}, ["job-worker-0"]),
        (TF, {"Master": 1, "Worker": 1}, ["job-master-0"]),
        (TF, {"Chief": 2, "Worker": 1}, ["job-chief-0", "job-chief-1"]),
        (TF, {"PS": 1}, []),
        (XGB, {"Master": 1, "Worker": 1}, ["job-master-0"]),
        (JAX, {"Worker": 2}, ["job-worker-0"]),
        (PADDLE, {"Master": 2, "Worker": 1}, ["job-master-0", "job-master-1"]),
        (PADDLE, {"Worker": 2}, []),
    ],
)
def test_the_master_role_is_where_upstream_puts_it(framework: AnyFramework, roles: dict[str, int], masters: list[str]) -> None:
    pods = desired_pods(framework, job(framework, roles))
    labelled = [pod for pod in pods if pod["metadata"]["labels"].get("training.kubeflow.org/job-role") == "master"]
    assert [pod["metadata"]["name"] for pod in labelled] == masters


@pytest.mark.parametrize(
    ("framework", "conditions"),
    [(JAX, ["Created=True", "Running=True"]), (PADDLE, ["Created=True", "Running=True"])],
    ids=["JAX", "Paddle"],
)
def test_workers_are_done_when_all_are(framework: AnyFramework, conditions: list[str]) -> None:
    """elasticPolicy of a PaddleJob makes no difference."""
    elastic = {"elasticPolicy": {"minReplicas": 1}} if framework is PADDLE else {}
    played = Played(framework, {"Worker": 2}, **elastic)
    played.pods("Running", "worker-0", "worker-1")
    assert played.pods("Succeeded", "worker-0") == conditions
    assert played.pods("Succeeded", "worker-1")[-1] == "Succeeded=True"


@pytest.mark.parametrize(("length", "workers"), [(54, 10), (54, 11), (55, 1), (63, 1)])
def test_a_name_too_long_for_its_services_fails_the_job_and_says_so(length: int, workers: int) -> None:
    """NAME-worker-9 may have 63 characters. Upstream tries for ever to make the service."""
    body = manifest(JAX, {"Worker": workers})
    body["metadata"]["name"] = "n" * length
    world = World(JAX, body)
    world.settle()
    if length == 54 and workers == 10:
        assert len(world.all(SERVICES)) == 10
        return
    last = world.status["conditions"][-1]
    assert (last["type"], last["status"]) == ("Failed", "True")
    assert f'metadata.name: Invalid value: "{"n" * length}"' in last["message"]
    assert f"-worker-{workers - 1} would be the name of one of its services, which may have 63 characters" in last["message"]
    assert world.all(PODS) == {}


def test_a_role_that_makes_no_name_fails_the_job_and_says_so() -> None:
    """Admission lets TFJobs have any role."""
    world = World(TF, manifest(TF, {"Worker": 1, "My_Role": 1}))
    world.settle()
    last = world.status["conditions"][-1]
    assert (last["type"], last["status"]) == ("Failed", "True")
    assert 'spec.tfReplicaSpecs[My_Role]: Invalid value: "My_Role": job-my_role-0 would be a service of it' in last["message"]
    assert world.children == []


GONE_WRONG = [
    pytest.param(framework, fault, id=f"{framework.info.resource.kind}: {name}")
    for framework in (TF, XGB, JAX, PADDLE, framework_of("PyTorchJob"))
    for name, fault in {
        "no roles": lambda spec, field: {field: {}},
        "a role that is none": lambda spec, field: {field: {"Boss": spec[field]["Worker"]}},
        "no template": lambda spec, field: {field: {"Worker": {"replicas": 1}}},
        "no containers": lambda spec, field: {field: {"Worker": {"replicas": 1, "template": {"spec": {"containers": []}}}}},
        "null everywhere": lambda spec, field: {field: {"Worker": {"replicas": None, "template": {"spec": None}}}},
        "a manager in vain": lambda spec, field: {
            **spec,
            "runPolicy": {"managedBy": "kubeflow.org/training-operator"},
            field: {},
        },
    }.items()
]


@pytest.mark.parametrize(("framework", "fault"), GONE_WRONG)
def test_a_job_that_came_past_admission_fails_once_and_names_the_field(framework: AnyFramework, fault: Any) -> None:
    """With the webhook off: a condition, no traceback, no loop."""
    field = framework.info.replica_specs
    body = manifest(framework, {"Worker": 1})
    world = World(framework, {**body, "spec": fault(body["spec"], field)})
    world.settle()
    if framework is TF and not world.faults:
        return  # A role that TensorFlow does not know is no fault.
    last = world.status["conditions"][-1]
    assert (last["type"], last["status"]) == ("Failed", "True")
    assert f"spec.{field}" in last["message"]
    assert "Correct the field(s) and create the job again." in last["message"]
    assert world.plan().requeue_after is None
    assert world.all(PODS) == {}
