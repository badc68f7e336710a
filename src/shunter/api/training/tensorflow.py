"""TFJob (kubeflow.org/v1)."""

from typing import Annotated

from shunter.api.meta import ObjectMeta, Struct
from shunter.api.openapi import REQUIRED, doc
from shunter.api.training.job import JobStatus, ReplicaSpec, RunPolicy
from shunter.api.training.job_kind import JobKind, Port, resource

TF_JOBS = resource("TFJob")
CHIEF, MASTER, WORKER, PS, EVALUATOR = "Chief", "Master", "Worker", "PS", "Evaluator"
ALL_WORKERS = "AllWorkers"


class TFJobSpec(Struct, frozen=True):
    """A job has a Chief or a Master, not both. Without either, worker 0 decides about success, unless `success_policy` is
    AllWorkers."""

    run_policy: Annotated[RunPolicy, doc("Life cycle and scheduling of the job.")] = RunPolicy()
    success_policy: Annotated[
        str | None, doc("AllWorkers: the job ends when all workers have; by default when worker 0 has. A chief, if any, decides.")
    ] = None
    tf_replica_specs: Annotated[
        dict[str, ReplicaSpec], REQUIRED, doc("Pods by role: Chief or Master, PS, Worker, Evaluator.")
    ] = {}
    enable_dynamic_worker: Annotated[
        bool, doc("Workers may join and leave: each knows only itself and the parameter servers.")
    ] = False


class TFJob(Struct, frozen=True):
    """Distributed training with TensorFlow: workers that train together, or that share parameter servers."""

    metadata: ObjectMeta = ObjectMeta()
    spec: Annotated[TFJobSpec, doc("What to run.")] = TFJobSpec()
    status: Annotated[JobStatus, doc("The observed state of the job.")] = JobStatus()


KIND = JobKind(
    resource=TF_JOBS,
    view=TFJob,
    replica_specs="tfReplicaSpecs",
    roles=(CHIEF, MASTER, WORKER, PS, EVALUATOR),
    container="tensorflow",
    port=Port("tfjob-port", 2222),
    restart_policy="Never",
)
