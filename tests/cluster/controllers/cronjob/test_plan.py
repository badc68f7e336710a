"""CronJobs: what is started, and what becomes of the Jobs."""

from __future__ import annotations

from datetime import timedelta

import pytest

from cluster.controllers.cronjob.cron_jobs import CREATED, active, created, cron_job, deleted, job, minute_of, planned, reasons
from shunter.cluster.controllers.cronjob.plan import Observed, plan, plan_failure
from shunter.kube.controllers.plan import Create, Failure


def test_a_job_starts_at_its_time_with_its_name_labels_and_stamp() -> None:
    done = planned(cron_job(timeZone="Europe/Berlin"), minutes=4.6)
    (creation,) = (write for write in done.writes if isinstance(write, Create))
    metadata = creation.body["metadata"]
    assert metadata["name"] == f"tick-{minute_of('2026-11-21T12:05:00Z')}"
    assert metadata["labels"] == {"a": "b"}
    assert metadata["annotations"] == {"batch.kubernetes.io/cronjob-scheduled-timestamp": "2026-11-21T13:05:00+01:00"}
    assert done.status is not None
    assert done.status.desired["lastScheduleTime"] == "2026-11-21T12:05:00Z"
    assert done.requeue_after == pytest.approx(4.9 * 60 + 0.1)


def test_a_time_is_not_started_twice_nor_by_a_process_that_could_not_say_so() -> None:
    at = f"tick-{minute_of('2026-11-21T12:05:00Z')}"
    assert created(planned(cron_job({"lastScheduleTime": "2026-11-21T12:05:00Z"}), minutes=6)) == []
    again = planned(cron_job(), job(at), minutes=6)
    assert created(again) == []
    assert again.status is not None
    assert again.status.desired["lastScheduleTime"] == "2026-11-21T12:05:00Z"
    assert [one["name"] for one in again.status.desired["active"]] == [at]


def test_a_suspended_cron_job_starts_nothing_but_follows_its_jobs() -> None:
    done = planned(cron_job(active("j"), suspend=True), job("j", ended="Complete"), minutes=6)
    assert created(done) == []
    assert reasons(done) == ["SawCompletedJob"]
    assert done.status is not None
    assert done.status.desired == {"lastSuccessfulTime": "2026-11-21T12:00:50Z"}


@pytest.mark.parametrize(
    ("policy", "starts", "goes"),
    [("Allow", 1, []), ("Forbid", 0, []), ("Replace", 1, ["j"])],
)
def test_concurrency_policy(policy: str, starts: int, goes: list[str]) -> None:
    done = planned(cron_job(active("j"), concurrencyPolicy=policy), job("j"), minutes=6)
    assert (len(created(done)), deleted(done)) == (starts, goes)
    assert ("JobAlreadyActive" in reasons(done)) == (policy == "Forbid")
    assert done.status is not None
    assert [one["name"] for one in done.status.desired.get("active", [])] == ([] if policy == "Replace" else ["j"])


def test_ended_jobs_beyond_the_limits_go_oldest_first() -> None:
    jobs = [job(f"c{n}", ended="Complete", minute=n) for n in range(5)] + [
        job(f"f{n}", ended="Failed", minute=n) for n in range(3)
    ]
    done = planned(cron_job(suspend=True), *jobs, minutes=60)
    assert deleted(done) == ["c0", "c1", "f0", "f1"]


def test_what_others_made_or_deleted_is_told() -> None:
    done = planned(cron_job(active("gone"), suspend=True), job("mine", by_hand=True), minutes=1)
    assert reasons(done) == ["MissingJob", "UnexpectedJob"]
    assert done.status is not None
    assert done.status.desired == {}


def test_a_refused_job_is_told_and_a_taken_name_is_not() -> None:
    cron = cron_job()
    observed, now = Observed(cron_job=cron), CREATED + timedelta(minutes=6)
    (creation,) = plan(observed, now).writes
    refused = plan_failure(observed, Failure(creation, 403, "Forbidden", "exceeded quota"), now)
    assert [event.message for event in refused.events] == ["Error creating job: exceeded quota"]
    assert plan_failure(observed, Failure(creation, 409, "AlreadyExists", "there"), now).events == ()
