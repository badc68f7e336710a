"""PyTorchJob (kubeflow.org/v1)."""

from typing import Annotated, Literal

from shunter.api.meta import Json, ObjectMeta, Struct
from shunter.api.openapi import INT32, REQUIRED, builtin, doc
from shunter.api.training.job import JobStatus, ReplicaSpec, RunPolicy
from shunter.api.training.job_kind import JobKind, Port, resource

PYTORCH_JOBS = resource("PyTorchJob")
MASTER: Literal["Master"] = "Master"
WORKER: Literal["Worker"] = "Worker"
WAITING_CONTAINER = "init-pytorch"
"""The init container in which Workers wait for the Master."""


class RendezvousSetting(Struct, frozen=True):
    """One `key=value` of torchrun's `--rdzv-conf`."""

    key: Annotated[str, doc("Name of the setting.")] = ""
    value: Annotated[str, doc("Its value.")] = ""


class ElasticPolicy(Struct, frozen=True):
    """The options of torchrun when the number of workers may change (torchrun's own option names)."""

    min_replicas: Annotated[int | None, INT32, doc("Minimum number of workers; maxReplicas when absent.")] = None
    max_replicas: Annotated[int | None, INT32, doc("Maximum number of workers; minReplicas when absent.")] = None
    rdzv_backend: Annotated[str | None, doc("Rendezvous backend: c10d, etcd or etcd-v2.")] = None
    rdzv_port: Annotated[int | None, INT32, doc("Rendezvous port; the pytorchjob-port when absent.")] = None
    rdzv_host: Annotated[str | None, doc("Rendezvous host; the first worker when absent.")] = None
    rdzv_id: Annotated[str | None, doc("Rendezvous id; the job's name when absent.")] = None
    rdzv_conf: Annotated[tuple[RendezvousSetting, ...], doc("Further settings of the rendezvous backend.")] = ()
    standalone: Annotated[bool | None, doc("One node with its own rendezvous; the other rdzv fields are ignored.")] = None
    n_proc_per_node: Annotated[int | None, INT32, doc("Deprecated: use spec.nprocPerNode.")] = None
    max_restarts: Annotated[int | None, INT32, doc("Restarts of the worker group by torchrun.")] = None
    metrics: Annotated[
        tuple[Annotated[Json, builtin("io.k8s.api.autoscaling.v2.MetricSpec")], ...],
        doc("What the number of workers follows; a HorizontalPodAutoscaler is created from it."),
    ] = ()


class PyTorchJobSpec(Struct, frozen=True):
    """With an elastic policy there must be Workers; a Master must say `replicas: 1`."""

    run_policy: Annotated[RunPolicy, doc("Life cycle and scheduling of the job.")] = RunPolicy()
    elastic_policy: Annotated[ElasticPolicy | None, doc("Elastic training with torchrun.")] = None
    pytorch_replica_specs: Annotated[dict[str, ReplicaSpec], REQUIRED, doc("Pods by role: Master and Worker.")] = {}
    nproc_per_node: Annotated[str | None, doc("Processes per node: auto, cpu, gpu or a number. auto by default.")] = None


class PyTorchJob(Struct, frozen=True):
    """Distributed training with PyTorch: a Master and Workers, or elastic Workers."""

    metadata: ObjectMeta = ObjectMeta()
    spec: Annotated[PyTorchJobSpec, doc("What to run.")] = PyTorchJobSpec()
    status: Annotated[JobStatus, doc("The observed state of the job.")] = JobStatus()


KIND = JobKind(
    resource=PYTORCH_JOBS,
    view=PyTorchJob,
    replica_specs="pytorchReplicaSpecs",
    roles=(MASTER, WORKER),
    container="pytorch",
    port=Port("pytorchjob-port", 23456),
    restart_policy="OnFailure",
    added_containers=(WAITING_CONTAINER,),
    is_scalable=True,
)
