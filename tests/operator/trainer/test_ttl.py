"""A failed TrainJob whose JobSet is gone."""

from __future__ import annotations

from datetime import datetime

import msgspec

from shunter.operator.trainer.plan import Observed, plan
from shunter.operator.trainer.views import LiveJobSet
from trainer_plans import MakeRuntime, MakeTrainJob, applied, conditions, snapshot


def test_a_failed_job_starts_again_when_its_jobset_is_deleted(
    make_trainjob: MakeTrainJob, make_runtime: MakeRuntime, now: datetime
) -> None:
    """Failed is not final: its JobSet is made anew and the condition goes."""
    job = make_trainjob(status={"conditions": [{"type": "Failed", "status": "True", "reason": "FailedJobs"}]})
    made = plan(Observed(job=job, snapshot=snapshot(job, make_runtime())), now)
    assert (applied(made), conditions(made)) == (["JobSet/mnist"], [])


def test_a_failed_job_whose_jobset_was_removed_by_its_time_to_live_stays_failed(
    make_trainjob: MakeTrainJob, make_runtime: MakeRuntime, now: datetime
) -> None:
    """Else a job that cannot succeed never ends, its restarts counted from 0 again and again (trainer#3779)."""
    runtime = make_runtime()
    runtime["spec"]["template"]["spec"]["ttlSecondsAfterFinished"] = 60
    failed = {"conditions": [{"type": "Failed", "status": "True", "reason": "ReachedMaxRestarts"}]}
    job = make_trainjob(status=failed)
    gone = plan(Observed(job=job, snapshot=snapshot(job, runtime)), now)
    assert (gone.writes, conditions(gone)) == ((), [("Failed", "True", "ReachedMaxRestarts")])
    going = msgspec.convert(
        {"metadata": {"name": "mnist", "deletionTimestamp": "2026-11-21T11:59:00Z"}, "status": failed}, LiveJobSet
    )
    for seen_before in (job, make_trainjob()):
        made = plan(Observed(job=seen_before, jobset=going, snapshot=snapshot(seen_before, runtime)), now)
        assert (made.writes, conditions(made)) == ((), [("Failed", "True", "ReachedMaxRestarts")])
    unfinished = make_trainjob()
    assert applied(plan(Observed(job=unfinished, snapshot=snapshot(unfinished, runtime)), now)) == ["JobSet/mnist"]
