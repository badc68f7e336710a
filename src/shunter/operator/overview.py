"""Both generations of jobs in one view: what a person wants to know of a job of any kind. Pure; input is plain JSON."""

from __future__ import annotations

import re
from collections.abc import Collection
from datetime import datetime, timedelta

from shunter.api.batch import JOB_CONTROLLER
from shunter.api.formats import times
from shunter.api.jobset import JOBSET_NAME
from shunter.api.meta import Json, Struct
from shunter.api.resources import JOBS, TRAIN_JOBS, Resource
from shunter.api.titles import object_title
from shunter.api.trainer import trainjob
from shunter.api.training import job as training_job
from shunter.api.training.kinds import JOB_KINDS
from shunter.operator import native_jobs
from shunter.operator.native_jobs import is_native

JOB_RESOURCES: tuple[Resource, ...] = (*(kind.resource for kind in JOB_KINDS), TRAIN_JOBS)
"""Every kind of training job we serve."""
SHOWN_RESOURCES: tuple[Resource, ...] = (*JOB_RESOURCES, JOBS)
"""Those, and what people train with where there is no operator: Jobs that number their pods (`native_jobs`)."""

FINISHED_STATES = ("Succeeded", "Failed")
V1_STATES = ("Failed", "Succeeded", "Suspended", "Restarting", "Running", "Created")
"""Condition types of kubeflow.org/v1; the first that is True, in this order, names the state."""
V2_STATES = native_jobs.ENDS
"""Condition types of TrainJobs, which are those of Jobs, and the states that they name."""
V1_ROLES = {kind.resource.kind: [role.lower() for role in kind.roles] for kind in JOB_KINDS}
"""The replica types of each kind of kubeflow.org/v1 in the order in which ranks are counted."""
V1_IDLE_ROLES = {kind.resource.kind: kind.idle_roles for kind in JOB_KINDS}

V1_JOB, V2_JOB = "training.kubeflow.org/job-name", JOBSET_NAME
"""Labels of pods that name their job of kubeflow.org/v1, or their TrainJob."""
CLOCK_SKEW = timedelta(seconds=1)
"""By how much the clocks of several API servers, which stamp objects in whole seconds, are allowed to differ."""
OWN_MANAGERS = ("", trainjob.MANAGED_BY_US, training_job.MANAGED_BY_US)
"""Values of managedBy that mean us; it may be absent."""

_V2_GROUP = f"{TRAIN_JOBS.group}/"


class Overview(Struct, frozen=True):
    """One job as a row: `state` is Created, Running, Restarting, Suspended, Succeeded or Failed in both generations."""

    kind: str
    namespace: str
    name: str
    uid: str
    state: str
    reason: str
    message: str
    ranks: int
    """Pods that take part in the training when all are there."""
    created: datetime | None
    finished: datetime | None

    @property
    def title(self) -> str:
        """`PyTorchJob training/bert`."""
        return object_title(self.kind, self.namespace, self.name)

    @property
    def is_finished(self) -> bool:
        """Whether it has succeeded or failed; a suspended job is not finished."""
        return self.state in FINISHED_STATES

    @property
    def ran(self) -> timedelta | None:
        """From the creation, not from the startTime, to the end: the completionTime, else the last change of its condition. None
        before the end."""
        return self.finished - self.created if self.finished and self.created else None

    @property
    def is_running(self) -> bool:
        """Whether the state is Running: not so while the job restarts, though some of its pods may run."""
        return self.state == "Running"


def overview(job: Json) -> Overview:
    """The row of a job of any kind in `SHOWN_RESOURCES`."""
    state, condition = _state_and_condition(job)
    metadata = job["metadata"]
    finished = None
    if state in FINISHED_STATES:
        finished = moment(job.get("status", {}).get("completionTime") or condition.get("lastTransitionTime"))
    return Overview(
        kind=job["kind"],
        namespace=metadata.get("namespace", ""),
        name=metadata["name"],
        uid=metadata.get("uid", ""),
        state=state,
        reason=condition.get("reason", ""),
        message=condition.get("message", ""),
        ranks=job_ranks(job),
        created=moment(metadata.get("creationTimestamp")),
        finished=finished,
    )


def job_state(job: Json) -> str:
    """The state of `overview`, without the rest: faster for thousands of jobs."""
    return _state_and_condition(job)[0]


def is_finished(job: Json) -> bool:
    """Whether the job has succeeded or failed; a suspended job is not finished."""
    return job_state(job) in FINISHED_STATES


def manager_of_others(job: Json) -> str:
    """The controller that `managedBy` leaves the job to; empty for one that is the operator's, or of Kubernetes, itself."""
    manager = str(run_policy(job).get("managedBy") or "")
    return "" if manager in (("", JOB_CONTROLLER) if is_native(job) else OWN_MANAGERS) else manager


def job_ranks(job: Json, *, without: Collection[str] = ()) -> int:
    """Pods that take part in the training when all are there, by the job alone; without those of some roles of a v1 job."""
    if is_native(job):
        return native_jobs.ranks(job)
    if is_v2(job):
        # Every shipped runtime has 1 node by default.
        return 1 if leaves_nodes_to_runtime(job) else int(job["spec"]["trainer"]["numNodes"])
    return sum(_replicas(job, role, spec) for role, spec in replica_specs(job).items() if role.lower() not in without)


def pod_selector(job: Json) -> str:
    """The label selector of a job's pods. Same-named jobs of two v1 kinds share it: compare `is_pod_of` as well."""
    name = job["metadata"]["name"]
    if is_native(job):
        return f"{native_jobs.JOB_NAME}={name}"
    return f"{V2_JOB}={name}" if is_v2(job) else f"{V1_JOB}={name}"


def is_pod_of(job: Json, pod: Json) -> bool:
    """Whether a pod that matches `pod_selector` belongs to this job and not to another, or an earlier one, of its name."""
    if is_v2(job):
        made, pod_made = (moment(obj["metadata"].get("creationTimestamp")) for obj in (job, pod))
        return made is None or pod_made is None or pod_made >= made - CLOCK_SKEW
    uid = job["metadata"].get("uid")
    return any(owner.get("uid") == uid for owner in pod["metadata"].get("ownerReferences", []))


def was_pod_of(job: Json, name: str, created: datetime | None) -> bool:
    """Whether a pod of this name, named by an event of that time, was this v1 job's. False for TrainJobs and Jobs, whose pod
    names may be those of other jobs."""
    begun = moment(job["metadata"].get("creationTimestamp"))
    if is_v2(job) or is_native(job) or begun is None or created is None or created < begun:
        return False
    roles = "|".join(re.escape(role.lower()) for role in replica_specs(job))
    return re.fullmatch(rf"{re.escape(job['metadata']['name'])}-({roles})(-\d+)?", name) is not None


def limits(job: Json) -> str:
    """The limits that may end the job: `backoffLimit 3, activeDeadlineSeconds 60`; empty when it has none."""
    policy = run_policy(job)
    return ", ".join(f"{field} {policy[field]}" for field in ("backoffLimit", "activeDeadlineSeconds") if field in policy)


def v1_ranks_before(job: Json, role: str) -> int:
    """How many ranks of a v1 job come before the first of this role."""
    place = _place(job, role)
    return sum(_replicas(job, name, spec) for name, spec in replica_specs(job).items() if _place(job, name.lower()) < place)


def is_v1(job: Json) -> bool:
    """Whether the job is neither of trainer.kubeflow.org nor of batch/v1: JSON without apiVersion counts as v1."""
    return not is_v2(job) and not is_native(job)


def is_v2(job: Json) -> bool:
    """Whether the job is of trainer.kubeflow.org, in any version."""
    return str(job.get("apiVersion", "")).startswith(_V2_GROUP)


def replica_specs(job: Json) -> Json:
    """The `<kind>ReplicaSpecs` of a v1 job, whatever its kind; empty when the field is absent or malformed."""
    for field, value in job.get("spec", {}).items():
        if field.endswith("ReplicaSpecs") and isinstance(value, dict):
            return {name: spec for name, spec in value.items() if isinstance(spec, dict)}
    return {}


def replica_fields(job: Json) -> list[tuple[str, int]]:
    """The fields of a v1 job that say how many pods its roles have, such as `spec.tfReplicaSpecs.PS.replicas`, with their values
    or defaults; none of other jobs."""
    return [
        (f"spec.{field}.{role}.replicas", _replicas(job, role, spec))
        for field, value in job.get("spec", {}).items()
        if field.endswith("ReplicaSpecs") and isinstance(value, dict)
        for role, spec in value.items()
        if isinstance(spec, dict)
    ]


def _replicas(job: Json, role: str, spec: Json) -> int:
    """The pods of one role, with the kind's default."""
    return int(spec.get("replicas", default_replicas(job["kind"], role)))


def default_replicas(kind: str, role: str) -> int:
    """The pods of a role of a v1 job that names no number."""
    return 0 if role in V1_IDLE_ROLES.get(kind, ()) else 1


def _place(job: Json, role: str) -> tuple[int, str]:
    """Where a role comes among those of its job; roles that the kind does not know come last, by name."""
    roles = V1_ROLES.get(job["kind"], [])
    return (roles.index(role), "") if role in roles else (len(roles), role)


def is_suspended(job: Json) -> bool:
    """Whether the job's own field says that it is not to run."""
    return bool(run_policy(job).get("suspend"))


def run_policy(job: Json) -> Json:
    """The object of a job's own that has suspend, managedBy, limits and the like: `spec.runPolicy` in
    kubeflow.org/v1, `spec` in all others."""
    spec: Json = job.get("spec") or {}
    return spec.get("runPolicy") or {} if is_v1(job) else spec


def ttl_seconds(job: Json) -> int | None:
    """After how many seconds a job that has ended is deleted; None for one that stays, as every TrainJob does."""
    seconds: int | None = None if is_v2(job) else run_policy(job).get("ttlSecondsAfterFinished")
    return seconds


def _state_and_condition(job: Json) -> tuple[str, Json]:
    if is_native(job):
        return native_jobs.state(job)
    return v2_state(job) if is_v2(job) else v1_state(job)


def v1_state(job: Json) -> tuple[str, Json]:
    """The first of `V1_STATES` whose condition is True, and that condition; Created and an empty one where none is."""
    return native_jobs.first_true(job, ((state, state) for state in V1_STATES)) or ("Created", {})


def v2_state(job: Json) -> tuple[str, Json]:
    """A job that runs no pods may have a condition `Created` that says what its objects wait for."""
    if reached := native_jobs.first_true(job, V2_STATES):
        return reached
    status = job.get("status", {})
    active = any(entry.get("active", 0) or entry.get("ready", 0) for entry in status.get("jobsStatus", []))
    waiting = (condition for condition in status.get("conditions", []) if condition["type"] == "Created")
    return ("Running", {}) if active else ("Created", next(waiting, {}))


def leaves_nodes_to_runtime(job: Json) -> bool:
    """Whether a TrainJob does not say by itself on how many nodes it trains."""
    return (job.get("spec", {}).get("trainer") or {}).get("numNodes") is None


def moment(text: str | None) -> datetime | None:
    """The time that RFC 3339 text such as `2026-11-21T10:00:00Z` says; None for none. ValueError for other text."""
    return times.moment(text) if text else None
