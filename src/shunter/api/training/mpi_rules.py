"""Defaults and validation of MPIJob.

No webhook refuses MPIJobs: the operator judges them when it reconciles, and says one fault at a time.
"""

from __future__ import annotations

from msgspec.structs import replace

from shunter.api.scheduling.kueue import QUEUE_LABEL
from shunter.api.shapes import template_fault
from shunter.api.training.defaults import replica_with_defaults, run_policy_with_defaults
from shunter.api.training.job import ReplicaSpec, RunPolicy
from shunter.api.training.mpi import KIND, LAUNCHER, MPI_OPERATOR, NO_SPEC, OTHER_VERSION, WORKER, MPIJob, MPIJobSpec
from shunter.api.training.validation import too_many_errors

LONGEST_NAME = 63
"""The job's name is the value of a label of its pods."""

_ROLES = (LAUNCHER, WORKER)


def with_defaults(spec: MPIJobSpec) -> MPIJobSpec:
    """The spec as the operator reads it: both roles are there, the Worker with no replicas where nothing is said."""
    given = spec.mpi_replica_specs
    specs = {
        role: replica_with_defaults(given.get(role) or ReplicaSpec(), KIND, replicas=0 if role in KIND.idle_roles else 1)
        for role in _ROLES
    }
    return replace(spec, run_policy=_run_policy(spec), mpi_replica_specs=specs)


def fault(spec: MPIJobSpec) -> str:
    """What is wrong with the job, in upstream's words; empty when nothing is."""
    specs = spec.mpi_replica_specs
    if spec is NO_SPEC:
        return "MPIReplicaSpecs is not valid"
    for role in (*(role for role in _ROLES if role in specs), *(role for role in specs if role not in _ROLES)):
        if found := _replica_fault(role, specs[role]):
            return found
    if LAUNCHER not in specs:
        return "MPIReplicaSpec is not valid: Master ReplicaSpec must be present"
    return ""


def warnings(job: MPIJob) -> list[str]:
    """Warns of a queue label that has no effect."""
    queue = (job.metadata.labels or {}).get(QUEUE_LABEL)
    if not queue or job.spec.run_policy.managed_by == MPI_OPERATOR or is_of_other_version(job):
        return []
    text = (
        f"metadata.labels[{QUEUE_LABEL}]: {queue!r} has no effect: Kueue manages MPIJobs of {OTHER_VERSION} "
        f"only, so this job starts immediately, regardless of the quota; use a TrainJob whose runtime has "
        f"mlPolicy.mpi, or an MPIJob of "
        f"{OTHER_VERSION}, which the mpi-operator runs"
    )
    return [text]


def is_of_other_version(job: MPIJob) -> bool:
    """Whether the object was written as an MPIJob of the mpi-operator, so that it is none of ours whatever v1 shows of it."""
    writers = (writer for writer in job.metadata.managed_fields if not writer.subresource)
    return any(writer.api_version == OTHER_VERSION for writer in writers)


def name_fault(name: str) -> str:
    """Why the objects of a job of this name could not be made; empty when they can. Upstream tries again and again."""
    if len(name) <= LONGEST_NAME:
        return ""
    return (
        f"metadata.name has {len(name)} characters, and labels of its pods allow {LONGEST_NAME}. Create it under a shorter name"
    )


def _replica_fault(role: str, spec: ReplicaSpec) -> str:
    if misshapen := template_fault(spec.template):
        return f"MPIReplicaSpecs is not valid: template of {role}: {misshapen}"
    containers = (spec.template.get("spec") or {}).get("containers") or []
    if not containers:
        return f"MPIReplicaSpecs is not valid: containers definition expected in {role}"
    if role not in _ROLES:
        return f"MPIReplicaType is {role} but must be one of [{' '.join(_ROLES)}]"
    for container in containers:
        if not container.get("image"):
            return f"MPIReplicaSpec is not valid: Image is undefined in the container of {role}"
        if not container.get("name"):
            return f"MPIReplicaSpec is not valid: ImageName is undefined in the container of {role}"
    if too_many := too_many_errors(spec, field=f"spec.{KIND.replica_specs}[{role}]"):
        return f"MPIReplicaSpec is not valid: {too_many[0]}"
    if role == LAUNCHER and spec.replicas not in (None, 1):
        return "MPIReplicaSpec is not valid: There must be only 1 launcher replica"
    return ""


def _run_policy(spec: MPIJobSpec) -> RunPolicy:
    """The old field for cleaning up counts where the new one is not set."""
    policy = spec.run_policy
    if policy.clean_pod_policy is None:
        policy = replace(policy, clean_pod_policy=spec.clean_pod_policy)
    return run_policy_with_defaults(policy)
