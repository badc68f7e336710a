"""startupPolicy InOrder: a replicated job starts when the one listed before it has started."""

from __future__ import annotations

from shunter.api.jobset import JobSet, ReplicatedJob, ReplicatedJobStatus
from shunter.cluster.controllers.jobset.progress import Progress
from shunter.cluster.controllers.jobset.replicated_status import entry


def in_order(jobset: JobSet) -> bool:
    """Whether replicated jobs start one after the other; False without a startupPolicy."""
    policy = jobset.spec.startup_policy
    return policy is not None and policy.startup_policy_order == "InOrder"


def has_started(job: ReplicatedJob, statuses: tuple[ReplicatedJobStatus, ...]) -> bool:
    """Whether every Job of the replicated job is ready or has ended."""
    status = entry(statuses, job.name)
    return status is not None and status.ready + status.succeeded + status.failed == job.replicas


def starting(progress: Progress) -> Progress:
    """With the condition StartupPolicyInProgress, which takes the place of StartupPolicyCompleted."""
    message = "in order startup policy is in progress"
    return progress.condition("StartupPolicyInProgress", True, "InOrderStartupPolicyInProgress", message)


def started(progress: Progress) -> Progress:
    """With the condition StartupPolicyCompleted, which takes the place of StartupPolicyInProgress."""
    message = "in order startup policy has completed"
    return progress.condition("StartupPolicyCompleted", True, "InOrderStartupPolicyCompleted", message)
