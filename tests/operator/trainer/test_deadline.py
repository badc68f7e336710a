"""activeDeadlineSeconds of a TrainJob."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from shunter.api.resources import JOBSETS
from shunter.kube.controllers.plan import Delete
from shunter.operator.trainer.plan import Observed, plan
from trainer_plans import MakeRuntime, MakeTrainJob, conditions, jobset, snapshot


def test_the_deadline_counts_from_creation_or_the_last_resume(
    make_trainjob: MakeTrainJob, make_runtime: MakeRuntime, now: datetime
) -> None:
    """The job is an hour old."""
    runtime = make_runtime()
    assert plan(Observed(job=make_trainjob(activeDeadlineSeconds=3700), runtime=runtime), now).requeue_after == 100
    resumed = {"type": "Suspended", "status": "False", "reason": "Resumed", "lastTransitionTime": "2026-11-21T11:59:00Z"}
    job = make_trainjob(activeDeadlineSeconds=100, status={"conditions": [resumed]})
    assert plan(Observed(job=job, runtime=runtime), now).requeue_after == 40
    assert plan(Observed(job=make_trainjob(activeDeadlineSeconds=1, suspend=True), runtime=runtime), now).requeue_after is None
    endless = 2**63 - 1
    assert plan(Observed(job=make_trainjob(activeDeadlineSeconds=endless), runtime=runtime), now).requeue_after == pytest.approx(
        endless
    )


def test_a_job_past_its_deadline_fails_and_loses_its_jobset_until_that_is_gone(
    make_trainjob: MakeTrainJob, make_runtime: MakeRuntime, now: datetime
) -> None:
    """Also when the first deletion failed."""
    job = make_trainjob(activeDeadlineSeconds=60)
    first = plan(Observed(job=job, snapshot=snapshot(job, make_runtime()), jobset=jobset()), now)
    assert conditions(first) == [("Failed", "True", "DeadlineExceeded")]
    assert first.status is not None
    late = make_trainjob(activeDeadlineSeconds=60, status=first.status.desired)
    second = plan(Observed(job=late, jobset=jobset()), now + timedelta(hours=1))
    for made in (first, second):
        (write,) = made.writes
        assert isinstance(write, Delete)
        assert (write.ref.resource, write.ref.uid) == (JOBSETS, "j1")
    assert plan(Observed(job=late, jobset=jobset(uid="somebody-else")), now).writes == ()
