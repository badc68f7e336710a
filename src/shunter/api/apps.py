"""Views of apps/v1 and ReplicationControllers: what the embedded cluster's workload controllers decide on.

A status is typed both ways: it decodes what is stored, and `status_json` encodes what should be stored, with the fields that Go
writes even when they are zero.
"""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

from shunter.api.meta import Condition, Json, MetadataOnly, ObjectMeta, Struct, as_json, condition_of
from shunter.api.selectors import LabelSelector

REVISION_HASH = "controller-revision-hash"
"""The label of a pod of a StatefulSet (the name of its revision) or of a DaemonSet (the revision's hash)."""


class Status(Struct, frozen=True):
    """What all statuses here have."""

    always: ClassVar[tuple[str, ...]] = ()
    """The counters that are written even when they are zero."""
    observed_generation: int = 0


def status_json(status: Status) -> Json:
    """The status as it is stored; times must be whole seconds in UTC."""
    return {**dict.fromkeys(status.always, 0), **as_json(status)}


class ReplicaSetSpec(Struct, frozen=True):
    replicas: int = 1
    min_ready_seconds: int = 0
    selector: LabelSelector = LabelSelector()
    template: Json = {}


class ReplicaSetStatus(Status, frozen=True):
    always = ("replicas",)
    replicas: int = 0
    fully_labeled_replicas: int = 0
    ready_replicas: int = 0
    available_replicas: int = 0
    terminating_replicas: int | None = None
    conditions: tuple[Condition, ...] = ()

    def condition(self, type: str) -> Condition | None:
        return condition_of(self.conditions, type)


class ReplicaSet(Struct, frozen=True):
    """Also what a ReplicationController is, once its selector is one of labels."""

    metadata: ObjectMeta
    spec: ReplicaSetSpec = ReplicaSetSpec()
    status: ReplicaSetStatus = ReplicaSetStatus()


class ReplicationControllerSpec(Struct, frozen=True):
    replicas: int = 1
    min_ready_seconds: int = 0
    selector: dict[str, str] = {}
    template: Json = {}


class ReplicationController(Struct, frozen=True):
    metadata: ObjectMeta
    spec: ReplicationControllerSpec = ReplicationControllerSpec()
    status: ReplicaSetStatus = ReplicaSetStatus()

    def as_replica_set(self) -> ReplicaSet:
        """The same in the terms of a ReplicaSet."""
        spec = self.spec
        return ReplicaSet(
            metadata=self.metadata,
            spec=ReplicaSetSpec(
                replicas=spec.replicas,
                min_ready_seconds=spec.min_ready_seconds,
                selector=LabelSelector(match_labels=spec.selector),
                template=spec.template,
            ),
            status=self.status,
        )


class RollingUpdate(Struct, frozen=True):
    max_surge: int | str = 0
    max_unavailable: int | str = 0


class DeploymentStrategy(Struct, frozen=True):
    type: str = "RollingUpdate"
    rolling_update: RollingUpdate = RollingUpdate()


class DeploymentSpec(Struct, frozen=True):
    replicas: int = 1
    selector: LabelSelector = LabelSelector()
    template: Json = {}
    strategy: DeploymentStrategy = DeploymentStrategy()
    min_ready_seconds: int = 0
    revision_history_limit: int = 10
    paused: bool = False
    progress_deadline_seconds: int = 600


class DeploymentCondition(Struct, frozen=True):
    type: str
    status: str
    last_update_time: datetime | None = None
    last_transition_time: datetime | None = None
    reason: str = ""
    message: str = ""


class DeploymentStatus(Status, frozen=True):
    replicas: int = 0
    updated_replicas: int = 0
    ready_replicas: int = 0
    available_replicas: int = 0
    unavailable_replicas: int = 0
    terminating_replicas: int | None = None
    collision_count: int | None = None
    conditions: tuple[DeploymentCondition, ...] = ()


class Deployment(Struct, frozen=True):
    metadata: ObjectMeta
    spec: DeploymentSpec = DeploymentSpec()
    status: DeploymentStatus = DeploymentStatus()

    @property
    def is_rolling(self) -> bool:
        return self.spec.strategy.type == "RollingUpdate"


class StatefulSetRollingUpdate(Struct, frozen=True):
    partition: int = 0


class StatefulSetUpdateStrategy(Struct, frozen=True):
    type: str = "RollingUpdate"
    rolling_update: StatefulSetRollingUpdate | None = None


class ClaimRetentionPolicy(Struct, frozen=True):
    when_deleted: str = "Retain"
    when_scaled: str = "Retain"


class Ordinals(Struct, frozen=True):
    start: int = 0


class StatefulSetSpec(Struct, frozen=True):
    replicas: int = 1
    selector: LabelSelector = LabelSelector()
    template: Json = {}
    volume_claim_templates: tuple[Json, ...] = ()
    service_name: str = ""
    pod_management_policy: str = "OrderedReady"
    update_strategy: StatefulSetUpdateStrategy = StatefulSetUpdateStrategy()
    revision_history_limit: int = 10
    min_ready_seconds: int = 0
    persistent_volume_claim_retention_policy: ClaimRetentionPolicy = ClaimRetentionPolicy()
    ordinals: Ordinals = Ordinals()


class StatefulSetStatus(Status, frozen=True):
    always = ("replicas", "availableReplicas")
    replicas: int = 0
    ready_replicas: int = 0
    current_replicas: int = 0
    updated_replicas: int = 0
    available_replicas: int = 0
    current_revision: str = ""
    update_revision: str = ""
    collision_count: int | None = None


class StatefulSet(Struct, frozen=True):
    metadata: ObjectMeta
    spec: StatefulSetSpec = StatefulSetSpec()
    status: StatefulSetStatus = StatefulSetStatus()


class DaemonSetUpdateStrategy(Struct, frozen=True):
    type: str = "RollingUpdate"
    rolling_update: RollingUpdate = RollingUpdate(max_unavailable=1)


class DaemonSetSpec(Struct, frozen=True):
    selector: LabelSelector = LabelSelector()
    template: Json = {}
    update_strategy: DaemonSetUpdateStrategy = DaemonSetUpdateStrategy()
    min_ready_seconds: int = 0
    revision_history_limit: int = 10


class DaemonSetStatus(Status, frozen=True):
    always = ("currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady")
    current_number_scheduled: int = 0
    number_misscheduled: int = 0
    desired_number_scheduled: int = 0
    number_ready: int = 0
    updated_number_scheduled: int = 0
    number_available: int = 0
    number_unavailable: int = 0
    collision_count: int | None = None


class DaemonSet(Struct, frozen=True):
    metadata: ObjectMeta
    spec: DaemonSetSpec = DaemonSetSpec()
    status: DaemonSetStatus = DaemonSetStatus()


class ControllerRevision(MetadataOnly, frozen=True):
    """A template that a StatefulSet or a DaemonSet had, as a patch of the object."""

    data: Json = {}
    revision: int = 0
