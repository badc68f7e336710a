"""PyTorchJob: a Master and Workers that find each other by MASTER_ADDR, or elastic Workers that torchrun brings together.

torchrun reads PET_*, plain `init_process_group(env://)` reads MASTER_ADDR, MASTER_PORT, RANK and WORLD_SIZE; pods get both.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from shunter.api.field_errors import FieldError
from shunter.api.formats.digits import integer
from shunter.api.meta import Json
from shunter.api.training import pytorch_rules
from shunter.api.training.job import ReplicaStatus
from shunter.api.training.pytorch import KIND, MASTER, WORKER, ElasticPolicy, PyTorchJob, PyTorchJobSpec
from shunter.operator.training import init_template
from shunter.operator.training.children import Children
from shunter.operator.training.framework import Environment, KindInfo, Settings, Verdict, master_or_worker_verdicts
from shunter.operator.training.job import Autoscaling, TrainingJob
from shunter.operator.training.names import replica_name
from shunter.operator.training.ports import rendezvous_port
from shunter.operator.training.replica_sync import NumberedReplicas

INIT_IMAGE = "alpine:3.10"
INIT_TRIES = 100
"""How often a worker looks for the master's name, every 2 seconds, before it gives up."""
DEFAULT_RDZV_BACKEND = "c10d"

Job = TrainingJob[PyTorchJobSpec]


class PyTorch(NumberedReplicas):
    """PyTorchJobs: Workers wait for their Master in an init container, and elastic ones may have an autoscaler."""

    info = KindInfo(KIND, metrics_label="pytorch", ttl_event="SuccessfulDeletePod")
    container = KIND.container

    def __init__(self, settings: Settings = Settings()) -> None:  # noqa: B008 -- immutable
        self._waiting = init_template.parsed(
            settings.pytorch_init_container_template or init_template.DEFAULT_TEMPLATE,
            settings.pytorch_init_container_image or INIT_IMAGE,
            settings.pytorch_init_container_max_tries or INIT_TRIES,
        )

    def with_settings(self, settings: Settings) -> PyTorch:
        """With the init containers in which Workers wait. InputError for a template of them that cannot be used."""
        return PyTorch(settings)

    def read(self, view: PyTorchJob) -> Job:
        """Returns the job with defaults: 1 replica per role, restart policy OnFailure, port 23456, and `nprocPerNode: auto`
        unless elasticPolicy.nProcPerNode is set. A missing bound of elasticPolicy is the other one, or the number of Workers."""
        spec = pytorch_rules.with_defaults(view.spec)
        return TrainingJob.of(
            view, spec, self.info.resource, spec.pytorch_replica_specs, autoscaling=_autoscaling(spec.elastic_policy)
        )

    def validate(self, view: PyTorchJob, old: PyTorchJob | None) -> tuple[list[FieldError], list[str]]:
        """Errors of `pytorch_rules`; warns of elasticPolicy.nProcPerNode, which is deprecated."""
        return pytorch_rules.errors(view, old), pytorch_rules.warnings(view)

    def environment(self, job: Job, replica_type: str) -> Environment:
        """The variables of one role: values of a group of processes only where there is a Master to meet at."""
        elastic, has_master = job.spec.elastic_policy, MASTER in job.replicas
        first_rank = 0 if replica_type == MASTER else 1
        before, after = [("PYTHONUNBUFFERED", "1")], []
        if has_master:
            port = str(rendezvous_port(job.replicas[MASTER], KIND))
            address = replica_name(job.name, MASTER, 0)
            before += [
                ("MASTER_PORT", port),
                ("PET_MASTER_PORT", port),
                ("MASTER_ADDR", address),
                ("PET_MASTER_ADDR", address),
                ("WORLD_SIZE", str(job.total_replicas * processes_per_node(job.spec.nproc_per_node))),
            ]
        if job.spec.nproc_per_node is not None:
            after.append(("PET_NPROC_PER_NODE", job.spec.nproc_per_node))
        after += elastic_environment(job, elastic) if elastic else [("PET_NNODES", str(job.total_replicas))]

        def of(index: int) -> list[Json]:
            rank = str(first_rank + index)
            ranks = [("RANK", rank), ("PET_NODE_RANK", rank)] if has_master else []
            return [{"name": name, "value": value} for name, value in (*before, *ranks, *after)]

        return of

    def init_containers(self, job: Job, replica_type: str) -> list[Json]:
        """Workers wait until the Master's name resolves, which it does once the Master is ready."""
        if replica_type == MASTER or MASTER not in job.replicas:
            return []
        return init_template.filled(self._waiting, replica_name(job.name, MASTER, 0))

    def is_master_role(self, job: Job, replica_type: str, index: int) -> bool:
        """The Master, or the first Worker of a job without one."""
        return replica_type == MASTER or (MASTER not in job.replicas and index == 0)

    def verdicts(self, job: Job, counts: Mapping[str, ReplicaStatus], children: Children) -> Iterable[Verdict]:
        """An elastic job is done when any Worker is."""
        return master_or_worker_verdicts(job, counts, is_one_worker_enough=job.spec.elastic_policy is not None)


def elastic_environment(job: Job, elastic: ElasticPolicy) -> list[tuple[str, str]]:
    """The options of torchrun for a changing number of workers; an empty rdzvConf has no effect."""
    port = elastic.rdzv_port if elastic.rdzv_port is not None else rendezvous_port(job.replicas.get(WORKER), KIND)
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


def _autoscaling(elastic: ElasticPolicy | None) -> Autoscaling | None:
    if elastic is None or not elastic.metrics:
        return None
    return Autoscaling(elastic.min_replicas, elastic.max_replicas, elastic.metrics)


def processes_per_node(nproc_per_node: str | None) -> int:
    """How many processes a pod counts for in WORLD_SIZE: the number, or 1 for words such as `auto`."""
    found = integer(nproc_per_node or "")
    return 1 if found is None else found


FRAMEWORK = PyTorch()
