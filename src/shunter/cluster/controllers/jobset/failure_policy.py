"""failurePolicy: what a failed Job leads to. The first rule that matches any failed Job decides; without one the JobSet restarts
as long as maxRestarts allows; without a policy it fails."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import msgspec

from shunter.api.batch import Job
from shunter.api.jobset import FailurePolicyRule, JobSet
from shunter.cluster.controllers.jobset.children import replicated_job_of
from shunter.cluster.controllers.jobset.progress import Progress

RESTART = "RestartJobSet"
FAIL = "FailJobSet"

_NEVER = datetime.max.replace(tzinfo=UTC)


def applied(jobset: JobSet, failed: tuple[Job, ...], progress: Progress) -> Progress:
    """What follows from the failed Jobs of the current run (at least one)."""
    policy = jobset.spec.failure_policy
    if policy is None:
        return _failed(progress, "FailedJobs", "jobset failed due to one or more job failures", _first(failed))
    rule, job = _match(policy.rules, failed)
    action = rule.action if rule else RESTART
    if action == FAIL:
        return _failed(progress, "FailJobSetFailurePolicyAction", "applying FailJobSet failure policy action", job)
    if action == RESTART and progress.status.restarts_count_towards_max >= policy.max_restarts:
        return _failed(progress, "ReachedMaxRestarts", "jobset failed due to reaching max number of restarts", job)
    return _restarted(progress, action, rule, job)


def _failed(progress: Progress, reason: str, message: str, job: Job) -> Progress:
    progress = progress.condition("Failed", True, reason, _naming(message, job), warn=True)
    progress = progress.condition("RestartingJobSet", False, "JobSetFailed", "jobset failed")
    return msgspec.structs.replace(progress, status=msgspec.structs.replace(progress.status, terminal_state="Failed"))


def _restarted(progress: Progress, action: str, rule: FailurePolicyRule | None, job: Job) -> Progress:
    """A new run: raising `restarts` makes the Jobs of this one previous ones."""
    status = progress.status
    status = msgspec.structs.replace(
        status,
        restarts=status.restarts + 1,
        restarts_count_towards_max=status.restarts_count_towards_max + (action == RESTART),
    )
    message = _naming(f"applying {action} failure policy action", job)
    reason = f"FailurePolicy_{rule.name}" if rule else "DefaultFailurePolicy"
    progress = msgspec.structs.replace(progress, status=status).condition("RestartingJobSet", True, reason, message, warn=True)
    return progress.note("Warning", f"{action}FailurePolicyAction", message)


def _match(rules: tuple[FailurePolicyRule, ...], failed: tuple[Job, ...]) -> tuple[FailurePolicyRule | None, Job]:
    for rule in rules:
        if matching := tuple(job for job in failed if _applies(rule, job)):
            return rule, _first(matching)
    return None, _first(failed)


def _applies(rule: FailurePolicyRule, job: Job) -> bool:
    condition = job.status.condition("Failed")
    if condition is None or not replicated_job_of(job):
        return False
    if rule.on_job_failure_reasons and condition.reason not in rule.on_job_failure_reasons:
        return False
    patterns = rule.on_job_failure_message_patterns
    if patterns and not any(_found(pattern, condition.message) for pattern in patterns):
        return False
    return not rule.target_replicated_jobs or replicated_job_of(job) in rule.target_replicated_jobs


def _found(pattern: str, message: str) -> bool:
    """A pattern that is no regular expression matches nothing, as in JobSet."""
    try:
        return re.search(pattern, message) is not None
    except re.error:
        return False


def _first(failed: tuple[Job, ...]) -> Job:
    """The Job that failed first."""
    return min(failed, key=_failed_at)


def _failed_at(job: Job) -> datetime:
    condition = job.status.condition("Failed")
    return (condition and condition.last_transition_time) or _NEVER


def _naming(message: str, job: Job) -> str:
    return f"{message} (first failed job: {job.metadata.name})"
