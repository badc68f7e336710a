"""Whether the launcher of a TrainJob with MPI is one of its nodes (`runLauncherAsNode` of its runtime). Pure.

The operator lists the nodes in the job's hostfile. If that was not read, numNodes and the number of other pods may show it: the
operator creates one pod less if the launcher is a node, but at least one, so a job of one node does not show it.
"""

from __future__ import annotations

from collections.abc import Sequence

from shunter.api.meta import Json
from shunter.api.resources import CONFIG_MAPS, TRAIN_JOBS
from shunter.api.trainer.runtime import HOST_FILE, HOST_FILE_SUFFIX, LAUNCHER
from shunter.jobs.pods_up import requested_ranks
from shunter.operator.pod_places import Place, Places


def host_file_name(job: Json) -> str:
    """The name of the ConfigMap with the job's hostfile."""
    return f"{job['metadata']['name']}{HOST_FILE_SUFFIX}"


def hosts_in(job: Json, children: Sequence[Json]) -> tuple[str, ...] | None:
    """The nodes in the job's hostfile, without their domain; None where it was not read."""
    for child in children:
        if child.get("kind") == CONFIG_MAPS.kind and child["metadata"]["name"] == host_file_name(job):
            lines = str((child.get("data") or {}).get(HOST_FILE, "")).splitlines()
            return tuple(line.split()[0].partition(".")[0] for line in lines if line.strip())
    return None


def has_launcher(job: Json, pods: Sequence[Json], jobset: Json | None) -> bool:
    """Whether a launcher is among the pods of a TrainJob, or in its JobSet."""
    if job.get("kind") != TRAIN_JOBS.kind:
        return False
    groups = ((jobset or {}).get("spec") or {}).get("replicatedJobs") or ()
    return any(group.get("name") == LAUNCHER for group in groups) or any(one.role == LAUNCHER for one in _places(job, pods))


def launcher_trains(job: Json, pods: Sequence[Json], jobset: Json | None, hosts: Sequence[str] | None) -> bool | None:
    """Whether the launcher is a node; None if unknown. False for a job without a launcher, or of another kind."""
    if not has_launcher(job, pods, jobset):
        return False
    if hosts is not None:
        return f"{job['metadata']['name']}-{LAUNCHER}-0-0" in hosts
    nodes = (job["spec"].get("trainer") or {}).get("numNodes") or 0
    if jobset is None:
        # Beside the launcher there are as many pods as nodes.
        is_beside = any(one.role != LAUNCHER and one.index == nodes - 1 for one in _places(job, pods))
        return False if is_beside and nodes > 1 else None
    beside = requested_ranks(job, jobset, without=(LAUNCHER,))
    if not beside:
        return True
    return {nodes: False, nodes - 1: True}.get(beside) if nodes > 1 else None


def _places(job: Json, pods: Sequence[Json]) -> list[Place]:
    places = Places(job)
    return [places.of(pod) for pod in pods]
