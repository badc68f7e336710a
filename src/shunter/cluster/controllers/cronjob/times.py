"""The last missed time of a CronJob's schedule, and the time of its next reconcile.

Source: k8s.io/kubernetes 1.36 `pkg/controller/cronjob/utils.go`.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple

from shunter.api.batch import CronJob
from shunter.api.formats.cron import Schedule

_MANY = 100
_MARGIN = timedelta(milliseconds=100)
"""Added to the wait, so that the reconcile is never too early."""


class Due(NamedTuple):
    """The last time that has come since the last Job, None for none, and whether more than a hundred have."""

    at: datetime | None
    too_many: bool = False


def due(cron_job: CronJob, schedule: Schedule, now: datetime) -> Due:
    """What is due within startingDeadlineSeconds. Raises ValueError for a schedule that has no times."""
    _, at, missed = _last(cron_job, schedule, now, with_deadline=True)
    return Due(at, missed > _MANY)


def seconds_to_next(cron_job: CronJob, schedule: Schedule, now: datetime) -> float:
    """Until the next time of the schedule. Raises ValueError for a schedule that has no times."""
    earliest, at, missed = _last(cron_job, schedule, now, with_deadline=False)
    start = at or (now if missed else earliest)
    return (_next(schedule, start) + _MARGIN - now).total_seconds()


def _last(cron_job: CronJob, schedule: Schedule, now: datetime, *, with_deadline: bool) -> tuple[datetime, datetime | None, int]:
    """From when on times count, the last of them until now, and how many there were, as far as the first two tell."""
    earliest = cron_job.status.last_schedule_time or cron_job.metadata.creation_timestamp or now
    deadline = cron_job.spec.starting_deadline_seconds
    if with_deadline and deadline is not None and (now - earliest).total_seconds() > deadline:
        earliest = now - timedelta(seconds=deadline)
    first = _next(schedule, earliest)
    second = _next(schedule, first)
    if now < first:
        return earliest, None, 0
    if now < second:
        return earliest, first, 0
    between = round((second - first).total_seconds())
    if between < 1:
        raise ValueError("time difference between two schedules is less than 1 second")
    missed = int((now - first).total_seconds()) // between + 1
    last = None
    moment = _next(schedule, first + timedelta(seconds=(missed - 2) * between))
    while moment <= now:
        last, moment = moment, _next(schedule, moment)
    return earliest, last, missed


def _next(schedule: Schedule, moment: datetime) -> datetime:
    found = schedule(moment)
    if found is None:
        raise ValueError("the schedule has no time within five years")
    return found
