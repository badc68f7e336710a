"""MPIJob (kubeflow.org/v1): a launcher that runs mpirun, and workers that it reaches by `kubectl exec`."""

from typing import Annotated, Literal

from shunter.api.meta import ObjectMeta, Struct
from shunter.api.openapi import INT32, REQUIRED, doc
from shunter.api.training.job import JobStatus, ReplicaSpec, RunPolicy
from shunter.api.training.job_kind import JobKind, resource

MPI_JOBS = resource("MPIJob")
LAUNCHER: Literal["Launcher"] = "Launcher"
WORKER: Literal["Worker"] = "Worker"
DELIVERY_CONTAINER = "kubectl-delivery"
"""The init container that brings a launcher its kubectl."""
CONTAINER = "mpi"
"""What clients ask for the log of; no rule demands a container of this name."""


OTHER_VERSION = "kubeflow.org/v2beta1"
"""The MPIJob of the mpi-operator, another product, has the same group, kind and plural. Where a cluster serves both versions,
each shows the other's objects too."""
MPI_OPERATOR = "kubeflow.org/mpi-operator"


class MPIJobSpec(Struct, frozen=True):
    """`slots_per_worker` is the number of slots of each Worker in mpirun's file of hosts."""

    slots_per_worker: Annotated[int | None, INT32, doc("Processes a worker may run; 1 when absent.")] = None
    clean_pod_policy: Annotated[str | None, doc("Deprecated: use runPolicy.cleanPodPolicy, which wins.")] = None
    mpi_replica_specs: Annotated[dict[str, ReplicaSpec], REQUIRED, doc("Pods by role: Launcher and Worker.")] = {}
    main_container: Annotated[str, doc("Container of the workers in which processes are started; the first one when absent.")] = (
        ""
    )
    run_policy: Annotated[RunPolicy, doc("Life cycle and scheduling of the job.")] = RunPolicy()


NO_SPEC = MPIJobSpec()
"""What a job is read as that has no spec at all: upstream tells it from an empty map of replica specs."""


class FieldManager(Struct, frozen=True):
    """Who wrote fields of an object, and in which version."""

    api_version: str = ""
    subresource: str = ""


class MPIJobMeta(ObjectMeta, frozen=True):
    """With its managed fields, which tell an MPIJob of the mpi-operator from one of ours."""

    managed_fields: tuple[FieldManager, ...] = ()


class MPIJob(Struct, frozen=True):
    """A job of mpirun: a Launcher, and Workers in which it starts processes."""

    metadata: MPIJobMeta = MPIJobMeta()
    spec: Annotated[MPIJobSpec, doc("What to run.")] = NO_SPEC
    status: Annotated[JobStatus, doc("The observed state of the job.")] = JobStatus()


KIND = JobKind(
    resource=MPI_JOBS,
    view=MPIJob,
    replica_specs="mpiReplicaSpecs",
    roles=(LAUNCHER, WORKER),
    container=CONTAINER,
    port=None,
    restart_policy="Never",
    idle_roles=(WORKER,),
    added_containers=(DELIVERY_CONTAINER,),
)
