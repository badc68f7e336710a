"""status.replicatedJobsStatus: how the Jobs of each replicated job stand."""

from __future__ import annotations

from collections import Counter

from shunter.api.batch import Job
from shunter.api.jobset import JobSet, ReplicatedJobStatus
from shunter.cluster.controllers.jobset.children import Children, replicated_job_of


def replicated_status(jobset: JobSet, children: Children) -> tuple[ReplicatedJobStatus, ...]:
    """One entry per replicated job, in descending order of their names, as JobSet stores them."""
    ready = Counter(replicated_job_of(job) for job in children.active if is_ready(job))
    active = Counter(replicated_job_of(job) for job in children.active if job.status.active > 0)
    suspended = Counter(replicated_job_of(job) for job in children.active if job.spec.suspend)
    succeeded = Counter(replicated_job_of(job) for job in children.succeeded)
    failed = Counter(replicated_job_of(job) for job in children.failed)
    return tuple(
        ReplicatedJobStatus(
            name=name,
            ready=ready[name],
            succeeded=succeeded[name],
            failed=failed[name],
            active=active[name],
            suspended=suspended[name],
        )
        for name in sorted((job.name for job in jobset.spec.replicated_jobs), reverse=True)
    )


def is_ready(job: Job) -> bool:
    """Whether every pod the Job may run at once is ready or has succeeded."""
    pods = job.spec.parallelism
    if job.spec.completions is not None:
        pods = min(pods, job.spec.completions)
    return job.status.succeeded + (job.status.ready or 0) >= pods


def entry(statuses: tuple[ReplicatedJobStatus, ...], name: str) -> ReplicatedJobStatus | None:
    """None where no replicated job has this name, or its status is not known yet."""
    return next((status for status in statuses if status.name == name), None)
