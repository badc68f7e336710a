"""One reconcile of a ReplicaSet: which pods to create or delete, and its status."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

import msgspec

from shunter.api.apps import ReplicaSet, ReplicaSetStatus, status_json
from shunter.api.core import Pod
from shunter.api.meta import Condition
from shunter.api.resources import PODS, REPLICA_SETS, Resource
from shunter.cluster.controllers.replicaset.victims import victims
from shunter.cluster.controllers.workloads.claiming import Owner, claims, controlled
from shunter.cluster.controllers.workloads.pods import (
    MOST_AT_ONCE,
    creation,
    deletion,
    is_available,
    next_availability,
    pod_of,
)
from shunter.kube.controllers.plan import NOTHING, Create, Delete, Failure, Patch, Plan, StatusWrite, Write

REPLICA_FAILURE = "ReplicaFailure"


class Observed(msgspec.Struct, frozen=True, kw_only=True):
    """A ReplicaSet, the pods that it controls or could adopt, and those of the ReplicaSets that have the same controller."""

    replica_set: ReplicaSet
    pods: tuple[Pod, ...] = ()
    siblings: tuple[Pod, ...] = ()
    resource: Resource = REPLICA_SETS
    """ReplicationControllers are looked after in the same way."""

    @property
    def owner(self) -> Owner:
        """The ReplicaSet or ReplicationController, by `resource`, as the owner that its pods name."""
        return Owner(self.resource, self.replica_set.metadata)


def plan(observed: Observed, now: datetime) -> Plan:
    """What the controller writes now."""
    replica_set, owner = observed.replica_set, observed.owner
    active = [pod for pod in observed.pods if pod.is_active]
    if writes := claims(owner, replica_set.spec.selector, PODS, active):
        return Plan(writes=writes)
    pods = controlled(owner, active)
    status = _status(observed, pods, now)
    return Plan(
        writes=() if replica_set.metadata.deletion_timestamp else _changes(observed, pods, now),
        status=_written(observed, status),
        requeue_after=next_availability(pods, replica_set.spec.min_ready_seconds, now),
    )


def plan_failure(observed: Observed, failure: Failure, now: datetime) -> Plan:
    """A refused pod becomes the condition ReplicaFailure; any other refusal is only tried again."""
    if isinstance(failure.write, StatusWrite | Patch):
        return NOTHING
    replica_set = observed.replica_set
    pods = controlled(observed.owner, [pod for pod in observed.pods if pod.is_active])
    status = _status(observed, pods, now)
    reason = "FailedDelete" if isinstance(failure.write, Delete) else "FailedCreate"
    known = replica_set.status.condition(REPLICA_FAILURE)
    if known is None or known.reason != reason:
        known = Condition(
            type=REPLICA_FAILURE,
            status="True",
            last_transition_time=now.replace(microsecond=0),
            reason=reason,
            message=failure.message,
        )
    return Plan(status=_written(observed, msgspec.structs.replace(status, conditions=(*status.conditions, known))))


def _changes(observed: Observed, pods: tuple[Pod, ...], now: datetime) -> tuple[Write, ...]:
    owner, spec = observed.owner, observed.replica_set.spec
    surplus = len(pods) - spec.replicas
    if surplus > 0:
        chosen = victims(pods, observed.siblings, min(surplus, MOST_AT_ONCE), now)
        return tuple(deletion(owner, pod) for pod in chosen)
    return tuple(_creations(owner, observed.replica_set, min(-surplus, MOST_AT_ONCE)))


def _creations(owner: Owner, replica_set: ReplicaSet, count: int) -> Iterable[Create]:
    return (creation(owner, pod_of(replica_set.spec.template, owner)) for _ in range(count))


def _status(observed: Observed, pods: tuple[Pod, ...], now: datetime) -> ReplicaSetStatus:
    """The status of a ReplicaSet none of whose pods is refused."""
    replica_set, spec = observed.replica_set, observed.replica_set.spec
    labels = (spec.template.get("metadata") or {}).get("labels") or {}
    ready = [pod for pod in pods if pod.is_ready]
    leaving = [pod for pod in controlled(observed.owner, observed.pods) if pod.is_leaving and not pod.is_finished]
    return ReplicaSetStatus(
        observed_generation=replica_set.metadata.generation,
        replicas=len(pods),
        fully_labeled_replicas=sum(labels.items() <= pod.metadata.labels.items() for pod in pods),
        ready_replicas=len(ready),
        available_replicas=sum(is_available(pod, spec.min_ready_seconds, now) for pod in ready),
        terminating_replicas=len(leaving) if observed.resource == REPLICA_SETS else None,
        conditions=tuple(condition for condition in replica_set.status.conditions if condition.type != REPLICA_FAILURE),
    )


def _written(observed: Observed, status: ReplicaSetStatus) -> StatusWrite:
    replica_set = observed.replica_set
    return StatusWrite.over(observed.resource, replica_set.metadata, status_json(replica_set.status), status_json(status))
