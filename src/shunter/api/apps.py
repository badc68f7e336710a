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
    """Another `template` changes no pod that exists: it counts for pods made later. `min_ready_seconds` is how long a pod must
    have been ready to count as available."""

    replicas: int = 1
    min_ready_seconds: int = 0
    selector: LabelSelector = LabelSelector()
    template: Json = {}


class ReplicaSetStatus(Status, frozen=True):
    """Pods by how far they are: those that carry the labels of the template, are ready, and have been ready for
    `minReadySeconds`. `terminating_replicas` are in none of the other counters, and None where they have not been counted."""

    always = ("replicas",)
    replicas: int = 0
    fully_labeled_replicas: int = 0
    ready_replicas: int = 0
    available_replicas: int = 0
    terminating_replicas: int | None = None
    conditions: tuple[Condition, ...] = ()

    def condition(self, type: str) -> Condition | None:
        """The condition of this type, whatever its status; None where there is none."""
        return condition_of(self.conditions, type)


class ReplicaSet(Struct, frozen=True):
    """Also what a ReplicationController is, once its selector is one of labels."""

    metadata: ObjectMeta
    spec: ReplicaSetSpec = ReplicaSetSpec()
    status: ReplicaSetStatus = ReplicaSetStatus()


class ReplicationControllerSpec(Struct, frozen=True):
    """Unlike that of newer kinds the `selector` is plain labels, all of which a pod must have."""

    replicas: int = 1
    min_ready_seconds: int = 0
    selector: dict[str, str] = {}
    template: Json = {}


class ReplicationController(Struct, frozen=True):
    """The predecessor of the ReplicaSet in v1; its controller is that of ReplicaSets, by way of `as_replica_set`."""

    metadata: ObjectMeta
    spec: ReplicationControllerSpec = ReplicationControllerSpec()
    status: ReplicaSetStatus = ReplicaSetStatus()

    def as_replica_set(self) -> ReplicaSet:
        """This ReplicationController as a ReplicaSet with an equivalent selector."""
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
    """How many pods (of a DaemonSet: nodes) a rollout may have beyond those wanted, and how many of these may be missing:
    numbers, or shares such as `25%`."""

    max_surge: int | str = 0
    max_unavailable: int | str = 0


class DeploymentStrategy(Struct, frozen=True):
    """`Recreate` makes no new pod before the last old one has ended, and has no use for `rolling_update`."""

    type: str = "RollingUpdate"
    rolling_update: RollingUpdate = RollingUpdate()


class DeploymentSpec(Struct, frozen=True):
    """Only another `template` starts a rollout, and none while `paused`, when scaling goes on. After `progress_deadline_seconds`
    without progress the condition Progressing is False; nothing is rolled back. `revision_history_limit` counts old
    ReplicaSets."""

    replicas: int = 1
    selector: LabelSelector = LabelSelector()
    template: Json = {}
    strategy: DeploymentStrategy = DeploymentStrategy()
    min_ready_seconds: int = 0
    revision_history_limit: int = 10
    paused: bool = False
    progress_deadline_seconds: int = 600


class DeploymentCondition(Condition, frozen=True):
    """Available, Progressing or ReplicaFailure. Unlike metav1.Condition it has an update time; it is of no observedGeneration."""

    last_update_time: datetime | None = None


class DeploymentStatus(Status, frozen=True):
    """Pods of all its ReplicaSets by how far they are; `updated_replicas` are those of the present template. `collision_count`
    goes into the hash in a ReplicaSet's name, so that a name that is taken gives way to another."""

    replicas: int = 0
    updated_replicas: int = 0
    ready_replicas: int = 0
    available_replicas: int = 0
    unavailable_replicas: int = 0
    terminating_replicas: int | None = None
    collision_count: int | None = None
    conditions: tuple[DeploymentCondition, ...] = ()


class Deployment(Struct, frozen=True):
    """Keeps one ReplicaSet for each template that it had, and moves pods from the old ones to the newest."""

    metadata: ObjectMeta
    spec: DeploymentSpec = DeploymentSpec()
    status: DeploymentStatus = DeploymentStatus()

    @property
    def is_rolling(self) -> bool:
        """Whether new pods come while old ones still run: False for `Recreate`."""
        return self.spec.strategy.type == "RollingUpdate"


class StatefulSetRollingUpdate(Struct, frozen=True):
    """`partition` is counted from the first ordinal: pods before it keep the revision that they have."""

    partition: int = 0


class StatefulSetUpdateStrategy(Struct, frozen=True):
    """With `OnDelete` a pod stays as it is until it is deleted; only the next one is of the new template."""

    type: str = "RollingUpdate"
    rolling_update: StatefulSetRollingUpdate | None = None


class ClaimRetentionPolicy(Struct, frozen=True):
    """`Retain` or `Delete`: what becomes of the claims of all pods when the StatefulSet is deleted, and of those of a pod that is
    scaled away."""

    when_deleted: str = "Retain"
    when_scaled: str = "Retain"


class Ordinals(Struct, frozen=True):
    """The number of the first pod: from 5 on, three replicas of `web` are `web-5` to `web-7`."""

    start: int = 0


class StatefulSetSpec(Struct, frozen=True):
    """`service_name` is a headless Service that the user must make: without it pods have no host names. `OrderedReady` makes a
    pod when the one before it is available, `Parallel` all at once."""

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
    """`current_revision` and `update_revision` are names of ControllerRevisions, equal once a rolling update is complete;
    `current_replicas` and `updated_replicas` are the pods of each."""

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
    """Pods with numbers, whose names and claims outlast them: `web-0` is replaced by another `web-0`."""

    metadata: ObjectMeta
    spec: StatefulSetSpec = StatefulSetSpec()
    status: StatefulSetStatus = StatefulSetStatus()


class DaemonSetUpdateStrategy(Struct, frozen=True):
    """With `OnDelete` pods are replaced only when they are deleted. By default one node at a time may be without its pod."""

    type: str = "RollingUpdate"
    rolling_update: RollingUpdate = RollingUpdate(max_unavailable=1)


class DaemonSetSpec(Struct, frozen=True):
    """No number of replicas: the nodes that take the `template` decide."""

    selector: LabelSelector = LabelSelector()
    template: Json = {}
    update_strategy: DaemonSetUpdateStrategy = DaemonSetUpdateStrategy()
    min_ready_seconds: int = 0
    revision_history_limit: int = 10


class DaemonSetStatus(Status, frozen=True):
    """Counts nodes, not pods. `number_misscheduled` are those that run a pod of it and should not."""

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
    """One pod on each node that its template fits."""

    metadata: ObjectMeta
    spec: DaemonSetSpec = DaemonSetSpec()
    status: DaemonSetStatus = DaemonSetStatus()


class ControllerRevision(MetadataOnly, frozen=True):
    """A template that a StatefulSet or a DaemonSet had, as a patch of the object."""

    data: Json = {}
    revision: int = 0
