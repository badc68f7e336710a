"""activeDeadlineSeconds: a job past it fails, and one before it is looked at in time."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest

from plan_texts import states
from shunter.operator.training.frameworks import framework_of
from shunter.operator.training.job import AnyJob
from shunter.operator.training.observed import Observed
from shunter.operator.training.plan import plan
from shunter.operator.training.policies import deadline

PYTORCH = framework_of("PyTorchJob")
MakeJob = Callable[..., AnyJob]
Observe = Callable[..., Observed]


def test_a_job_past_its_deadline_fails_and_one_before_comes_back_in_time(
    make_job: MakeJob, observe: Observe, now: datetime
) -> None:
    started = (now - timedelta(seconds=40)).isoformat()
    late = make_job(policy={"activeDeadlineSeconds": 40}, status={"startTime": started})
    assert states(plan(PYTORCH, observe(late), now)) == ["Created=True", "Failed=True"]
    early = make_job(policy={"activeDeadlineSeconds": 100}, status={"startTime": started})
    assert plan(PYTORCH, observe(early), now).requeue_after == 60
    assert deadline.remaining(make_job(policy={"activeDeadlineSeconds": 1}), now) is None


@pytest.mark.parametrize("seconds", [10**12, 2**63 - 1])
def test_a_deadline_beyond_all_calendars_is_none_that_matters(
    make_job: MakeJob, observe: Observe, now: datetime, seconds: int
) -> None:
    job = make_job(policy={"activeDeadlineSeconds": seconds}, status={"startTime": now.isoformat()})
    made = plan(PYTORCH, observe(job), now)
    assert states(made) == ["Created=True", "Running=True"]
    assert made.requeue_after == float(seconds)
