"""XGBoostJob (kubeflow.org/v1)."""

from typing import Annotated

from shunter.api.meta import ObjectMeta, Struct
from shunter.api.openapi import REQUIRED, doc
from shunter.api.training.job import JobStatus, ReplicaSpec, RunPolicy
from shunter.api.training.job_kind import JobKind, Port, resource

XGBOOST_JOBS = resource("XGBoostJob")
MASTER, WORKER = "Master", "Worker"


class XGBoostJobSpec(Struct, frozen=True):
    """Admission demands a Master that says `replicas: 1`, at which the Workers meet."""

    run_policy: Annotated[RunPolicy, doc("Life cycle and scheduling of the job.")] = RunPolicy()
    xgb_replica_specs: Annotated[dict[str, ReplicaSpec], REQUIRED, doc("Pods by role: one Master, and Workers.")] = {}


NO_SPEC = XGBoostJobSpec()
"""What a job is read as that has no spec at all: upstream tells it from an empty map of replica specs."""


class XGBoostJob(Struct, frozen=True):
    """Distributed training with XGBoost or LightGBM: a Master that the Workers meet at."""

    metadata: ObjectMeta = ObjectMeta()
    spec: Annotated[XGBoostJobSpec, doc("What to run.")] = NO_SPEC
    status: Annotated[JobStatus, doc("The observed state of the job.")] = JobStatus()


KIND = JobKind(
    resource=XGBOOST_JOBS,
    view=XGBoostJob,
    replica_specs="xgbReplicaSpecs",
    roles=(MASTER, WORKER),
    container="xgboost",
    port=Port("xgboostjob-port", 9999),
    restart_policy="Never",
)
