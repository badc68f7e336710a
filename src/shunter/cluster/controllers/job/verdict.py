"""Whether a Job has to end, and how: the one place where the order of the criteria stands.

A verdict is stored first as an interim condition (SuccessCriteriaMet or FailureTarget), which later looks respect, and becomes
Complete or Failed when every pod is counted and gone.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, NamedTuple

from shunter.api.batch import Job
from shunter.api.core import Pod
from shunter.api.meta import Json
from shunter.cluster.controllers.job import pod_failure_policy, success_policy
from shunter.cluster.controllers.job.pods import is_failed
from shunter.cluster.controllers.job.tally import Tally


class Verdict(NamedTuple):
    """How a Job ends. `standing` when its status says so already."""

    success: bool
    reason: str
    message: str
    standing: bool = False


def verdict_of(tally: Tally, now: datetime) -> Verdict | None:
    """The standing verdict, else failure by policy, limits and deadline, else success by policy; None while the Job goes on.

    Reaching the completions is decided after surplus pods were dealt with: `completed`.
    """
    return _standing(tally.job) or _failed(tally, now) or _success_by_policy(tally)


def completed(tally: Tally, active: int) -> Verdict | None:
    """Success once enough pods succeeded and none of `active` is left; without completions, one success is enough."""
    desired = tally.job.spec.completions
    if active or (tally.succeeded == 0 if desired is None else tally.succeeded < desired):
        return None
    return Verdict(True, "CompletionsReached", "Reached expected number of succeeded pods")


def deadline_in(job: Job, now: datetime) -> float | None:
    """Seconds until activeDeadlineSeconds is over (0 or less when it is); None without one or while suspended."""
    if job.spec.active_deadline_seconds is None or job.spec.suspend:
        return None
    started = job.status.start_time or now
    return job.spec.active_deadline_seconds - (now - started).total_seconds()


def _standing(job: Job) -> Verdict | None:
    if condition := job.status.condition("SuccessCriteriaMet"):
        return Verdict(True, condition.reason, condition.message, standing=True)
    if condition := job.status.condition("FailureTarget"):
        return Verdict(False, condition.reason, condition.message, standing=True)
    return None


def _failed(tally: Tally, now: datetime) -> Verdict | None:
    job = tally.job
    if message := _policy_failure(job, tally.pods):
        return Verdict(False, "PodFailurePolicy", message)
    if tally.failed > job.spec.backoff_limit or _restarted_too_often(job, tally.pods):
        return Verdict(False, "BackoffLimitExceeded", "Job has reached the specified backoff limit")
    remaining = deadline_in(job, now)
    if remaining is not None and remaining <= 0 and job.status.start_time is not None:
        return Verdict(False, "DeadlineExceeded", "Job was active longer than specified deadline")
    return _failed_indexes(tally)


def _failed_indexes(tally: Tally) -> Verdict | None:
    if not tally.failed_indexes:
        return None
    failed, spec = tally.failed_indexes.total, tally.job.spec
    if spec.max_failed_indexes is not None and failed > spec.max_failed_indexes:
        return Verdict(False, "MaxFailedIndexesExceeded", "Job has exceeded the specified maximal number of failed indexes")
    if failed + tally.succeeded_indexes.total >= (spec.completions or 0):
        return Verdict(False, "FailedIndexes", "Job has failed indexes")
    return None


def _success_by_policy(tally: Tally) -> Verdict | None:
    rule = success_policy.met_rule(tally.job, tally.succeeded_indexes) if tally.job.is_indexed else None
    return None if rule is None else Verdict(True, "SuccessPolicy", f"Matched rules at index {rule}")


def _policy_failure(job: Job, pods: tuple[Pod, ...]) -> str:
    if job.spec.pod_failure_policy is None:
        return ""
    messages = (pod_failure_policy.match(job, pod).message for pod in pods if is_failed(pod, job))
    return next((message for message in messages if message), "")


def _restarted_too_often(job: Job, pods: tuple[Pod, ...]) -> bool:
    """With restartPolicy OnFailure the node restarts containers in place; their restarts count against backoffLimit."""
    pod_spec: Json | Any = job.spec.template.get("spec") or {}
    if pod_spec.get("restartPolicy") != "OnFailure":
        return False
    restarts = sum(
        status.restart_count
        for pod in pods
        if pod.status.phase in ("Pending", "Running")
        for status in (*pod.status.init_container_statuses, *pod.status.container_statuses)
    )
    return restarts > 0 and restarts >= job.spec.backoff_limit
