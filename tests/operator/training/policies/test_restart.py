"""What the failure of a pod leads to, by restart policy and exit code."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import msgspec
import pytest

from job_world import World
from plan_texts import deleted, reasons, states
from shunter.api.core import Pod
from shunter.api.resources import PODS
from shunter.api.training.job_kind import JobKind
from shunter.api.training.kinds import JOB_KINDS
from shunter.operator.training.frameworks import framework_of
from shunter.operator.training.job import AnyJob
from shunter.operator.training.observed import Observed
from shunter.operator.training.plan import plan
from shunter.operator.training.policies import restart

PYTORCH = framework_of("PyTorchJob")
MakeJob = Callable[..., AnyJob]
Observe = Callable[..., Observed]


@pytest.mark.parametrize(
    ("policy", "code", "wanted"),
    [
        ("OnFailure", 1, "replace"),
        ("Always", 1, "replace"),
        ("Never", 1, "none"),
        ("ExitCode", 1, "fail"),
        ("ExitCode", 127, "fail"),
        ("ExitCode", 128, "replace"),
        ("ExitCode", 137, "replace"),
        ("ExitCode", None, "replace"),
    ],
)
def test_a_failed_pod_is_replaced_or_fails_the_job_by_policy_and_exit_code(policy: str, code: int | None, wanted: str) -> None:
    statuses = [] if code is None else [{"name": "pytorch", "state": {"terminated": {"exitCode": code}}}]
    pod = msgspec.convert({"metadata": {"name": "p"}, "status": {"phase": "Failed", "containerStatuses": statuses}}, Pod)
    assert restart.consequence(pod, policy, "pytorch") == wanted


@pytest.mark.parametrize(("policy", "wanted"), [("OnFailure", "replace"), ("ExitCode", "replace"), ("Never", "none")])
def test_a_failed_pod_that_is_being_deleted_is_still_replaced_whatever_its_exit_code(policy: str, wanted: str) -> None:
    statuses = [{"name": "pytorch", "state": {"terminated": {"exitCode": 1}}}]
    metadata = {"name": "p", "deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 0}
    pod = msgspec.convert({"metadata": metadata, "status": {"phase": "Failed", "containerStatuses": statuses}}, Pod)
    assert restart.consequence(pod, policy, "pytorch") == wanted


@pytest.mark.parametrize(
    ("kind", "policy"),
    [
        (kind, policy)
        for kind in JOB_KINDS
        for policy in ("OnFailure", "ExitCode")
        # A failed pod of these fails the job, but with ExitCode.
        if policy == "ExitCode" or kind.resource.kind not in ("MPIJob", "XGBoostJob")
    ],
)
def test_while_a_failed_pod_is_being_deleted_the_job_does_not_fail(kind: JobKind, policy: str) -> None:
    """An API server shows a pod that it deletes at once with a deletionTimestamp first."""
    template = {"spec": {"containers": [{"name": kind.container, "image": "img:1"}]}}
    specs = {role: {"replicas": 1, "restartPolicy": policy, "template": template} for role in {kind.roles[0], kind.roles[-1]}}
    job = {"metadata": {"name": "job", "namespace": "team-a", "uid": "u-job"}, "spec": {kind.replica_specs: specs}}
    world = World(framework_of(kind.resource.kind), job, has_grace=True)
    world.settle()
    for pod in world.all(PODS):
        world.set_pod(pod, "Running")
    world.settle()
    failed = max(world.all(PODS))
    world.set_pod(failed, "Failed", exit_code=137)
    world.settle()
    assert world.is_finished is False
    if world.leaving:
        world.end_pod(failed)
        world.settle()
        assert failed in world.all(PODS), "it was made again"
    assert world.is_finished is False


def test_a_failed_worker_is_replaced_and_the_job_restarts(make_job: MakeJob, observe: Observe, now: datetime) -> None:
    made = plan(PYTORCH, observe(make_job(), {"bert-worker-0": "Failed"}), now)
    assert deleted(made) == [], "told first"
    assert states(made) == ["Created=True", "Restarting=True"]
    assert reasons(made) == ["RankFailed", "ExitedWithCode", "PyTorchJobRestarting", "PyTorchJobRestarting"]
    assert made.status is not None
    again = plan(PYTORCH, observe(make_job(status=made.status.desired), {"bert-worker-0": "Failed"}), now)
    assert (deleted(again), reasons(again)) == (["Pod/bert-worker-0"], [])


def test_a_permanent_exit_code_fails_the_job_with_a_completion_time(make_job: MakeJob, observe: Observe, now: datetime) -> None:
    """No restart is announced, and the time to live can count."""
    made = plan(PYTORCH, observe(make_job(role={"restartPolicy": "ExitCode"}), {"bert-worker-0": "Failed"}, exit_code=2), now)
    assert made.status is not None
    assert states(made) == ["Created=True", "Failed=True"]
    assert made.status.desired["completionTime"] == "2026-11-21T12:00:00Z"
    assert reasons(made) == ["RankFailed", "ExitedWithCode", "PyTorchJobFailed"]
