"""The lives that every kind's jobs share: which conditions come, in which order, with which reasons.

MPIJobs differ in much of this and have tests of their own.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from job_world import World
from shunter.api.meta import Json
from shunter.api.resources import PODS, SERVICES
from shunter.operator.training.framework import AnyFramework
from shunter.operator.training.frameworks import FRAMEWORKS

KINDS = [framework for framework in FRAMEWORKS if framework.info.resource.kind != "MPIJob"]
MASTERS = ("PyTorchJob", "XGBoostJob")
each_kind = pytest.mark.parametrize("framework", KINDS, ids=[framework.info.resource.kind for framework in KINDS])


class Life:
    """A job of one pod: its Master where the kind needs one, else its Worker."""

    def __init__(self, framework: AnyFramework, restart_policy: str = "", **policy: Any) -> None:
        field = framework.info.replica_specs
        role = "Master" if framework.info.resource.kind in MASTERS else "Worker"
        template = {"spec": {"containers": [{"name": framework.container, "image": "img:1"}]}}
        replica = {"replicas": 1, "template": template, "restartPolicy": restart_policy}
        job: Json = {
            "apiVersion": framework.info.resource.api_version,
            "kind": framework.info.resource.kind,
            "metadata": {"name": "job", "namespace": "team-a", "uid": "u1"},
            "spec": {field: {role: replica}, "runPolicy": policy},
        }
        self.kind = framework.info.resource.kind
        self.pod = f"job-{role.lower()}-0"
        self.role = role
        self.world = World(framework, job)
        self.world.settle()

    def becomes(self, phase: str, code: int = 0) -> list[str]:
        self.world.set_pod(self.pod, phase, exit_code=code)
        self.world.settle()
        return self.conditions

    @property
    def conditions(self) -> list[str]:
        """`Running=False (Suspended)`: type, status and what the reason says after the kind."""
        found = self.world.status["conditions"]
        assert all(one["reason"].startswith(self.kind) for one in found)
        return [f"{one['type']}={one['status']} ({one['reason'].removeprefix(self.kind)})" for one in found]

    @property
    def message(self) -> str:
        text: str = self.world.status["conditions"][-1]["message"]
        return text


@each_kind
def test_a_job_runs_and_succeeds(framework: AnyFramework) -> None:
    life = Life(framework)
    assert life.conditions == ["Created=True (Created)"]
    assert "startTime" in life.world.status
    assert life.becomes("Running") == ["Created=True (Created)", "Running=True (Running)"]
    assert life.becomes("Succeeded") == [
        "Created=True (Created)",
        "Running=False (Running)",
        "Succeeded=True (Succeeded)",
    ]
    assert "completionTime" in life.world.status
    assert sorted(life.world.all(PODS)) == sorted(life.world.all(SERVICES)) == [life.pod]


@each_kind
def test_a_job_is_created_suspended(framework: AnyFramework) -> None:
    life = Life(framework, suspend=True)
    assert life.conditions == ["Created=True (Created)", "Suspended=True (Suspended)"]
    assert life.message == f"{life.kind} job is suspended."
    assert "startTime" not in life.world.status
    assert life.world.children == []


@each_kind
def test_a_job_is_suspended_and_resumed(framework: AnyFramework) -> None:
    life = Life(framework, cleanPodPolicy="None")
    life.becomes("Running")
    start = life.world.status["startTime"]
    life.world.set_suspended(True)
    life.world.settle()
    assert life.conditions == ["Created=True (Created)", "Running=False (Suspended)", "Suspended=True (Suspended)"]
    assert (life.world.children, life.world.status["startTime"]) == ([], start)
    life.world.set_suspended(False)
    life.world.settle()
    assert life.conditions == ["Created=True (Created)", "Running=False (Suspended)", "Suspended=False (Resumed)"]
    assert life.world.status["startTime"] > start
    assert life.becomes("Running") == ["Created=True (Created)", "Suspended=False (Resumed)", "Running=True (Running)"]


@each_kind
def test_a_pod_that_may_be_retried_is_replaced(framework: AnyFramework) -> None:
    life = Life(framework, "ExitCode")
    life.becomes("Running")
    uid = life.world.all(PODS)[life.pod]["metadata"]["uid"]
    assert life.becomes("Failed", 130) == ["Created=True (Created)", "Restarting=True (Restarting)"]
    assert life.world.all(PODS)[life.pod]["metadata"]["uid"] != uid
    assert life.becomes("Running") == ["Created=True (Created)", "Running=True (Running)"]


@each_kind
def test_a_permanent_code_fails_the_job(framework: AnyFramework) -> None:
    """With a completion time."""
    life = Life(framework, "ExitCode")
    life.becomes("Running")
    assert life.becomes("Failed", 1)[1:] == ["Running=False (Running)", "Failed=True (Failed)"]
    assert life.message == f'job "job" is failing because "{life.role}" replica(s) failed.'
    assert "completionTime" in life.world.status


@each_kind
def test_a_failed_pod_that_never_restarts_fails_the_job(framework: AnyFramework) -> None:
    life = Life(framework, "Never")
    life.becomes("Running")
    assert life.becomes("Failed", 130)[1:] == ["Running=False (Running)", "Failed=True (Failed)"]
    failed = f"because 1 {life.role} replica(s) failed."
    assert life.message in (f"{life.kind} job is failed {failed}", f"{life.kind} team-a/job has failed {failed}")


@each_kind
def test_restarts_beyond_the_limit_fail_the_job(framework: AnyFramework) -> None:
    """Its pods stay, as nothing asks for them to go."""
    life = Life(framework, "OnFailure", backoffLimit=2)
    life.becomes("Running")
    life.world.objects[PODS, life.pod]["status"]["containerStatuses"][0]["restartCount"] = 2
    life.world.settle()
    assert life.conditions[1:] == ["Running=False (Running)", "Failed=True (Failed)"]
    assert life.message == "Job job has failed because it has reached the specified backoff limit"
    assert [place[1] for place in life.world.children] == [life.pod, life.pod]


@each_kind
def test_a_passed_deadline_fails_the_job(framework: AnyFramework) -> None:
    life = Life(framework, activeDeadlineSeconds=60, cleanPodPolicy="Running")
    life.becomes("Running")
    assert 0 < (life.world.plan().requeue_after or 0) < 60
    life.world.now += timedelta(seconds=60)
    life.world.settle()
    assert life.conditions[1:] == ["Running=False (Running)", "Failed=True (Failed)"]
    assert life.message == "Job job has failed because it was active longer than specified deadline"
    assert life.world.children == []


@each_kind
@pytest.mark.parametrize(
    ("policy", "is_kept"), [(None, True), ("None", True), ("Running", True), ("All", False), ("", False), ("odd", False)]
)
def test_finished_pods_are_kept_by_policy(framework: AnyFramework, policy: str | None, is_kept: bool) -> None:
    life = Life(framework, **({} if policy is None else {"cleanPodPolicy": policy}))
    life.becomes("Running")
    life.becomes("Succeeded")
    assert bool(life.world.all(PODS)) == bool(life.world.all(SERVICES)) == is_kept


@each_kind
def test_a_job_goes_when_its_time_is_over_in_its_kinds_words(framework: AnyFramework) -> None:
    life = Life(framework, ttlSecondsAfterFinished=30)
    life.becomes("Running")
    life.becomes("Succeeded")
    life.world.now += timedelta(seconds=30)
    (write,) = life.world.plan().writes
    assert write.succeeded is not None
    by_pod = ("PyTorchJob", "PaddleJob", "JAXJob")
    assert write.succeeded.reason == ("SuccessfulDeletePod" if life.kind in by_pod else "SuccessfulDeleteJob")
    assert write.succeeded.message == "Deleted job: job"
    life.world.settle()
    assert life.world.is_gone


@each_kind
def test_roles_of_scalable_kinds_say_which_pods_they_count(framework: AnyFramework) -> None:
    life = Life(framework)
    selector = ",".join(
        f"training.kubeflow.org/{label}={value}"
        for label, value in (
            ("job-name", "job"),
            ("operator-name", f"{life.kind.lower()}-controller"),
            ("replica-type", life.role.lower()),
        )
    )
    wanted = selector if life.kind in ("PyTorchJob", "PaddleJob", "JAXJob") else None
    assert life.world.status["replicaStatuses"][life.role].get("selector") == wanted


def test_metrics_call_kinds_by_upstreams_names() -> None:
    names = {framework.info.resource.kind: framework.info.metrics_label for framework in FRAMEWORKS}
    assert names == {
        "JAXJob": "jax",
        "MPIJob": "mpi",
        "PaddleJob": "paddle",
        "PyTorchJob": "pytorch",
        "TFJob": "tensorflow",
        "XGBoostJob": "xgboost",
    }
