"""Names of an MPIJob's objects, and what stands in its host lists."""

from __future__ import annotations

from shunter.api.training.mpi import LAUNCHER, WORKER, MPIJobSpec
from shunter.operator.training.job import TrainingJob
from shunter.operator.training.names import replica_name

Job = TrainingJob[MPIJobSpec]


def launcher_name(job: Job) -> str:
    """The launcher's pod, its Role and RoleBinding, and its ServiceAccount where the template names none."""
    return f"{job.name}-launcher"


def config_map_name(job: Job) -> str:
    """`bert-config`: the host list, and the scripts that mpirun and elastic Horovod call."""
    return f"{job.name}-config"


def worker_name(job: Job, index: int) -> str:
    """`bert-worker-3`: the pod, and the host in the host list."""
    return replica_name(job.name, WORKER, index)


def service_account_name(job: Job) -> str:
    """The launcher's ServiceAccount."""
    spec = job.replicas[LAUNCHER].template.get("spec") or {}
    return spec.get("serviceAccountName") or launcher_name(job)


def slots(job: Job) -> int:
    """Processes a host may run."""
    return 1 if job.spec.slots_per_worker is None else job.spec.slots_per_worker


def is_gpu_launcher(job: Job) -> bool:
    """Whether the launcher trains too: any of its containers has a limit of a resource with `gpu` in its name, as upstream
    looks for it."""
    containers = (job.replicas[LAUNCHER].template.get("spec") or {}).get("containers") or []
    limits = (name for container in containers for name in (container.get("resources") or {}).get("limits") or {})
    return any("gpu" in name for name in limits)
