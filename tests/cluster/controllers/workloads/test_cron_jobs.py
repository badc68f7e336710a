"""CronJobs: what is started when, and what becomes of the Jobs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from shunter.api.batch import CronJob, Job
from shunter.api.meta import Json
from shunter.cluster.controllers.cronjob.plan import Observed, plan, plan_failure
from shunter.kube.controllers.plan import Create, Delete, Failure, Plan

CREATED = datetime(2026, 11, 21, 12, 0, 30, tzinfo=UTC)


def cron_job(status: Json | None = None, **spec: Any) -> CronJob:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"template": {}}}
    body = {
        "metadata": {"name": "tick", "namespace": "n", "uid": "u", "creationTimestamp": CREATED.isoformat()},
        "spec": {"schedule": "*/5 * * * *", "jobTemplate": template, **spec},
        "status": status or {},
    }
    return msgspec.convert(body, CronJob)


def job(name: str, *, ended: str = "", minute: int = 0, by_hand: bool = False) -> Job:
    annotations = {} if by_hand else {"batch.kubernetes.io/cronjob-scheduled-timestamp": "2026-11-21T12:05:00Z"}
    owner = {"apiVersion": "batch/v1", "kind": "CronJob", "name": "tick", "uid": "u", "controller": True}
    started = CREATED + timedelta(minutes=minute)
    status: Json = {"startTime": started.isoformat()}
    if ended:
        status["conditions"] = [{"type": ended, "status": "True"}]
    if ended == "Complete":
        status["completionTime"] = (started + timedelta(seconds=20)).isoformat()
    metadata = {"name": name, "namespace": "n", "uid": name, "annotations": annotations, "ownerReferences": [owner]}
    return msgspec.convert({"metadata": metadata, "status": status}, Job)


def active(*names: str) -> Json:
    return {"active": [{"kind": "Job", "namespace": "n", "name": name, "uid": name, "apiVersion": "batch/v1"} for name in names]}


def planned(cron: CronJob, *jobs: Job, minutes: float) -> Plan:
    return plan(Observed(cron_job=cron, jobs=jobs), CREATED + timedelta(minutes=minutes))


def created(done: Plan) -> list[str]:
    return [write.body["metadata"]["name"] for write in done.writes if isinstance(write, Create)]


def deleted(done: Plan) -> list[str]:
    return [write.ref.name for write in done.writes if isinstance(write, Delete)]


def reasons(done: Plan) -> list[str]:
    return [event.reason for event in done.events]


def minute_of(moment: str) -> int:
    return int(datetime.fromisoformat(moment).timestamp()) // 60


def test_nothing_starts_before_the_first_time_and_the_look_is_just_after_it() -> None:
    done = planned(cron_job(), minutes=1)
    assert created(done) == []
    assert done.requeue_after == pytest.approx(3.5 * 60 + 0.1)


def test_a_job_starts_at_its_time_with_its_name_labels_and_stamp() -> None:
    done = planned(cron_job(timeZone="Europe/Berlin"), minutes=4.6)
    (creation,) = (write for write in done.writes if isinstance(write, Create))
    metadata = creation.body["metadata"]
    assert metadata["name"] == f"tick-{minute_of('2026-11-21T12:05:00Z')}"
    assert metadata["labels"] == {"a": "b"}
    assert metadata["annotations"] == {"batch.kubernetes.io/cronjob-scheduled-timestamp": "2026-11-21T13:05:00+01:00"}
    assert done.status is not None
    assert done.status.wanted["lastScheduleTime"] == "2026-11-21T12:05:00Z"
    assert done.requeue_after == pytest.approx(4.9 * 60 + 0.1)


def test_only_the_last_of_missed_times_is_made_up_for() -> None:
    done = planned(cron_job(), minutes=23)
    assert created(done) == [f"tick-{minute_of('2026-11-21T12:20:00Z')}"]


def test_more_than_a_hundred_missed_times_are_told() -> None:
    done = planned(cron_job(schedule="* * * * *"), minutes=150)
    assert reasons(done) == ["TooManyMissedTimes"]
    assert len(created(done)) == 1


def test_a_time_is_not_started_twice_nor_by_a_process_that_could_not_say_so() -> None:
    at = f"tick-{minute_of('2026-11-21T12:05:00Z')}"
    assert created(planned(cron_job({"lastScheduleTime": "2026-11-21T12:05:00Z"}), minutes=6)) == []
    again = planned(cron_job(), job(at), minutes=6)
    assert created(again) == []
    assert again.status is not None
    assert again.status.wanted["lastScheduleTime"] == "2026-11-21T12:05:00Z"
    assert [one["name"] for one in again.status.wanted["active"]] == [at]


@pytest.mark.parametrize("seconds", [10**12, 2**63 - 1])
def test_a_starting_deadline_longer_than_the_calendar_is_none(seconds: int) -> None:
    assert created(planned(cron_job(startingDeadlineSeconds=seconds), minutes=4.6)) == created(planned(cron_job(), minutes=4.6))


def test_after_the_deadline_a_time_is_missed() -> None:
    schedule: Json = {"schedule": "0 13 * * *", "startingDeadlineSeconds": 60}
    on_time = planned(cron_job(**schedule), minutes=60.2)
    late = planned(cron_job(**schedule), minutes=62)
    assert (len(created(on_time)), created(late)) == (1, [])


def test_a_suspended_cron_job_starts_nothing_but_follows_its_jobs() -> None:
    done = planned(cron_job(active("j"), suspend=True), job("j", ended="Complete"), minutes=6)
    assert created(done) == []
    assert reasons(done) == ["SawCompletedJob"]
    assert done.status is not None
    assert done.status.wanted == {"lastSuccessfulTime": "2026-11-21T12:00:50Z"}


@pytest.mark.parametrize(
    ("policy", "starts", "goes"),
    [("Allow", 1, []), ("Forbid", 0, []), ("Replace", 1, ["j"])],
)
def test_concurrency_policy(policy: str, starts: int, goes: list[str]) -> None:
    done = planned(cron_job(active("j"), concurrencyPolicy=policy), job("j"), minutes=6)
    assert (len(created(done)), deleted(done)) == (starts, goes)
    assert ("JobAlreadyActive" in reasons(done)) == (policy == "Forbid")
    assert done.status is not None
    assert [one["name"] for one in done.status.wanted.get("active", [])] == ([] if policy == "Replace" else ["j"])


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
    assert done.status.wanted == {}


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ({"timeZone": "Mars/Base"}, "UnknownTimeZone"),
        ({"schedule": "x"}, "UnparseableSchedule"),
        ({"schedule": "0 0 30 2 *"}, "InvalidSchedule"),
    ],
)
def test_a_schedule_without_times_is_told(spec: Json, reason: str) -> None:
    done = planned(cron_job(**spec), minutes=6)
    assert (created(done), reasons(done)) == ([], [reason])


def test_a_refused_job_is_told_and_a_taken_name_is_not() -> None:
    cron = cron_job()
    observed, now = Observed(cron_job=cron), CREATED + timedelta(minutes=6)
    (creation,) = plan(observed, now).writes
    refused = plan_failure(observed, Failure(creation, 403, "Forbidden", "exceeded quota"), now)
    assert [event.message for event in refused.events] == ["Error creating job: exceeded quota"]
    assert plan_failure(observed, Failure(creation, 409, "AlreadyExists", "there"), now).events == ()
