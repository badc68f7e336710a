"""What the failure of a pod leads to, by restart policy and exit code."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import msgspec
import pytest

from plan_texts import deleted, reasons, states
from shunter.api.core import Pod
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


def test_a_failed_pod_that_is_being_deleted_is_left_alone() -> None:
    pod = msgspec.convert(
        {"metadata": {"name": "p", "deletionTimestamp": "2026-01-01T00:00:00Z"}, "status": {"phase": "Failed"}}, Pod
    )
    assert restart.consequence(pod, "OnFailure", "pytorch") == "none"


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
