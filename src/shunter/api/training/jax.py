"""JAXJob (kubeflow.org/v1)."""

from typing import Annotated

from shunter.api.meta import ObjectMeta, Struct
from shunter.api.openapi import REQUIRED, doc
from shunter.api.training.job import JobStatus, ReplicaSpec, RunPolicy
from shunter.api.training.job_kind import JobKind, Port, resource

JAX_JOBS = resource("JAXJob")
WORKER = "Worker"


class JAXJobSpec(Struct, frozen=True):
    """One role alone, Worker; admission refuses another."""

    run_policy: Annotated[RunPolicy, doc("Life cycle and scheduling of the job.")] = RunPolicy()
    jax_replica_specs: Annotated[dict[str, ReplicaSpec], REQUIRED, doc("Pods by role: Workers, the first coordinates.")] = {}


class JAXJob(Struct, frozen=True):
    """Distributed training with JAX: Workers, of which the first is the coordinator."""

    metadata: ObjectMeta = ObjectMeta()
    spec: Annotated[JAXJobSpec, doc("What to run.")] = JAXJobSpec()
    status: Annotated[JobStatus, doc("The observed state of the job.")] = JobStatus()


KIND = JobKind(
    resource=JAX_JOBS,
    view=JAXJob,
    replica_specs="jaxReplicaSpecs",
    roles=(WORKER,),
    container="jax",
    port=Port("jaxjob-port", 6666),
    restart_policy="Never",
    is_scalable=True,
)
