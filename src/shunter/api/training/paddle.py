"""PaddleJob (kubeflow.org/v1)."""

from typing import Annotated

from shunter.api.meta import Json, ObjectMeta, Struct
from shunter.api.openapi import INT32, REQUIRED, builtin, doc
from shunter.api.training.job import JobStatus, ReplicaSpec, RunPolicy
from shunter.api.training.job_kind import JobKind, Port, resource

PADDLE_JOBS = resource("PaddleJob")
MASTER, WORKER = "Master", "Worker"


class ElasticPolicy(Struct, frozen=True):
    """Accepted and without effect, as upstream: the number of workers changes by scaling only."""

    min_replicas: Annotated[int | None, INT32, doc("Minimum number of workers; maxReplicas when absent. No effect.")] = None
    max_replicas: Annotated[int | None, INT32, doc("Maximum number of workers; minReplicas when absent. No effect.")] = None
    max_restarts: Annotated[int | None, INT32, doc("Restarts of the worker group. No effect.")] = None
    metrics: Annotated[
        tuple[Annotated[Json, builtin("io.k8s.api.autoscaling.v2.MetricSpec")], ...],
        doc("What the number of workers should follow. No effect."),
    ] = ()


class PaddleJobSpec(Struct, frozen=True):
    """Without a Master the Workers train together; with Masters these are parameter servers."""

    run_policy: Annotated[RunPolicy, doc("Life cycle and scheduling of the job.")] = RunPolicy()
    elastic_policy: Annotated[ElasticPolicy | None, doc("Elastic training.")] = None
    paddle_replica_specs: Annotated[
        dict[str, ReplicaSpec], REQUIRED, doc("Pods by role: Workers, or Masters (parameter servers) and Workers.")
    ] = {}


class PaddleJob(Struct, frozen=True):
    """Distributed training with PaddlePaddle: Workers that train together, or with Masters as parameter servers."""

    metadata: ObjectMeta = ObjectMeta()
    spec: Annotated[PaddleJobSpec, doc("What to run.")] = PaddleJobSpec()
    status: Annotated[JobStatus, doc("The observed state of the job.")] = JobStatus()


KIND = JobKind(
    resource=PADDLE_JOBS,
    view=PaddleJob,
    replica_specs="paddleReplicaSpecs",
    roles=(MASTER, WORKER),
    container="paddle",
    port=Port("master", 36543),
    restart_policy="OnFailure",
    is_scalable=True,
)
