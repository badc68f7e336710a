"""ttlSecondsAfterFinished: when a finished job is deleted."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from plan_texts import deleted
from shunter.operator.training.frameworks import framework_of
from shunter.operator.training.job import AnyJob
from shunter.operator.training.observed import Observed
from shunter.operator.training.plan import plan
from shunter.operator.training.policies import ttl

PYTORCH = framework_of("PyTorchJob")
MakeJob = Callable[..., AnyJob]
Observe = Callable[..., Observed]
FINISHED = {"conditions": [{"type": "Succeeded", "status": "True"}], "completionTime": "2026-11-21T11:59:50Z"}


def test_a_finished_job_is_deleted_when_its_time_is_over(make_job: MakeJob, observe: Observe, now: datetime) -> None:
    """It completed 10 seconds ago."""
    over = plan(PYTORCH, observe(make_job(policy={"ttlSecondsAfterFinished": 10}, status=FINISHED)), now)
    assert deleted(over) == ["PyTorchJob/bert"]
    later = plan(PYTORCH, observe(make_job(policy={"ttlSecondsAfterFinished": 25}, status=FINISHED)), now)
    assert (deleted(later), later.requeue_after) == ([], 15)
    assert ttl.remaining(make_job(policy={"ttlSecondsAfterFinished": 1, "suspend": True}, status=FINISHED), now) is None


def test_a_condition_that_is_not_true_is_no_end(make_job: MakeJob, now: datetime) -> None:
    """As a status has it that was written by hand, without a completion time."""
    conditions = [
        {"type": "Failed", "status": "False", "lastTransitionTime": "2026-11-21T11:00:00Z"},
        {"type": "Succeeded", "status": "True", "lastTransitionTime": "2026-11-21T11:59:50Z"},
    ]
    assert ttl.remaining(make_job(policy={"ttlSecondsAfterFinished": 25}, status={"conditions": conditions}), now) == 15
