"""Which times of its schedule a CronJob has missed, and when it is looked at again: by what is started."""

from __future__ import annotations

import pytest

from cluster.controllers.cronjob.cron_jobs import created, cron_job, minute_of, planned, reasons
from shunter.api.meta import Json


def test_nothing_starts_before_the_first_time_and_the_look_is_just_after_it() -> None:
    done = planned(cron_job(), minutes=1)
    assert created(done) == []
    assert done.requeue_after == pytest.approx(3.5 * 60 + 0.1)


def test_only_the_last_of_missed_times_is_made_up_for() -> None:
    done = planned(cron_job(), minutes=23)
    assert created(done) == [f"tick-{minute_of('2026-11-21T12:20:00Z')}"]


def test_more_than_a_hundred_missed_times_are_told() -> None:
    done = planned(cron_job(schedule="* * * * *"), minutes=150)
    assert reasons(done) == ["TooManyMissedTimes"]
    assert len(created(done)) == 1


@pytest.mark.parametrize("seconds", [10**12, 2**63 - 1])
def test_a_starting_deadline_longer_than_the_calendar_is_none(seconds: int) -> None:
    assert created(planned(cron_job(startingDeadlineSeconds=seconds), minutes=4.6)) == created(planned(cron_job(), minutes=4.6))


def test_after_the_deadline_a_time_is_missed() -> None:
    schedule: Json = {"schedule": "0 13 * * *", "startingDeadlineSeconds": 60}
    on_time = planned(cron_job(**schedule), minutes=60.2)
    late = planned(cron_job(**schedule), minutes=62)
    assert (len(created(on_time)), created(late)) == (1, [])


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
