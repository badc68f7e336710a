"""Another number of nodes for a job that exists: what is written for it, and why it is refused. Pure; input is plain JSON.

A TrainJob's numNodes changes only while it is suspended: one write suspends it and sets the number, the next resumes it. What
tells, after a kill between the two, that it is to be resumed is in `operator.interrupted_scaling`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from shunter.api.formats.counts import count
from shunter.api.jobset import longest_name_of, replicas_and_pods
from shunter.api.meta import Json
from shunter.api.resources import TRAIN_JOBS
from shunter.api.shapes import ShapeError, shaped
from shunter.api.titles import title_of
from shunter.api.trainer.runtime import ANCESTOR_LABEL, ANCESTOR_TRAINER, HOST_FILE, HOST_FILE_DIRECTORY
from shunter.api.trainer.trainjob import TrainJob
from shunter.api.training import pytorch_rules
from shunter.api.training.pytorch import MASTER, PYTORCH_JOBS, WORKER, PyTorchJob
from shunter.errors import InputError
from shunter.jobs.commands.launchers import Started
from shunter.jobs.commands.launches import launchers_in
from shunter.operator.causes.queue import queue_name
from shunter.operator.interrupted_scaling import RESUMES, is_to_be_resumed
from shunter.operator.overview import is_suspended, manager_of_others, overview
from shunter.operator.suspension import suspend_command
from shunter.operator.trainer.render import jobset_for

_HOSTS = f"{HOST_FILE_DIRECTORY}/{HOST_FILE}"
"""The list of hosts that the operator writes."""


def require_scalable(job: Json, nodes: int) -> None:
    """InputError for a job of any kind that cannot have another number of nodes now. What its runtime or its elasticPolicy have
    against this number is asked for by `require_possible` and `worker_count`."""
    title = title_of(job)
    if nodes < 1:
        raise InputError(
            f"--nodes {nodes} of {title}: it must be 1 or more.",
            f"Stop it: {suspend_command(job, suspend=True)}, or shunter delete.",
        )
    if job["kind"] not in (TRAIN_JOBS.kind, PYTORCH_JOBS.kind):
        raise InputError(
            f"{title}: the number of its ranks is fixed when it starts; TrainJobs and elastic PyTorchJobs can be scaled.",
            "Create it again with another number of replicas.",
        )
    row = overview(job)
    if row.is_finished:
        raise InputError(f"{title} has ended ({row.state}).", "Run it again with that many nodes.")
    if job["metadata"].get("deletionTimestamp"):
        raise InputError(f"{title} is being deleted.")
    if manager := manager_of_others(job):
        raise InputError(f"{title} is managed by {manager} (managedBy).", "Change it at its source.")
    if (queue := queue_name(job)) and not is_suspended(job):
        raise InputError(
            f"{title} was admitted by queue {queue} for its present number of nodes.",
            "Run it again with that many nodes, and the queue admits the new job.",
        )


def next_write(job: Json, nodes: int) -> Json | None:
    """The next merge patch on a TrainJob's way to so many nodes; None when there is nothing left to write. It holds the job's
    resourceVersion: a job that changed meanwhile is to be read and judged again."""
    metadata, spec = job["metadata"], job.get("spec") or {}
    has_number = (spec.get("trainer") or {}).get("numNodes") == nodes
    resumes = not is_suspended(job) or is_to_be_resumed(job)
    if has_number and (not is_suspended(job) or not resumes):
        return None
    version = {"resourceVersion": metadata["resourceVersion"]}
    if has_number:
        return {"metadata": {**version, "annotations": {RESUMES: None}}, "spec": {"suspend": False}}
    marks = {"annotations": {RESUMES: str(metadata["generation"] + 1)}} if resumes else {}
    return {"metadata": {**version, **marks}, "spec": {"suspend": True, "trainer": {"numNodes": nodes}}}


def pod_counts(jobset: Json) -> dict[str, int]:
    """Pods of each Job, by replicated job."""
    return {one["name"]: replicas_and_pods(one)[1] for one in jobset["spec"].get("replicatedJobs") or []}


def present_counts(job: Json, runtime: Json) -> dict[str, int]:
    """The `pod_counts` of a TrainJob's JobSet as the job is."""
    return pod_counts(jobset_for(_read(job), runtime))


def desired_counts(job: Json, runtime: Json, nodes: int) -> dict[str, int]:
    """The `pod_counts` of a TrainJob's JobSet with so many nodes. InputError where the runtime, a command or the JobSet's claims
    fix the number."""
    title = title_of(job)
    requested, other = (
        jobset_for(_with_nodes(job, number), runtime) for number in (nodes, nodes + 2)
    )  # of an MPI job the launcher may be one
    if pod_counts(requested) == pod_counts(other):
        name = ((job.get("spec") or {}).get("runtimeRef") or {}).get("name", "")
        raise InputError(
            f"{title}: its runtime {name} has a fixed number of pods, which numNodes does not change.",
            f"In the runtime the Jobs that train need the label {ANCESTOR_LABEL}: {ANCESTOR_TRAINER}.",
        )
    if requested["spec"].get("volumeClaimPolicies"):
        raise InputError(
            f"{title}: the volumes of its JobSet (volumeClaimPolicies) would be deleted with it when it is recreated.",
            "Create it again with that many nodes.",
        )
    name = job["metadata"]["name"]
    if len(name) > (most := longest_name_of(requested)):
        raise InputError(
            f"--nodes {nodes} of {title}: pod names contain its name of {len(name)} characters, and those of "
            f"{count(nodes, 'node')} leave it at most {most}.",
            "Use fewer nodes, or create it again with a shorter name.",
        )
    is_mpi = bool(((runtime.get("spec") or {}).get("mlPolicy") or {}).get("mpi"))
    require_unfixed(title, _commands(requested), nodes, is_mpi=is_mpi)
    return pod_counts(requested)


def require_unfixed(title: str, commands: Iterable[Sequence[str]], nodes: int, *, is_mpi: bool) -> None:
    """InputError for a job one of whose commands names a number of nodes, processes or hosts of its own. A command is the words
    of a container."""
    for started in (one for words in commands for one in launchers_in(tuple(words))):
        if started.launcher == "mpirun":
            fixed = next((name for name in ("np", "H") if name in started.options), "") if is_mpi else ""
            if is_mpi and started.option("hostfile") not in (None, _HOSTS):
                fixed = "hostfile"
            if fixed:
                option = started.written(fixed).split()[0].partition("=")[0]
                raise InputError(
                    f"{title}: its mpirun command fixes its processes or hosts ({option}), so other nodes would not train.",
                    f"Create it again with that many nodes, or without {option}: the operator writes the hosts.",
                )
            continue
        written, least, most = _nodes_named(started)
        if written and not least <= nodes <= most:
            option = written.split()[0].partition("=")[0]
            remedy = (
                f"without {option}: torchrun gets the number from the operator (PET_NNODES)."
                if started.launcher == "torchrun"
                else f"with {count(nodes, 'node')} and {option}={nodes}."
            )
            raise InputError(
                f"{title}: its command sets {written}, so {count(nodes, 'node')} would not train.", f"Create it again {remedy}"
            )


def _nodes_named(started: Started) -> tuple[str, int, int]:
    """The option that says on how many nodes a launcher starts processes, as it is written, and the least and the most; empty
    where none does."""
    if started.launcher == "torchrun":
        bounds = (started.option("nnodes") or "").split(":")
        if len(bounds) < 3 and all(bound.isdecimal() for bound in bounds):
            return started.written("nnodes"), int(bounds[0]), int(bounds[-1])
        return "", 0, 0
    name = {"accelerate": "num-machines", "deepspeed": "num-nodes"}.get(started.launcher, "")
    number = started.number(name)
    return ("", 0, 0) if number is None else (started.written(name), number, number)


def worker_count(job: Json, nodes: int) -> int:
    """The Workers of an elastic PyTorchJob with so many nodes, its Master included. InputError for one that is not elastic, and
    for a number outside of its bounds."""
    title = title_of(job)
    try:
        spec = pytorch_rules.with_defaults(shaped(job, PyTorchJob).spec)
    except ShapeError as error:
        raise InputError(f"{title} cannot be read: {error}.") from error
    policy = spec.elastic_policy
    if policy is None or WORKER not in spec.pytorch_replica_specs:
        raise InputError(
            f"{title} has no elasticPolicy: the number of its ranks is fixed when they start.",
            "Create it again with another number of Workers, or with spec.elasticPolicy.",
        )
    least, most = policy.min_replicas or 1, policy.max_replicas or 1
    if not least <= nodes <= most:
        raise InputError(
            f"--nodes {nodes} of {title}: its elasticPolicy has minReplicas {least} and maxReplicas {most}.",
            f"Choose a number from {least} to {most}.",
        )
    workers = nodes - (1 if MASTER in spec.pytorch_replica_specs else 0)
    if workers < 1:
        raise InputError(f"--nodes {nodes} of {title}: it needs a Worker in addition to its Master.", "Use 2 or more.")
    template = (((job["spec"].get("pytorchReplicaSpecs") or {}).get(WORKER) or {}).get("template") or {}).get("spec") or {}
    require_unfixed(title, map(_words, template.get("containers") or ()), nodes, is_mpi=False)
    return workers


def workers_of(job: Json) -> int:
    """The Workers that a PyTorchJob asks for."""
    return int(((job["spec"].get("pytorchReplicaSpecs") or {}).get(WORKER) or {}).get("replicas") or 1)


def _with_nodes(job: Json, nodes: int) -> TrainJob:
    spec = job.get("spec") or {}
    return _read({**job, "spec": {**spec, "trainer": {**(spec.get("trainer") or {}), "numNodes": nodes}}})


def _read(job: Json) -> TrainJob:
    try:
        return shaped(job, TrainJob)
    except ShapeError as error:
        raise InputError(f"{title_of(job)} cannot be read: {error}.") from error


def _commands(jobset: Json) -> Iterable[Sequence[str]]:
    """What each container of all its pods is started with."""
    for replicated in jobset["spec"].get("replicatedJobs") or []:
        yield from map(_words, replicated["template"]["spec"]["template"]["spec"].get("containers") or ())


def _words(container: Json) -> Sequence[str]:
    return (*(container.get("command") or ()), *(container.get("args") or ()))
