"""successPolicy: which Jobs have to complete for the JobSet to be complete."""

from __future__ import annotations

import msgspec

from shunter.api.jobset import JobSet, SuccessPolicy
from shunter.cluster.controllers.jobset.children import Children, replicated_job_of
from shunter.cluster.controllers.jobset.progress import Progress


def is_met(jobset: JobSet, children: Children) -> bool:
    """Whether the completed Jobs are enough. Never before the first one: a JobSet without Jobs does not complete."""
    if not children.succeeded:
        return False
    policy = jobset.spec.success_policy or SuccessPolicy()
    targets = set(policy.target_replicated_jobs) or {job.name for job in jobset.spec.replicated_jobs}
    got = sum(replicated_job_of(job) in targets for job in children.succeeded)
    if policy.operator == "Any":
        return got >= 1
    return got >= sum(job.replicas for job in jobset.spec.replicated_jobs if job.name in targets)


def completed(progress: Progress) -> Progress:
    """With the condition Completed and the terminal state; a condition RestartingJobSet becomes False."""
    message = "jobset completed successfully"
    progress = progress.condition("Completed", True, "AllJobsCompleted", message)
    progress = progress.condition("RestartingJobSet", False, "JobSetCompleted", message)
    status = msgspec.structs.replace(progress.status, terminal_state="Completed")
    return msgspec.structs.replace(progress, status=status)
