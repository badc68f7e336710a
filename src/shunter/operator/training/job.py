"""The value that jobs of all kinds of kubeflow.org/v1 are turned into.

Source of the behaviour: Training Operator v1.9, `pkg/controller.v1`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

import msgspec

from shunter.api.meta import Json, ObjectMeta, controller_reference
from shunter.api.resources import Resource
from shunter.api.training.job import JobSpec, JobStatus, JobView, ReplicaSpec, RunPolicy
from shunter.kube.controllers.plan import EventType, Note, Ref

MASTER = "Master"
"""The role at which others meet, in kinds that have one."""

Spec = TypeVar("Spec", bound=JobSpec)


class Autoscaling(NamedTuple):
    """Between which numbers of workers an autoscaler may choose, and by which metrics (autoscaling/v2 MetricSpec)."""

    min_replicas: int | None
    max_replicas: int | None
    metrics: tuple[Json, ...]


class TrainingJob(msgspec.Struct, Generic[Spec], frozen=True, kw_only=True, gc=False):
    """One job of any kind with its kind's defaults applied: every role has a number of replicas and a restart policy."""

    resource: Resource
    metadata: ObjectMeta
    run_policy: RunPolicy
    replicas: Mapping[str, ReplicaSpec]
    """Roles in the order in which the framework ranks and judges them."""
    status: JobStatus
    spec: Spec
    """The kind's own fields; only its framework reads them."""
    autoscaling: Autoscaling | None = None
    """Set when the job wants a HorizontalPodAutoscaler."""

    @classmethod
    def of(
        cls,
        view: JobView,
        spec: Spec,
        resource: Resource,
        replicas: Mapping[str, ReplicaSpec],
        *,
        autoscaling: Autoscaling | None = None,
    ) -> TrainingJob[Spec]:
        """The job that `view` shows, with `spec` for its spec: the view's with defaults."""
        return cls(
            resource=resource,
            metadata=view.metadata,
            run_policy=spec.run_policy,
            replicas=replicas,
            status=view.status,
            spec=spec,
            autoscaling=autoscaling,
        )

    @property
    def kind(self) -> str:
        """`PyTorchJob`."""
        return self.resource.kind

    @property
    def name(self) -> str:
        """The job's; the names of its pods and services begin with it."""
        return self.metadata.name

    @property
    def namespace(self) -> str:
        """The job's, and that of all that it owns."""
        return self.metadata.namespace

    @property
    def controller(self) -> str:
        """The name under which the job's controller labels objects and reports events: `pytorchjob-controller`."""
        return controller_name(self.kind)

    @property
    def ref(self) -> Ref:
        """The job with its uid: a write to a later one of its name is refused."""
        return Ref(self.resource, self.namespace, self.name, self.metadata.uid)

    @property
    def owner_reference(self) -> Json:
        """What its objects carry: the job is their controller, and its foreground deletion waits for them."""
        return controller_reference(self.resource.api_version, self.kind, self.name, self.metadata.uid)

    def note(self, type: EventType, reason: str, message: str) -> Note:
        """An event about the job."""
        return Note(regarding=self.ref, type=type, reason=reason, message=message)

    def replica_count(self, replica_type: str) -> int:
        """Wanted pods of one role; 0 for a role that the job does not have, or has a negative number of."""
        spec = self.replicas.get(replica_type)
        return max(spec.replicas or 0, 0) if spec else 0

    @property
    def total_replicas(self) -> int:
        """Wanted pods of all roles, those included that the kind does not know."""
        return sum(self.replica_count(replica_type) for replica_type in self.replicas)


def controller_name(kind: str) -> str:
    """`pytorchjob-controller`."""
    return f"{kind.lower()}-controller"


AnyJob: TypeAlias = TrainingJob[Any]
