"""When a suspended JobSet may go on, and whether it can go on as it is.

A suspended Job deletes its pods, and makes new ones as soon as it is resumed, be the old ones gone or not: for up to their grace
period two processes of one rank write one checkpoint. So a JobSet is resumed when its Jobs count no pod any more.

JobSet merges node selectors, tolerations and scheduling gates into the Jobs that it resumes, and takes none out: a job that comes
back on other nodes keeps the selector of those before. Only a new JobSet is rid of it. The number of its pods is immutable, too:
a job with another numNodes gets a new JobSet.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from shunter.api.jobset import end_of
from shunter.api.meta import Condition, Json
from shunter.api.trainer.trainjob import TrainJob
from shunter.operator.trainer.obstacles import not_created
from shunter.operator.trainer.views import JobOfSet, LiveJobSet

KEPT_PLACEMENT = "KeptPlacement"
"""The condition of a job whose pods are still bound to where they were to run before."""
_JOBSET_OWN = "alpha.jobset.sigs.k8s.io/"
"""Selectors and tolerations that JobSet adds by itself (exclusive placement)."""


def waits_for(jobset: LiveJobSet, jobs: Iterable[JobOfSet]) -> str:
    """Why the JobSet may not be resumed yet; empty when it may."""
    if jobset.metadata.deletion_timestamp is not None:
        return "its JobSet is being deleted"
    unstopped = sorted(job.metadata.name for job in jobs if not _is_stopped(job))
    if unstopped:
        return f"Job {unstopped[0]} may still have pods"
    # The Jobs that were seen may be older than what the JobSet says.
    active = sorted(entry.name for entry in jobset.status.replicated_jobs_status if entry.active)
    return f"Jobs of {active[0]} may still have pods" if active else ""


def _is_stopped(job: JobOfSet) -> bool:
    if _is_finished(job):
        return True
    if job.metadata.deletion_timestamp is not None:
        return False
    # The condition is set by the look that deletes the pods and counts them as terminating.
    return job.spec.suspend and job.has("Suspended") and not job.status.active and not job.status.terminating


def _is_finished(job: JobOfSet) -> bool:
    return job.has("Complete") or job.has("Failed")


def waiting(jobset: LiveJobSet, why: str) -> str:
    """The message of the job's conditions while it waits."""
    return f"{jobset.metadata.name} starts again when nothing of its last run is left: {why}"


def kept_placement(jobs: Iterable[JobOfSet], desired: Json) -> list[str]:
    """What unfinished Jobs would keep of earlier placements if the JobSet `desired` resumed them: `nodeSelector gpu=a100`."""
    desired_pods = {
        replicated["name"]: ((replicated.get("template") or {}).get("spec") or {}).get("template") or {}
        for replicated in desired["spec"].get("replicatedJobs") or []
    }
    found: dict[str, None] = {}
    for job in jobs:
        pods = desired_pods.get(job.replicated_job)
        if pods is not None and not _is_finished(job):
            found |= dict.fromkeys(_kept(job, pods.get("spec") or {}))
    return sorted(found)


def _kept(job: JobOfSet, desired: Json) -> Iterator[str]:
    own = job.spec.template.spec
    selector = desired.get("nodeSelector") or {}
    for key, value in own.node_selector.items():
        if key not in selector and not key.startswith(_JOBSET_OWN):
            yield f"nodeSelector {key}={value}"
    for toleration in _beyond(own.tolerations, desired.get("tolerations")):
        if not toleration.get("key", "").startswith(_JOBSET_OWN):
            yield f"toleration of {toleration.get('key') or 'all taints'}"
    for gate in _beyond(own.scheduling_gates, desired.get("schedulingGates")):
        yield f"schedulingGate {gate.get('name', '')}"


def _beyond(own: Sequence[Json], desired: Any) -> Iterator[Json]:
    """Compared without what is empty, which Jobs are stored without."""
    kept = [_filled(item) for item in desired or []]
    return (item for item in own if _filled(item) not in kept)


def _filled(item: Json) -> Json:
    return {name: value for name, value in item.items() if value not in (None, "")}


def has_other_nodes(job: TrainJob, jobset: LiveJobSet, desired: Json) -> bool:
    """Whether the job was given another number of nodes than its unfinished JobSet has. Only the job's own `numNodes` counts: a
    runtime whose number changes must not stop jobs that run."""
    if job.spec.trainer is None or job.spec.trainer.num_nodes is None:
        return False
    if end_of(jobset.status.conditions) is not None:
        return False
    present = {one.name: one.template.spec.parallelism for one in jobset.spec.replicated_jobs}
    return any(
        present[one["name"]] not in (None, one["template"]["spec"]["parallelism"])
        for one in desired["spec"].get("replicatedJobs") or []
        if one["name"] in present
    )


def claims_condition(jobset: LiveJobSet) -> Condition:
    """The condition of a job that cannot have another number of nodes, since its JobSet's claims would go with the JobSet."""
    return not_created(
        "ClaimsInTheWay",
        f"spec.trainer.numNodes is not that of JobSet {jobset.metadata.name}, which cannot be recreated: its "
        f"volumes (volumeClaimPolicies) would be deleted. Set the previous number, or create the TrainJob "
        f"again.",
    )


def losses(jobset: LiveJobSet, jobs: Iterable[JobOfSet]) -> str:
    """What would be lost if the JobSet were recreated; empty when nothing would."""
    if jobset.spec.volume_claim_policies:
        return "its volumes would go with it"
    if jobset.status.restarts or any(entry.job_restarts for entry in jobset.status.replicated_jobs_status):
        return "its restarts would no longer count"
    for job in sorted(jobs, key=lambda job: job.metadata.name):
        if job.status.succeeded or _is_finished(job):
            return f"what the Job {job.metadata.name} has done would be done again"
        if job.status.failed:
            return f"the failures of the Job {job.metadata.name} would no longer count"
    return ""


def keeps_placement(jobset: LiveJobSet, kept: Sequence[str], reason: str) -> Condition:
    """The condition KeptPlacement."""
    name, namespace = jobset.metadata.name, jobset.metadata.namespace
    return Condition(
        type=KEPT_PLACEMENT,
        status="True",
        reason="JobSetMergesPlacement",
        message=f"New pods keep the settings from before the suspension: {', '.join(kept)}. JobSet removes nothing "
        f"from its Jobs, and this one is not recreated automatically, as {reason}. To recreate it anyway: "
        f"kubectl delete jobset {name} "
        f"-n {namespace} --cascade=foreground",
    )
