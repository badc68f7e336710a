"""What a job's pods make of its status: counters by role and the conditions that follow from them."""

from __future__ import annotations

import msgspec

from shunter.api.core import Pod
from shunter.api.training.job import ReplicaStatus
from shunter.operator.training.children import Children, index
from shunter.operator.training.framework import AnyFramework
from shunter.operator.training.job import AnyJob
from shunter.operator.training.names import replica_type_labels
from shunter.operator.training.progress import Progress


def replica_counts(framework: AnyFramework, job: AnyJob, children: Children) -> dict[str, ReplicaStatus]:
    """Counters of every role of the job; pods beyond its number of replicas do not count, as they are on their way out."""
    return {
        replica_type: _counted(
            [pod for pod in children.pods_of(replica_type) if index(pod) < job.replica_count(replica_type)],
            selector(job, replica_type) if framework.info.kind.is_scalable else "",
        )
        for replica_type in job.replicas
    }


def selector(job: AnyJob, replica_type: str) -> str:
    """The label selector of one role's pods, as the scale subresource shows it."""
    return ",".join(f"{label}={value}" for label, value in sorted(replica_type_labels(job, replica_type).items()))


def judged(framework: AnyFramework, job: AnyJob, children: Children, progress: Progress) -> Progress:
    """The progress with the conditions and events that follow from the counted pods; after a failure, only further failures.

    Running and Restarting take each other's place in one look where some pods run and others have failed; conditions that are as
    they were stored in the end keep their times, or each look would change them.
    """
    job = msgspec.structs.replace(job, status=progress.status)
    for verdict in framework.verdicts(job, progress.status.replica_statuses, children):
        if progress.is_failed and verdict.type != "Failed":
            continue
        if verdict.type == "Succeeded":
            progress = progress.event("Normal", "Succeeded", verdict.message).completed()
        elif verdict.type == "Failed":
            progress = progress.event("Normal", "Failed", verdict.message).completed()
        elif verdict.type == "Restarting" and verdict.is_news and not progress.observed.is_true("Restarting"):
            progress = progress.event("Warning", "Restarting", verdict.message)
        progress = progress.condition(verdict.type, verdict.message, cause=verdict.cause)
    return progress.with_stored_times()


def settled(progress: Progress) -> Progress:
    """After success nothing counts as active any more: what still ran counts as succeeded."""
    return progress.counts(
        {
            replica_type: msgspec.structs.replace(counts, succeeded=counts.succeeded + counts.active, active=0)
            for replica_type, counts in progress.status.replica_statuses.items()
        }
    )


def _counted(pods: list[Pod], selector: str) -> ReplicaStatus:
    phases = [_counted_as(pod) for pod in pods]
    return ReplicaStatus(
        active=phases.count("Running"), succeeded=phases.count("Succeeded"), failed=phases.count("Failed"), selector=selector
    )


def _counted_as(pod: Pod) -> str:
    """The phase, but a running pod that is being deleted has failed."""
    is_leaving = pod.status.phase == "Running" and pod.is_leaving
    return "Failed" if is_leaving else pod.status.phase
