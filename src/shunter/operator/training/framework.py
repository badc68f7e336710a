"""The interface of a job kind: `KindInfo` for registration and installation, `Framework` for the engine that runs its jobs.

Source of the behaviour: Training Operator v1.9, `pkg/controller.v1`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias, TypeVar

from shunter.api.field_errors import FieldError
from shunter.api.meta import Json
from shunter.api.resources import Resource
from shunter.api.training.job import JobSpec, JobView, ReplicaStatus
from shunter.api.training.job_kind import JobKind
from shunter.kube.controllers.plan import Failure, Note, Write
from shunter.operator.training.children import Children
from shunter.operator.training.job import MASTER, AnyJob, TrainingJob
from shunter.operator.training.observed import Observed
from shunter.operator.training.progress import Progress

Spec = TypeVar("Spec", bound=JobSpec)
View = TypeVar("View", bound=JobView, contravariant=True)
Environment: TypeAlias = Callable[[int], list[Json]]
"""The variables of a role's pod by its index."""


class Verdict(NamedTuple):
    """What the pods of a job say about it; the engine turns it into a condition and an event."""

    type: Literal["Running", "Restarting", "Succeeded", "Failed"]
    message: str
    is_news: bool = True
    """Whether it is reported by an event."""
    cause: str = ""
    """What the condition's reason says after the kind; its type when empty."""


class Settings(NamedTuple):
    """The operator's settings for its kinds; empty means the kind's default."""

    mpi_kubectl_delivery_image: str = ""
    """Brings the launchers of MPIJobs their kubectl."""
    pytorch_init_container_image: str = ""
    """Looks for the Master's name before the Workers of a PyTorchJob start."""
    pytorch_init_container_max_tries: int = 0
    """How often it looks."""
    pytorch_init_container_template: str = ""
    """The init containers in which it looks, as in `init_template`."""
    cluster_domain: str = ""
    """Ends the addresses in the variables of TFJobs: `cluster.local`."""


class ExtraKind(NamedTuple):
    """A kind of object that a framework keeps beside pods and services, one for each of its jobs."""

    resource: Resource
    view: type[Any]
    label_selector: str = ""
    """Which of them are cached: those that can be the jobs' own."""


class KindInfo(NamedTuple):
    """What is known of a job kind without any job: for controllers, webhooks, permissions and installation."""

    kind: JobKind
    metrics_label: str
    """The value of `framework` in the operator's metrics."""
    ttl_event: str
    """Reason of the event when a finished job is deleted: upstream's kinds differ."""
    is_judged_at_admission: bool = True
    """Whether its webhook refuses faults. Else it only warns, and the operator judges jobs when it reconciles them."""
    extra_kinds: tuple[ExtraKind, ...] = ()
    """What it keeps beside pods and services."""

    @property
    def resource(self) -> Resource:
        """Under which its jobs are served."""
        return self.kind.resource

    @property
    def view(self) -> type[Any]:
        """What its objects are cached as."""
        return self.kind.view

    @property
    def replica_specs(self) -> str:
        """The field of its spec that holds the pods by role, e.g. `pytorchReplicaSpecs`."""
        return self.kind.replica_specs

    @property
    def least_spec(self) -> Json:
        """The smallest spec that the kind's schema accepts."""
        return {self.replica_specs: {}}


class Framework(Protocol[Spec, View]):
    """What the engine asks of one job kind of kubeflow.org/v1."""

    info: KindInfo
    container: str
    """The container that trains: its ports make the service, its exit code decides about restarts."""
    shares_environment: bool
    """Whether every container of a pod gets the environment, or only the one that trains."""
    reports_all_exits: bool
    """Whether an event reports the exit of each pod, or only of failed pods that are replaced or deleted."""
    replaced_under: Sequence[str]
    """The restart policies under which failed pods are recreated; ExitCode decides by their codes."""

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

    def events_if_managed_elsewhere(self, job: TrainingJob[Spec]) -> tuple[Note, ...]:
        """Events about a job that another program manages."""

    def extra_object_names(self, job: TrainingJob[Spec]) -> Mapping[Resource, str]:
        """The names of the objects that the job keeps, one of each of `info.extra_kinds`."""

    def stopped(self, observed: Observed, progress: Progress) -> Progress | None:
        """The progress of a job whose faults keep it from running; None if it has no such faults."""

    def sync_replicas(self, observed: Observed, progress: Progress) -> tuple[list[Write], Progress]:
        """The writes of a running job, and its status with its pods counted."""

    def refused(self, job: TrainingJob[Spec], failure: Failure) -> tuple[Note, ...]:
        """Events about a write that the API server refused."""


AnyFramework = Framework[Any, Any]


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
    return failure_verdict(job, replica_type, counts.failed, restarts=job.replicas[replica_type].restart_policy != "Never")


def failure_verdict(job: AnyJob, replica_type: str, failed: int, *, restarts: bool) -> Verdict:
    """The verdict if `failed` pods of a role have failed: Restarting if `restarts`, otherwise Failed."""
    reason = f"because {failed} {replica_type} replica(s) failed."
    if restarts:
        return Verdict("Restarting", f"{job.kind} {job.name} is restarting {reason}")
    return Verdict("Failed", f"{job.kind} {job.name} is failed {reason}")
