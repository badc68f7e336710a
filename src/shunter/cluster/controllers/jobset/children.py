"""The Jobs a JobSet owns, sorted by what they mean for it."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from shunter.api.batch import Job
from shunter.api.formats.digits import whole_number
from shunter.api.jobset import REPLICATED_JOB, JobSet
from shunter.cluster.controllers.jobset.names import RESTART_ATTEMPT


class Children(msgspec.Struct, frozen=True, kw_only=True):
    """Jobs of the current run, by how they stand, and those of earlier runs, which are to be deleted."""

    active: tuple[Job, ...] = ()
    succeeded: tuple[Job, ...] = ()
    failed: tuple[Job, ...] = ()
    previous: tuple[Job, ...] = ()

    @classmethod
    def of(cls, jobset: JobSet, jobs: Iterable[Job]) -> Children:
        """Sorts by name, so that the same Jobs always give the same plan."""
        groups: dict[str, list[Job]] = {"active": [], "succeeded": [], "failed": [], "previous": []}
        for job in sorted(jobs, key=lambda job: job.metadata.name):
            groups[_group(jobset, job)].append(job)
        return cls(**{name: tuple(group) for name, group in groups.items()})

    @property
    def names(self) -> set[str]:
        """The names of all of them, those of earlier runs too: a name is taken until its Job is gone."""
        jobs = (*self.active, *self.succeeded, *self.failed, *self.previous)
        return {job.metadata.name for job in jobs}


def replicated_job_of(job: Job) -> str:
    """The name of the replicated job that a Job is one of, by its label; empty without it."""
    return job.metadata.labels.get(REPLICATED_JOB, "")


def _group(jobset: JobSet, job: Job) -> str:
    attempt = whole_number(job.metadata.labels.get(RESTART_ATTEMPT, ""))
    if attempt is not None and attempt < jobset.status.restarts:
        return "previous"
    outcome = job.outcome
    if outcome is None:
        return "active"
    return "succeeded" if outcome.type == "Complete" else "failed"
