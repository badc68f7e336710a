"""backoffLimit: how often containers may restart, counted over all pods of the job, before it fails."""

from __future__ import annotations

from collections.abc import Iterable

from shunter.api.core import Pod
from shunter.kube.controllers.plan import Note
from shunter.operator.training.children import Children
from shunter.operator.training.job import AnyJob
from shunter.operator.training.pod_warnings import REPORTED_PODS
from shunter.operator.training.policies.restart import exited


def is_exceeded(job: AnyJob, children: Children) -> bool:
    """Whether the job has used up its restarts. Pods that were replaced took their counts with them, so only those of running
    pods count; roles that never restart do not."""
    limit = job.run_policy.backoff_limit
    if limit is None:
        return False
    if limit == 0 and _has_new_failure(job, children):
        return True
    restarts = sum(
        _restarts(pod)
        for replica_type, spec in job.replicas.items()
        if spec.restart_policy in ("OnFailure", "Always", "ExitCode")
        for pod in children.pods_in_role(replica_type)
        if pod.status.phase == "Running"
    )
    return restarts > 0 if limit == 0 else restarts >= limit


def exits(job: AnyJob, children: Children) -> tuple[Note, ...]:
    """How the containers ended whose restarts were counted: soon their pods are gone, and nothing else tells."""
    return tuple(note for pod in children.pods if pod.status.phase == "Running" for note in _exits(job, pod))[:REPORTED_PODS]


def _exits(job: AnyJob, pod: Pod) -> Iterable[Note]:
    for status in (*pod.status.container_statuses, *pod.status.init_container_statuses):
        ended = status.last_state.terminated
        if status.restart_count and ended is not None:
            yield exited(job, pod, ended.exit_code)


def _has_new_failure(job: AnyJob, children: Children) -> bool:
    """With no restart allowed the first failed pod that the status does not know yet is one too many."""
    failed = sum(1 for pod in children.pods if pod.status.phase == "Failed")
    active = sum(1 for pod in children.pods if pod.is_active)
    known = sum(status.failed for status in job.status.replica_statuses.values())
    return failed > known and active != job.total_replicas


def _restarts(pod: Pod) -> int:
    statuses: Iterable[int] = (
        status.restart_count for status in (*pod.status.container_statuses, *pod.status.init_container_statuses)
    )
    return sum(statuses)
