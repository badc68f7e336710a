"""MPIJob: a launcher runs mpirun, which starts its processes in the workers by `kubectl exec` (`operator.training.mpi`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from shunter.api.field_errors import FieldError
from shunter.api.meta import Json, MetadataOnly, condition_of
from shunter.api.resources import CONFIG_MAPS, PODS, ROLE_BINDINGS, ROLES, SERVICE_ACCOUNTS, Resource
from shunter.api.training import mpi_rules
from shunter.api.training.job import ReplicaStatus
from shunter.api.training.mpi import KIND, LAUNCHER, MPI_JOBS, MPI_OPERATOR, OTHER_VERSION, WORKER, MPIJob
from shunter.kube.controllers.plan import Failure, Note, Write
from shunter.operator.training import failures
from shunter.operator.training.children import Children
from shunter.operator.training.framework import Environment, ExtraKind, KindInfo, Settings, Verdict
from shunter.operator.training.job import TrainingJob
from shunter.operator.training.mpi import judgement, pods, replica_sync
from shunter.operator.training.mpi.names import Job
from shunter.operator.training.mpi.objects import APP, HostList, Role
from shunter.operator.training.mpi.pods import KUBECTL_DELIVERY_IMAGE
from shunter.operator.training.mpi.replica_sync import MPIPods
from shunter.operator.training.observed import Observed
from shunter.operator.training.policies import scale_in
from shunter.operator.training.progress import Progress
from shunter.operator.training.writes import deletion

FAILED_VALIDATION = "FailedValidation"


class MPI:
    """`kubectl_delivery_image` is the image that brings the launcher its `/opt/kube/kubectl`."""

    info = KindInfo(
        KIND,
        metrics_label="mpi",
        ttl_event="SuccessfulDeleteJob",
        is_judged_at_admission=False,
        extra_kinds=(
            ExtraKind(SERVICE_ACCOUNTS, MetadataOnly),
            ExtraKind(CONFIG_MAPS, HostList, APP),
            ExtraKind(ROLES, Role, APP),
            ExtraKind(ROLE_BINDINGS, MetadataOnly, APP),
        ),
    )
    container = KIND.container
    shares_environment = False
    reports_all_exits = False
    replaced_under: Sequence[str] = ("ExitCode",)

    def __init__(self, kubectl_delivery_image: str = KUBECTL_DELIVERY_IMAGE) -> None:
        self._kubectl_delivery_image = kubectl_delivery_image

    def with_settings(self, settings: Settings) -> MPI:
        """With the image that brings `kubectl`; an empty setting leaves the one that this framework has."""
        return MPI(settings.mpi_kubectl_delivery_image or self._kubectl_delivery_image)

    def read(self, view: MPIJob) -> Job:
        """Both roles are there whatever the job says; its own words stay in `spec`, for `stopped` to judge."""
        spec = mpi_rules.with_defaults(view.spec)
        if mpi_rules.is_of_other_version(view):
            spec = replace(spec, run_policy=replace(spec.run_policy, managed_by=MPI_OPERATOR))
        return TrainingJob(
            resource=self.info.resource,
            metadata=view.metadata,
            run_policy=spec.run_policy,
            replicas=spec.mpi_replica_specs,
            status=view.status,
            spec=view.spec,
        )

    def validate(self, view: MPIJob, old: MPIJob | None) -> tuple[list[FieldError], list[str]]:
        """No faults: those are for `stopped`. A warning of what is not as the job's user may think."""
        return [], mpi_rules.warnings(view)

    def environment(self, job: Job, replica_type: str) -> Environment:
        """The variables of the launcher, whose first container alone gets them; workers get none."""
        return lambda index: pods.launcher_environment(job) if replica_type == LAUNCHER else []

    def init_containers(self, job: Job, replica_type: str) -> list[Json]:
        """None: `pods.launcher` adds the one that brings `kubectl`."""
        return []

    def container_of(self, job: Job, replica_type: str) -> str:
        """The first container, whatever it is called."""
        return replica_sync.first_container(job, replica_type)

    def is_master_role(self, job: Job, replica_type: str, index: int) -> bool:
        """The launcher."""
        return replica_type == LAUNCHER

    def verdicts(self, job: Job, counts: Mapping[str, ReplicaStatus], children: Children) -> Iterable[Verdict]:
        """Verdicts of `mpi.judgement`: the launcher's end is the job's, and of workers only a failure counts."""
        return judgement.verdicts(job, counts)

    def pods(self, job: Job) -> list[Json]:
        """The launcher, then the workers by index."""
        workers = [pods.worker(job, index) for index in range(job.replica_count(WORKER))]
        return [pods.launcher(job, self._kubectl_delivery_image), *workers]

    def events_if_managed_elsewhere(self, job: Job) -> tuple[Note, ...]:
        """Told when the job is new: the mpi-operator shows soon that it knows of it."""
        if job.run_policy.managed_by != MPI_OPERATOR or job.status.conditions:
            return ()
        text = (
            f"This MPIJob is managed by the mpi-operator: it was written as {OTHER_VERSION}, or set so in "
            f"runPolicy.managedBy. Shunter manages those of {MPI_JOBS.api_version}."
        )
        return (job.note("Normal", "LeftToMPIOperator", text),)

    def extra_object_names(self, job: Job) -> Mapping[Resource, str]:
        """The launcher's ServiceAccount, which the template may name, the ConfigMap of hosts, a Role and a RoleBinding."""
        return replica_sync.extra_object_names(job)

    def stopped(self, observed: Observed, progress: Progress) -> Progress | None:
        """Nothing is done for a job with a fault until that is put right, which a name cannot be. Upstream tells events of
        it, for ever."""
        job: Job = observed.job
        if fault := mpi_rules.name_fault(job.name):
            return progress.failed(f"{job.kind} {job.name} is invalid: {fault}.", "Warning")
        fault = mpi_rules.fault(job.spec)
        if not fault:
            return None
        message = f"{job.kind} failed validation because {fault}"
        if job.status.start_time is not None:
            return progress.event("Warning", FAILED_VALIDATION, message)
        created = condition_of(progress.observed.conditions, "Created")
        if created is not None and created.message == message:
            return Progress.of(job, progress.now)
        progress = progress.event("Warning", FAILED_VALIDATION, message)
        return progress.without("Created").condition("Created", message, cause=FAILED_VALIDATION, status="False")

    def sync_replicas(self, observed: Observed, progress: Progress) -> tuple[list[Write], Progress]:
        """Makes what is missing until the launcher has ended: objects and workers, and the launcher once no worker is missing.
        Pods that ExitCode replaces go once the status says Restarting."""
        job: Job = observed.job
        members, evidence = MPIPods(job, observed.children), MPIPods(job, scale_in.evidence(observed.children))
        again, failing_role = replica_sync.replaced(job, members)
        if failing_role:
            message = f'job "{job.name}" is failing because "{failing_role}" replica(s) failed.'
            progress = progress.failed(message, "Warning")
        writes: list[Write] = []
        if job.status.is_true("Restarting"):
            # The state first: once the pod is gone, nothing else shows the restart.
            writes += [deletion(job, PODS, pod) for pod in again if not pod.is_leaving]
        if not members.is_done:
            made, progress = replica_sync.writes(observed, members, self._kubectl_delivery_image, progress)
            writes += made
        progress = failures.with_exit_events(self, observed, progress)
        counts = judgement.counts(evidence)
        return writes, progress.notes(judgement.news(job, evidence, counts)).counts(counts)

    def refused(self, job: Job, failure: Failure) -> tuple[Note, ...]:
        """Events of `mpi.replica_sync.refused`: patches and deletions have no events."""
        return replica_sync.refused(job, failure)


FRAMEWORK = MPI()
