"""PyTorchJob: a Master and Workers that find each other by MASTER_ADDR, or elastic Workers that torchrun brings together.

torchrun reads PET_*, plain `init_process_group(env://)` reads MASTER_ADDR, MASTER_PORT, RANK and WORLD_SIZE; pods get both.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from shunter.api.field_errors import FieldError
from shunter.api.meta import Json
from shunter.api.resources import PYTORCH_JOBS
from shunter.api.training import pytorch_rules
from shunter.api.training.job import ReplicaSpec, ReplicaStatus
from shunter.api.training.pytorch import (
    CONTAINER,
    MASTER,
    PORT,
    PORT_NAME,
    WORKER,
    ElasticPolicy,
    PyTorchJob,
    PyTorchJobSpec,
)
from shunter.operator.training.framework import TrainingJob, Verdict, restart_or_failure
from shunter.operator.training.names import replica_name

INIT_IMAGE = "alpine:3.10"
INIT_TRIES = 100
"""How often a worker looks for the master's name, every 2 seconds, before it gives up."""
DEFAULT_RDZV_BACKEND = "c10d"

_INTEGER = re.compile(r"[+-]?[0-9]+")

Job = TrainingJob[PyTorchJobSpec]


class PyTorch:
    resource = PYTORCH_JOBS
    view = PyTorchJob
    container = CONTAINER
    metrics_label = "pytorch"
    ttl_event = "SuccessfulDeletePod"
    reports_selector = True
    least_spec: Json = {"pytorchReplicaSpecs": {}}

    def read(self, view: PyTorchJob) -> Job:
        spec = pytorch_rules.with_defaults(view.spec)
        return TrainingJob(
            resource=self.resource,
            metadata=view.metadata,
            run_policy=spec.run_policy,
            replicas=spec.pytorch_replica_specs,
            status=view.status,
            spec=spec,
        )

    def validate(self, view: PyTorchJob, old: PyTorchJob | None) -> tuple[list[FieldError], list[str]]:
        return pytorch_rules.errors(view, old), pytorch_rules.warnings(view)

    def environment(self, job: Job, replica_type: str, index: int) -> list[Json]:
        """The variables of one pod (E1): values of a group of processes only where there is a Master to meet at (E2)."""
        variables = [("PYTHONUNBUFFERED", "1")]
        elastic = job.spec.elastic_policy
        if MASTER in job.replicas:
            port = str(rendezvous_port(job.replicas[MASTER]))
            address = replica_name(job.name, MASTER, 0)
            rank = str(index if replica_type == MASTER else index + 1)
            variables += [
                ("MASTER_PORT", port),
                ("PET_MASTER_PORT", port),
                ("MASTER_ADDR", address),
                ("PET_MASTER_ADDR", address),
                ("WORLD_SIZE", str(job.total_replicas * processes_per_node(job.spec.nproc_per_node))),
                ("RANK", rank),
                ("PET_NODE_RANK", rank),
            ]
        if job.spec.nproc_per_node is not None:
            variables.append(("PET_NPROC_PER_NODE", job.spec.nproc_per_node))
        variables += elastic_environment(job, elastic) if elastic else [("PET_NNODES", str(job.total_replicas))]
        return [{"name": name, "value": value} for name, value in variables]

    def init_containers(self, job: Job, replica_type: str) -> list[Json]:
        """Workers wait until the Master's name resolves, which it does once the Master is ready (E5)."""
        if replica_type == MASTER or MASTER not in job.replicas:
            return []
        master = replica_name(job.name, MASTER, 0)
        script = (
            f"err=1;for i in $(seq {INIT_TRIES}); do if nslookup {master}; then err=0 && break; fi;"
            "echo waiting for master; sleep 2; done; exit $err"
        )
        return [
            {
                "name": "init-pytorch",
                "image": INIT_IMAGE,
                "imagePullPolicy": "IfNotPresent",
                "command": ["sh", "-c", script],
                "resources": {"limits": {"cpu": "100m", "memory": "20Mi"}, "requests": {"cpu": "50m", "memory": "10Mi"}},
            }
        ]

    def is_master_role(self, job: Job, replica_type: str, index: int) -> bool:
        """The Master, or the first Worker of a job without one (N2)."""
        return replica_type == MASTER or (MASTER not in job.replicas and index == 0)

    def verdicts(self, job: Job, counts: Mapping[str, ReplicaStatus]) -> Iterable[Verdict]:
        """With a Master its end is the job's; without one all Workers', or any one's when the job is elastic (S9)."""
        for replica_type in job.replicas:
            count = counts[replica_type]
            if replica_type == MASTER:
                if count.active:
                    yield Verdict("Running", f"PyTorchJob {job.name} is running.")
                if count.succeeded >= job.replica_count(MASTER):
                    yield Verdict("Succeeded", f"PyTorchJob {job.name} is successfully completed.")
                    return
            elif MASTER not in job.replicas:
                if count.succeeded >= job.replica_count(WORKER) or (job.spec.elastic_policy and count.succeeded):
                    yield Verdict("Succeeded", f"PyTorchJob {job.namespace}/{job.name} successfully completed.")
                elif count.active:
                    yield Verdict("Running", f"PyTorchJob {job.namespace}/{job.name} is running.")
            failure = restart_or_failure(job, replica_type, count)
            if failure:
                yield failure


def elastic_environment(job: Job, elastic: ElasticPolicy) -> list[tuple[str, str]]:
    """What torchrun is told about a changing number of workers (E1); an empty rdzvConf says nothing (X4)."""
    port = elastic.rdzv_port if elastic.rdzv_port is not None else rendezvous_port(job.replicas.get(WORKER))
    host = elastic.rdzv_host or replica_name(job.name, WORKER, 0)
    variables = [
        ("PET_RDZV_ENDPOINT", f"{host}:{port}"),
        ("PET_RDZV_BACKEND", elastic.rdzv_backend or DEFAULT_RDZV_BACKEND),
        ("PET_NNODES", f"{elastic.min_replicas}:{elastic.max_replicas}"),
    ]
    if elastic.max_restarts is not None:
        variables.append(("PET_MAX_RESTARTS", str(elastic.max_restarts)))
    if elastic.n_proc_per_node is not None:
        variables.append(("PET_NPROC_PER_NODE", str(elastic.n_proc_per_node)))
    if elastic.rdzv_id is not None:
        variables.append(("PET_RDZV_ID", elastic.rdzv_id))
    if elastic.rdzv_conf:
        variables.append(("PET_RDZV_CONF", ",".join(f"{setting.key}={setting.value}" for setting in elastic.rdzv_conf)))
    if elastic.standalone:
        variables.append(("PET_STANDALONE", ""))
    return variables


def processes_per_node(nproc_per_node: str | None) -> int:
    """How many processes a pod counts for in WORLD_SIZE: the number, or 1 for words such as `auto` (E3)."""
    return int(nproc_per_node) if nproc_per_node and _INTEGER.fullmatch(nproc_per_node) else 1


def rendezvous_port(spec: ReplicaSpec | None) -> int:
    """The pytorchjob-port of a role's training container, which defaulting adds where it is missing (D2)."""
    containers = (spec.template.get("spec") or {}).get("containers") or [] if spec else []
    ports = [port for container in containers if container.get("name") == CONTAINER for port in container.get("ports") or []]
    return next((port["containerPort"] for port in ports if port.get("name") == PORT_NAME), PORT)
