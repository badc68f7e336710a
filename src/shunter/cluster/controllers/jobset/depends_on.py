"""dependsOn: a replicated job starts when those it names are ready, or complete."""

from __future__ import annotations

from shunter.api.jobset import JobSet, ReplicatedJob, ReplicatedJobStatus
from shunter.cluster.controllers.jobset.replicated_status import entry


def is_released(jobset: JobSet, job: ReplicatedJob, statuses: tuple[ReplicatedJobStatus, ...]) -> bool:
    """Whether everything the replicated job waits for has come about."""
    replicas = {other.name: other.replicas for other in jobset.spec.replicated_jobs}
    for dependency in job.depends_on:
        status = entry(statuses, dependency.name)
        if status is None:
            return False
        done = status.succeeded
        if dependency.status == "Ready":
            done += status.ready + status.failed
        if done != replicas.get(dependency.name):
            return False
    return True
