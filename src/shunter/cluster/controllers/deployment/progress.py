"""The status of a Deployment: its counters, and the conditions Available, Progressing and ReplicaFailure."""

from __future__ import annotations

from datetime import datetime, timedelta

import msgspec

from shunter.api.apps import Deployment, DeploymentCondition, DeploymentStatus
from shunter.api.meta import Condition, condition_of
from shunter.cluster.controllers.deployment.bounds import max_unavailable
from shunter.cluster.controllers.deployment.history import NO_LIMIT, Versions

PROGRESSING, AVAILABLE, REPLICA_FAILURE = "Progressing", "Available", "ReplicaFailure"
TIMED_OUT = "ProgressDeadlineExceeded"
COMPLETE = "NewReplicaSetAvailable"
PAUSED, RESUMED = "DeploymentPaused", "DeploymentResumed"
_UPDATED = "ReplicaSetUpdated"


def has_deadline(deployment: Deployment) -> bool:
    """Whether progressDeadlineSeconds limits a rollout: 2147483647 stands for no limit, as in kube-controller-manager."""
    return deployment.spec.progress_deadline_seconds != NO_LIMIT


def with_condition(status: DeploymentStatus, type: str, value: str, reason: str, message: str, now: datetime) -> DeploymentStatus:
    """The status with a condition, moved to the end; one that has the value and the reason already stays as it is."""
    known = condition_of(status.conditions, type)
    if known is not None and (known.status, known.reason) == (value, reason):
        return status
    return _replaced(status, type, value, reason, message, now)


def without_condition(status: DeploymentStatus, type: str) -> DeploymentStatus:
    """An equal status where there is no condition of this type."""
    kept = tuple(condition for condition in status.conditions if condition.type != type)
    return msgspec.structs.replace(status, conditions=kept)


def paused_or_resumed(deployment: Deployment, now: datetime) -> DeploymentStatus:
    """The stored status, with the word that the Deployment was paused, or goes on: its deadline starts again then."""
    status, known = deployment.status, condition_of(deployment.status.conditions, PROGRESSING)
    reason = known.reason if known is not None else ""
    if not has_deadline(deployment) or reason == TIMED_OUT:
        return status
    if deployment.spec.paused and reason != PAUSED:
        return with_condition(status, PROGRESSING, "Unknown", PAUSED, "Deployment is paused", now)
    if not deployment.spec.paused and reason == PAUSED:
        return with_condition(status, PROGRESSING, "Unknown", RESUMED, "Deployment is resumed", now)
    return status


def counted(deployment: Deployment, status: DeploymentStatus, versions: Versions, now: datetime) -> DeploymentStatus:
    """The counters as the ReplicaSets have them, and whether enough pods are available."""
    every, new = versions.all, versions.new
    available = sum(one.status.available_replicas for one in every)
    terminating = [
        one.status.terminating_replicas for one in every if one.status.observed_generation or one.status.terminating_replicas
    ]
    result = DeploymentStatus(
        observed_generation=deployment.metadata.generation,
        replicas=sum(one.status.replicas for one in every),
        updated_replicas=new.status.replicas if new is not None else 0,
        ready_replicas=sum(one.status.ready_replicas for one in every),
        available_replicas=available,
        unavailable_replicas=max(sum(one.spec.replicas for one in every) - available, 0),
        terminating_replicas=None if None in terminating else sum(one or 0 for one in terminating),
        collision_count=status.collision_count,
        conditions=status.conditions,
    )
    if available >= deployment.spec.replicas - max_unavailable(deployment):
        message = "Deployment has minimum availability."
        return with_condition(result, AVAILABLE, "True", "MinimumReplicasAvailable", message, now)
    message = "Deployment does not have minimum availability."
    return with_condition(result, AVAILABLE, "False", "MinimumReplicasUnavailable", message, now)


def is_complete(deployment: Deployment, status: DeploymentStatus) -> bool:
    """Whether all pods are of the newest version, available, and alone."""
    same = status.updated_replicas == status.replicas == status.available_replicas == deployment.spec.replicas
    return same and status.observed_generation >= deployment.metadata.generation


def rolled_out(deployment: Deployment, before: DeploymentStatus, versions: Versions, now: datetime) -> DeploymentStatus:
    """The counted status, and how the rollout goes: on, through, or not any more for progressDeadlineSeconds."""
    status = counted(deployment, before, versions, now)
    if not has_deadline(deployment):
        status = without_condition(status, PROGRESSING)
    known = condition_of(before.conditions, PROGRESSING)
    settled = status.replicas == status.updated_replicas and known is not None and known.reason == COMPLETE
    if has_deadline(deployment) and not settled:
        status = _progressed(deployment, before, status, versions, now)
    failure = _replica_failure(versions)
    if failure is None:
        return without_condition(status, REPLICA_FAILURE)
    return _with_replica_failure(status, failure)


def until_deadline(deployment: Deployment, status: DeploymentStatus, now: datetime) -> float | None:
    """Seconds until a rollout that makes no progress is late; None when there is nothing to wait for."""
    known = condition_of(status.conditions, PROGRESSING)
    if known is None or known.last_update_time is None or known.reason in (TIMED_OUT, COMPLETE):
        return None
    if not has_deadline(deployment) or is_complete(deployment, status):
        return None
    deadline = known.last_update_time + timedelta(seconds=deployment.spec.progress_deadline_seconds)
    return max((deadline - now).total_seconds(), 0) + 1


def _progressed(
    deployment: Deployment, before: DeploymentStatus, status: DeploymentStatus, versions: Versions, now: datetime
) -> DeploymentStatus:
    new = versions.new
    subject = f'Deployment "{deployment.metadata.name}"' if new is None else f'ReplicaSet "{new.metadata.name}"'
    known = condition_of(status.conditions, PROGRESSING)
    if is_complete(deployment, status):
        return with_condition(status, PROGRESSING, "True", COMPLETE, f"{subject} has successfully progressed.", now)
    if _has_progressed(before, status):
        return _replaced(status, PROGRESSING, "True", _UPDATED, f"{subject} is progressing.", now)
    if known is None or known.reason == COMPLETE or known.last_update_time is None:
        return status
    deadline = known.last_update_time + timedelta(seconds=deployment.spec.progress_deadline_seconds)
    if known.reason == TIMED_OUT or deadline < now:
        return with_condition(status, PROGRESSING, "False", TIMED_OUT, f"{subject} has timed out progressing.", now)
    return status


def _has_progressed(before: DeploymentStatus, status: DeploymentStatus) -> bool:
    return (
        status.updated_replicas > before.updated_replicas
        or status.replicas - status.updated_replicas < before.replicas - before.updated_replicas
        or status.ready_replicas > before.ready_replicas
        or status.available_replicas > before.available_replicas
    )


def _replica_failure(versions: Versions) -> Condition | None:
    """The condition ReplicaFailure of the new ReplicaSet, else of any."""
    ordered = ([versions.new] if versions.new is not None else []) + [*versions.old]
    found = (one.status.condition(REPLICA_FAILURE) for one in ordered)
    return next((condition for condition in found if condition is not None), None)


def _with_replica_failure(status: DeploymentStatus, failure: Condition) -> DeploymentStatus:
    """The ReplicaSet's condition as the Deployment's, with its times."""
    known = condition_of(status.conditions, REPLICA_FAILURE)
    if known is not None and (known.status, known.reason) == (failure.status, failure.reason):
        return status
    since = failure.last_transition_time
    condition = DeploymentCondition(
        type=REPLICA_FAILURE,
        status=failure.status,
        last_update_time=since,
        last_transition_time=since,
        reason=failure.reason,
        message=failure.message,
    )
    cleared = without_condition(status, REPLICA_FAILURE)
    return msgspec.structs.replace(cleared, conditions=(*cleared.conditions, condition))


def _replaced(status: DeploymentStatus, type: str, value: str, reason: str, message: str, now: datetime) -> DeploymentStatus:
    known = condition_of(status.conditions, type)
    since = known.last_transition_time if known is not None and known.status == value else None
    condition = DeploymentCondition(
        type=type,
        status=value,
        last_update_time=now,
        last_transition_time=since or now,
        reason=reason,
        message=message,
    )
    cleared = without_condition(status, type)
    return msgspec.structs.replace(cleared, conditions=(*cleared.conditions, condition))
