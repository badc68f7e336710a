"""The counts that workloads have in their status: none is negative, and none exceeds the whole.

Source: k8s.io/kubernetes 1.36 `apis/apps/validation` and `apis/core/validation`.
"""

from __future__ import annotations

from shunter.api.field_errors import FieldError, invalid
from shunter.api.meta import Json
from shunter.cluster.apiserver.field_rules import negative

_BEYOND_ALL = "cannot be greater than status.replicas"


def daemon_set_status_errors(daemon_set: Json, old: Json | None) -> list[FieldError]:
    """Nothing is compared with anything, as nodes come and go."""
    scheduled = ("currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "updatedNumberScheduled")
    others = ("numberReady", "numberAvailable", "numberUnavailable", "observedGeneration", "collisionCount")
    return _negative_counts(daemon_set["status"], scheduled + others) + _fewer_collisions(daemon_set, old)


def deployment_status_errors(deployment: Json, old: Json | None) -> list[FieldError]:
    """The errors of a Deployment's status. `unavailableReplicas` may exceed `replicas`."""
    status = deployment["status"]
    parts = ("updatedReplicas", "readyReplicas", "availableReplicas")
    errors = _negative_counts(status, ("observedGeneration", "replicas", *parts, "unavailableReplicas", "collisionCount"))
    return errors + _excess(status, parts, "readyReplicas") + _fewer_collisions(deployment, old)


def replica_set_status_errors(replica_set: Json, old: Json | None) -> list[FieldError]:
    """The errors of the status of a ReplicaSet or ReplicationController."""
    status = replica_set["status"]
    parts = ("fullyLabeledReplicas", "readyReplicas", "availableReplicas")
    return _negative_counts(status, ("replicas", *parts, "observedGeneration")) + _excess(status, parts, "readyReplicas")


def stateful_set_status_errors(stateful_set: Json, old: Json | None) -> list[FieldError]:
    """About what is available the text says `status.readyReplicas`, as the original's does."""
    status = stateful_set["status"]
    parts = ("readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas")
    errors = _negative_counts(status, ("replicas", *parts, "observedGeneration", "collisionCount"))
    return errors + _excess(status, parts, "status.readyReplicas") + _fewer_collisions(stateful_set, old)


def _fewer_collisions(workload: Json, old: Json | None) -> list[FieldError]:
    count, before = (None if one is None else one["status"].get("collisionCount") for one in (workload, old))
    if before is None or (count or 0) >= before:
        return []
    return [invalid("status.collisionCount", count or 0, "cannot be decremented")]


def _negative_counts(status: Json, names: tuple[str, ...]) -> list[FieldError]:
    return [error for name in names for error in negative(f"status.{name}", status.get(name))]


def _excess(status: Json, parts: tuple[str, ...], ready: str) -> list[FieldError]:
    counts = {name: status.get(name, 0) for name in parts}
    whole = status.get("replicas", 0)
    errors = [invalid(f"status.{name}", count, _BEYOND_ALL) for name, count in counts.items() if count > whole]
    available = status.get("availableReplicas", 0)
    if available > status.get("readyReplicas", 0):
        errors.append(invalid("status.availableReplicas", available, f"cannot be greater than {ready}"))
    return errors
