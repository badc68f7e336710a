"""The MPIJob of mpi-operator (kubeflow.org/v2beta1), another product: read as one of v1, with defaults of its own.

It converts better than those of v1: its processes meet by ssh already, so its images have what v2 needs. Source of defaults and
meanings: mpi-operator, pkg/apis/kubeflow/v2beta1.
"""

from __future__ import annotations

from msgspec.structs import replace

from shunter.api.meta import Json, Struct
from shunter.api.resources import Resource
from shunter.api.training import mpi_rules
from shunter.api.training.job import MANAGED_BY_US, JobStatus, RunPolicy
from shunter.api.training.mpi import KIND, LAUNCHER, MPI_JOBS, MPI_OPERATOR, OTHER_VERSION, MPIJobMeta, MPIJobSpec
from shunter.operator.training.framework import Environment
from shunter.operator.training.frameworks.mpi import MPI
from shunter.operator.training.job import TrainingJob
from shunter.operator.training.names import JOB_NAME, OPERATOR_NAME, REPLICA_INDEX
from shunter.operator.training.names import JOB_ROLE as JOB_ROLE_LABEL

OPEN_MPI = "OpenMPI"
JOB_ROLE = "K_MPI_JOB_ROLE"
GPU_VARIABLES = ("NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES")
LAUNCHER_BACKOFF_LIMIT = 6
"""The launcher is a Job, which gives up after so many restarts by default."""
SSH_AUTH_MOUNT_PATH = "/root/.ssh"
"""Also where a job says ""."""


class MPIOperatorSpec(MPIJobSpec, frozen=True):
    """The fields that v1's spec does not have, with the defaults of mpi-operator."""

    run_launcher_as_worker: bool = False
    ssh_auth_mount_path: str = SSH_AUTH_MOUNT_PATH
    launcher_creation_policy: str = "AtStartup"
    mpi_implementation: str = OPEN_MPI


class MPIOperatorJob(Struct, frozen=True):
    """An MPIJob with v1's types and mpi-operator's spec."""

    metadata: MPIJobMeta = MPIJobMeta()
    spec: MPIOperatorSpec = MPIOperatorSpec()
    status: JobStatus = JobStatus()


class MPIOperator(MPI):
    """The MPI framework of v1, except for what mpi-operator does differently; its API version is kubeflow.org/v2beta1."""

    info = MPI.info._replace(
        kind=KIND._replace(
            resource=Resource(MPI_JOBS.group, OTHER_VERSION.partition("/")[2], MPI_JOBS.kind, MPI_JOBS.plural),
            view=MPIOperatorJob,
        )
    )

    def read(self, view: MPIOperatorJob) -> TrainingJob[MPIJobSpec]:  # type: ignore[override]
        """With v1's defaults and its own; a launcher restarts on failure unless its own restartPolicy says something else."""
        spec = mpi_rules.with_defaults(view.spec)
        replicas = dict(spec.mpi_replica_specs)
        if not (given := view.spec.mpi_replica_specs.get(LAUNCHER)) or not given.restart_policy:
            replicas[LAUNCHER] = replace(replicas[LAUNCHER], restart_policy="OnFailure")
        return TrainingJob(
            resource=self.info.resource,
            metadata=view.metadata,
            run_policy=_run_policy(spec.run_policy),
            replicas=replicas,
            status=view.status,
            spec=replace(view.spec, ssh_auth_mount_path=view.spec.ssh_auth_mount_path or SSH_AUTH_MOUNT_PATH),
        )

    def environment(self, job: TrainingJob[MPIJobSpec], replica_type: str) -> Environment:
        """What it sets over the user's own, and v2 does not reserve: a launcher that does not train sees no GPUs."""
        variables: list[Json] = [{"name": JOB_ROLE, "value": replica_type.lower()}]
        if replica_type == LAUNCHER and not (isinstance(job.spec, MPIOperatorSpec) and job.spec.run_launcher_as_worker):
            variables += [{"name": name, "value": ""} for name in GPU_VARIABLES]
        return lambda index: variables


def pod_labels(job: TrainingJob[MPIJobSpec], replica_type: str, index: int) -> dict[str, str]:
    """What it labels a pod with, over the template's own. A launcher is the pod of a Job. Source: mpi-operator,
    pkg/controller `newWorker`, `newLauncherPodTemplate`."""
    labels = {OPERATOR_NAME: "mpi-operator", JOB_NAME: job.name, JOB_ROLE_LABEL: replica_type.lower()}
    trains = isinstance(job.spec, MPIOperatorSpec) and job.spec.run_launcher_as_worker
    if replica_type != LAUNCHER:
        return {**labels, REPLICA_INDEX: str(index + trains)}
    name = f"{job.name}-launcher"
    return {**labels, **({REPLICA_INDEX: "0"} if trains else {}), "job-name": name, "batch.kubernetes.io/job-name": name}


def service_labels(job_name: str) -> dict[str, str]:
    """What it labels the Service with by which the pods find each other."""
    return {"app": job_name}


def _run_policy(policy: RunPolicy) -> RunPolicy:
    """Its own name as the manager says as much as none does."""
    limit = LAUNCHER_BACKOFF_LIMIT if policy.backoff_limit is None else policy.backoff_limit
    manager = MANAGED_BY_US if policy.managed_by == MPI_OPERATOR else policy.managed_by
    return replace(policy, backoff_limit=limit, managed_by=manager)


FRAMEWORK = MPIOperator()
