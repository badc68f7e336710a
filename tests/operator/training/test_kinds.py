"""TFJob, XGBoostJob, JAXJob and PaddleJob: what their pods are told, and what pods say about the job.

The recordings show the usual cases; here stand those that they do not reach.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from job_world import World
from shunter.api.meta import Json
from shunter.api.resources import PODS, SERVICES
from shunter.operator.training.framework import AnyFramework, Settings
from shunter.operator.training.frameworks import framework_of
from shunter.operator.training.job import AnyJob
from shunter.operator.training.replicas import desired_pods

TF, XGB, JAX, PADDLE = (framework_of(kind) for kind in ("TFJob", "XGBoostJob", "JAXJob", "PaddleJob"))


def manifest(framework: AnyFramework, roles: dict[str, int], *, policy: str = "", sidecar: bool = False, **spec: Any) -> Json:
    containers = [{"name": framework.container, "image": "img:1"}, *([{"name": "side", "image": "img:2"}] if sidecar else [])]
    replica = {"template": {"spec": {"containers": containers}}, "restartPolicy": policy}
    field = framework.info.replica_specs
    return {
        "apiVersion": framework.info.resource.api_version,
        "kind": framework.info.resource.kind,
        "metadata": {"name": "job", "namespace": "team-a", "uid": "u1"},
        "spec": {field: {role: {**replica, "replicas": count} for role, count in roles.items()}, **spec},
    }


def job(framework: AnyFramework, roles: dict[str, int], **spec: Any) -> AnyJob:
    return framework.read(msgspec.convert(manifest(framework, roles, **spec), framework.info.view))


def environments(framework: AnyFramework, roles: dict[str, int], **spec: Any) -> dict[str, dict[str, str]]:
    """The variables of each pod's first container."""
    pods = desired_pods(framework, job(framework, roles, **spec))
    return {
        pod["metadata"]["name"]: {
            variable["name"]: variable.get("value") for variable in pod["spec"]["containers"][0].get("env", [])
        }
        for pod in pods
    }


def test_only_the_training_container_of_a_tfjob_gets_tf_config() -> None:
    (pod, _) = desired_pods(TF, job(TF, {"Worker": 2}, sidecar=True))
    trains, side = pod["spec"]["containers"]
    assert [variable["name"] for variable in trains["env"]] == ["TF_CONFIG"]
    assert "env" not in side


@pytest.mark.parametrize("framework", [XGB, JAX, PADDLE], ids=["XGBoost", "JAX", "Paddle"])
def test_every_container_of_other_kinds_gets_the_environment(framework: AnyFramework) -> None:
    (pod, *_) = desired_pods(framework, job(framework, {"Master": 1, "Worker": 1}, sidecar=True))
    trains, side = pod["spec"]["containers"]
    assert trains["env"] == side["env"] != []


def test_tf_config_lists_all_pods_by_role() -> None:
    told = environments(TF, {"Worker": 1, "Chief": 1, "PS": 0})["job-worker-0"]["TF_CONFIG"]
    assert told == (
        '{"cluster":{"chief":["job-chief-0.team-a.svc:2222"],"ps":[],"worker":["job-worker-0.team-a.svc:2222"]},'
        '"task":{"type":"worker","index":0},"environment":"cloud"}'
    )


def test_addresses_of_a_tfjob_carry_the_operators_cluster_domain() -> None:
    """The domain is set by CUSTOM_CLUSTER_DOMAIN."""
    framework = TF.with_settings(Settings(cluster_domain="cluster.local"))
    told = environments(framework, {"Worker": 2})["job-worker-1"]["TF_CONFIG"]
    assert json.loads(told)["cluster"]["worker"][0] == "job-worker-0.team-a.svc.cluster.local:2222"


def test_a_tfjob_of_one_pod_is_told_of_no_cluster() -> None:
    assert environments(TF, {"Chief": 1, "PS": 0}) == {"job-chief-0": {}}


def test_ranks_of_an_xgboostjob_begin_at_its_master() -> None:
    told = environments(XGB, {"Worker": 2, "Master": 1})
    assert [pod["RANK"] for pod in told.values()] == ["0", "1", "2"]
    assert {pod["WORKER_ADDRS"] for pod in told.values()} == {"job-worker-0,job-worker-1"}


def test_trainers_of_a_paddlejob_meet_at_its_first_server() -> None:
    """Only the first server is told its own address."""
    told = environments(PADDLE, {"Master": 2, "Worker": 1})
    assert [pod["PADDLE_MASTER"] for pod in told.values()] == [
        "$(POD_IP_DUMMY):36543",
        "job-master-0:36543",
        "job-master-0:36543",
    ]


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


class Played:
    """A job whose pods are all there, and do what is said."""

    def __init__(self, framework: AnyFramework, roles: dict[str, int], **spec: Any) -> None:
        self.world = World(framework, manifest(framework, roles, **spec))
        self.world.settle()

    def pods(self, phase: str, *names: str, code: int = 0) -> list[str]:
        """The conditions, after these pods came to be in this phase."""
        for name in names:
            self.world.set_pod(f"job-{name}", phase, exit_code=code)
        self.world.settle()
        return [f"{one['type']}={one['status']}" for one in self.world.status["conditions"]]

    @property
    def message(self) -> str:
        text: str = self.world.status["conditions"][-1]["message"]
        return text


def test_a_tfjob_of_parameter_servers_only_never_runs_and_never_ends() -> None:
    played = Played(TF, {"PS": 1})
    assert played.pods("Running", "ps-0") == ["Created=True"]
    assert played.pods("Succeeded", "ps-0") == ["Created=True"]


def test_the_evaluator_ends_no_tfjob_but_fails_it() -> None:
    played = Played(TF, {"Worker": 1, "Evaluator": 1})
    assert played.pods("Running", "worker-0", "evaluator-0") == ["Created=True", "Running=True"]
    assert played.pods("Failed", "evaluator-0", code=1) == ["Created=True", "Running=False", "Failed=True"]
    assert played.message == "TFJob team-a/job has failed because 1 Evaluator replica(s) failed."


def test_worker_0_done_and_worker_1_failed_at_once_is_both() -> None:
    """Succeeded, then Failed."""
    played = Played(TF, {"Worker": 2})
    played.world.set_pod("job-worker-0", "Succeeded")
    assert played.pods("Failed", "worker-1", code=1) == ["Created=True", "Succeeded=True", "Failed=True"]


def test_a_restarting_tfjob_with_running_workers_stays_restarting() -> None:
    """The failure of a pod that is being replaced is no failure of the job."""
    played = Played(TF, {"Worker": 2}, policy="ExitCode")
    played.pods("Running", "worker-0", "worker-1")
    played.world.set_pod("job-worker-1", "Failed", exit_code=137)
    played.world.look()
    last = played.world.status["conditions"][-1]
    assert (last["type"], last["message"]) == ("Restarting", "job job is restarting because Worker replica(s) failed.")
    assert played.pods("Running", "worker-0") == ["Created=True", "Running=True"]


@pytest.mark.parametrize(
    ("policy", "conditions", "message"),
    [
        (
            "Never",
            ["Created=True", "Running=False", "Failed=True"],
            "XGBoostJob job is failed because 1 Worker replica(s) failed.",
        ),
        (
            "OnFailure",
            ["Created=True", "Running=False", "Failed=True"],
            "XGBoostJob job is failed because 1 Worker replica(s) failed.",
        ),
        ("ExitCode", ["Created=True", "Running=True"], "XGBoostJob job is running."),
    ],
)
def test_a_failed_pod_fails_an_xgboostjob_unless_exit_codes_decide(policy: str, conditions: list[str], message: str) -> None:
    played = Played(XGB, {"Master": 1, "Worker": 1}, policy=policy)
    played.pods("Running", "master-0", "worker-0")
    assert played.pods("Failed", "worker-0", code=137) == conditions
    assert played.message == message


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
