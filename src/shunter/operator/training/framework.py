"""What the engine wants to know of a job kind: one small protocol, and the one value that all kinds are turned into.

Source of the behaviour: Training Operator v1.9, `pkg/controller.v1`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, Protocol, TypeAlias, TypeVar

import msgspec

from shunter.api.field_errors import FieldError
from shunter.api.meta import Json, ObjectMeta, controller_reference
from shunter.api.resources import Resource
from shunter.api.training.job import JobStatus, ReplicaSpec, ReplicaStatus, RunPolicy
from shunter.kube.controllers.plan import Failure, Note, Ref, Write

if TYPE_CHECKING:
    from shunter.operator.training.children import Children
    from shunter.operator.training.observed import Observed
    from shunter.operator.training.progress import Progress

MASTER = "Master"
"""The role at which others meet, in kinds that have one."""

Spec = TypeVar("Spec")
View = TypeVar("View", bound="JobView")
Environment: TypeAlias = Callable[[int], list[Json]]
"""The variables of a role's pod by its index."""


class JobView(Protocol):
    """What the cached views of all job kinds have."""

    @property
    def metadata(self) -> ObjectMeta: ...

    @property
    def status(self) -> JobStatus: ...


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

    @property
    def kind(self) -> str:
        return self.resource.kind

    @property
    def name(self) -> str:
        return self.metadata.name

    @property
    def namespace(self) -> str:
        return self.metadata.namespace

    @property
    def controller(self) -> str:
        """The name under which the job's controller labels objects and reports events: `pytorchjob-controller`."""
        return controller_name(self.kind)

    @property
    def ref(self) -> Ref:
        return Ref(self.resource, self.namespace, self.name, self.metadata.uid)

    @property
    def owner_reference(self) -> Json:
        return controller_reference(self.resource.api_version, self.kind, self.name, self.metadata.uid)

    def replica_count(self, replica_type: str) -> int:
        """Wanted pods of one role; 0 for a role that the job does not have, or has a negative number of."""
        spec = self.replicas.get(replica_type)
        return max(spec.replicas or 0, 0) if spec else 0

    @property
    def total_replicas(self) -> int:
        return sum(self.replica_count(replica_type) for replica_type in self.replicas)


def controller_name(kind: str) -> str:
    return f"{kind.lower()}-controller"


class Verdict(NamedTuple):
    """What the pods of a job say about it; the engine turns it into a condition and an event."""

    type: Literal["Running", "Restarting", "Succeeded", "Failed"]
    message: str
    is_news: bool = True
    """Whether an event is to tell it."""
    cause: str = ""
    """What the condition's reason says after the kind; its type when empty."""


class Settings(NamedTuple):
    """What the operator is told about its kinds; empty is the kind's own default."""

    mpi_kubectl_delivery_image: str = ""
    """Brings the launchers of MPIJobs their kubectl."""
    pytorch_init_container_image: str = ""
    """Looks for the Master's name before the Workers of a PyTorchJob start."""
    pytorch_init_container_max_tries: int = 0
    """How often it looks."""
    pytorch_init_container_template: str = ""
    """The init containers in which it looks, as in `init_template`."""
    cluster_domain: str = ""
    """Ends the addresses that the pods of TFJobs are told: `cluster.local`."""


class ExtraKind(NamedTuple):
    """A kind of object that a framework keeps beside pods and services, one for each of its jobs."""

    resource: Resource
    view: type[Any]
    label_selector: str = ""
    """Which of them are cached: those that can be the jobs' own."""


class Framework(Protocol[Spec, View]):
    """One job kind of kubeflow.org/v1."""

    resource: Resource
    view: type[View]
    """What its objects are cached as."""
    container: str
    """The container that trains: its ports make the service, its exit code decides about restarts."""
    metrics_label: str
    """The value of `framework` in the operator's metrics."""
    ttl_event: str
    """Reason of the event when a finished job is deleted: upstream's kinds differ."""
    reports_selector: bool
    """Whether replicaStatuses carry the selector that the scale subresource shows."""
    shares_environment: bool
    """Whether every container of a pod gets the environment, or only the one that trains."""
    tells_exits: bool
    """Whether an event tells how each pod exited, or only that of pods which fail and do not stay."""
    replaced_under: Sequence[str]
    """The restart policies under which failed pods are made anew; ExitCode decides by their codes."""
    is_judged_at_admission: bool
    """Whether its webhook refuses faults. Else it only warns, and the operator judges jobs when it reconciles them."""
    kept_kinds: Sequence[ExtraKind]
    """What it keeps beside pods and services."""
    least_spec: Json
    """The smallest spec that the kind's schema accepts; no more than that is said of it."""

    def read(self, view: View) -> TrainingJob[Spec]:
        """The job with its defaults applied. Never fails: what cannot be read is for `validate` to name."""

    def validate(self, view: View, old: View | None) -> tuple[list[FieldError], list[str]]:
        """Faults that admission refuses, and warnings; `old` is None on creation."""

    def environment(self, job: TrainingJob[Spec], replica_type: str) -> Environment:
        """The variables appended to the containers of the pods of one role, in upstream's order. What all these pods
        share is worked out before the first of them is asked for: jobs have a thousand."""

    def init_containers(self, job: TrainingJob[Spec], replica_type: str) -> list[Json]:
        """Init containers appended to the pods of one role."""

    def is_master_role(self, job: TrainingJob[Spec], replica_type: str, index: int) -> bool:
        """Whether the pod carries the label job-role=master."""

    def verdicts(self, job: TrainingJob[Spec], counts: Mapping[str, ReplicaStatus], children: Children) -> Iterable[Verdict]:
        """What the counted pods mean for the job, in the order in which conditions are written. `job.status` says what
        this look at the job has found out so far."""

    # What follows has `replica_sync.NumberedReplicas` for most kinds.

    def container_of(self, job: TrainingJob[Spec], replica_type: str) -> str:
        """The container whose exit code decides about the pods of one role."""

    def pods(self, job: TrainingJob[Spec]) -> list[Json]:
        """Every pod of a job to which nothing has happened yet, roles in the order of `job.replicas`."""

    def with_settings(self, settings: Settings) -> AnyFramework:
        """The framework as the operator is set up."""

    def left_alone(self, job: TrainingJob[Spec]) -> tuple[Note, ...]:
        """What is told of a job that another program manages."""

    def kept(self, job: TrainingJob[Spec]) -> Mapping[Resource, str]:
        """The names of the objects that the job keeps, one of each of `kept_kinds`."""

    def stopped(self, observed: Observed, progress: Progress) -> Progress | None:
        """What is said of a job whose faults allow nothing to be done for it; None when there are none of this kind."""

    def sync_replicas(self, observed: Observed, progress: Progress) -> tuple[list[Write], Progress]:
        """What a job that is to run wants written now, and its status with its pods counted."""

    def refused(self, job: TrainingJob[Spec], failure: Failure) -> tuple[Note, ...]:
        """What is to be told of a write that the API server refused."""


AnyFramework = Framework[Any, Any]
AnyJob = TrainingJob[Any]


def master_or_worker_verdicts(
    job: AnyJob, counts: Mapping[str, ReplicaStatus], *, is_one_worker_enough: bool = False
) -> Iterator[Verdict]:
    """The rule that PyTorch, Paddle and JAX share: with a Master its end is the job's; without one all Workers', or that of
    any one where it is enough."""
    for replica_type in job.replicas:
        count = counts[replica_type]
        is_over = count.succeeded >= job.replica_count(replica_type)
        if replica_type == MASTER:
            if count.active:
                yield Verdict("Running", f"{job.kind} {job.name} is running.")
            if is_over:
                yield Verdict("Succeeded", f"{job.kind} {job.name} is successfully completed.")
                return
        elif MASTER not in job.replicas:
            if is_over or (is_one_worker_enough and count.succeeded):
                yield Verdict("Succeeded", f"{job.kind} {job.namespace}/{job.name} successfully completed.")
            elif count.active:
                yield Verdict("Running", f"{job.kind} {job.namespace}/{job.name} is running.")
        if failure := _restart_or_failure(job, replica_type, count):
            yield failure


def _restart_or_failure(job: AnyJob, replica_type: str, counts: ReplicaStatus) -> Verdict | None:
    """Failed pods restart the job, unless their role never restarts."""
    alive = counts.succeeded + counts.active
    if counts.failed == 0 or job.replica_count(replica_type) <= alive:
        return None
    reason = f"because {counts.failed} {replica_type} replica(s) failed."
    if job.replicas[replica_type].restart_policy == "Never":
        return Verdict("Failed", f"{job.kind} {job.name} is failed {reason}")
    return Verdict("Restarting", f"{job.kind} {job.name} is restarting {reason}")
