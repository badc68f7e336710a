"""ttlSecondsAfterFinished: a Job that has ended is deleted, with its pods, when its time is over."""

from __future__ import annotations

from datetime import datetime, timedelta

from shunter.api.batch import Job
from shunter.api.resources import JOBS
from shunter.kube.controllers.plan import NOTHING, Delete, Plan, Ref


def plan(job: Job, now: datetime) -> Plan:
    """Deletes the Job, or looks again when it will be due."""
    outcome = job.outcome
    if job.spec.ttl_seconds_after_finished is None or outcome is None or job.metadata.deletion_timestamp is not None:
        return NOTHING
    ended = job.status.completion_time or outcome.last_transition_time or now
    remaining = (ended + timedelta(seconds=job.spec.ttl_seconds_after_finished) - now).total_seconds()
    if remaining > 0:
        return Plan(requeue_after=remaining)
    return Plan(writes=(Delete(ref=Ref.of(JOBS, job.metadata), propagation="Foreground"),))
