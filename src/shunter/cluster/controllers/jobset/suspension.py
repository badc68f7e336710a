"""suspend: a suspended JobSet suspends its Jobs; a resumed one gives them what its templates may have got meanwhile."""

from __future__ import annotations

from shunter.api.batch import Job
from shunter.api.jobset import ReplicatedJob
from shunter.api.meta import Json
from shunter.api.resources import JOBS
from shunter.cluster.controllers.jobset.progress import Progress
from shunter.kube.controllers.plan import Patch, Ref


def suspended(progress: Progress) -> Progress:
    """With the condition Suspended; a condition RestartingJobSet becomes False."""
    message = "jobset is suspended"
    progress = progress.condition("Suspended", True, "SuspendedJobs", message)
    return progress.condition("RestartingJobSet", False, "JobSetSuspended", message)


def resumed(progress: Progress) -> Progress:
    """A condition Suspended becomes False; a JobSet that was never suspended gets none."""
    return progress.condition("Suspended", False, "ResumeJobs", "jobset is resumed")


def suspensions(jobs: tuple[Job, ...]) -> tuple[Patch, ...]:
    """The writes that suspend the Jobs that are not."""
    return tuple(Patch(ref=Ref.of(JOBS, job.metadata), patch={"spec": {"suspend": True}}) for job in jobs if not job.spec.suspend)


def resumptions(job: Job, replicated_job: ReplicatedJob) -> tuple[Patch, ...]:
    """The writes that resume a suspended Job: labels, annotations, node selector, tolerations and scheduling gates of the
    template are merged into the Job's own. A Job's template can change only while it has no start time."""
    writes = []
    if job.status.start_time is not None:
        writes.append(Patch(ref=Ref.of(JOBS, job.metadata), patch={"status": {"startTime": None}}, subresource="status"))
    pods: Json = (replicated_job.template.get("spec") or {}).get("template") or {}
    metadata: Json = pods.get("metadata") or {}
    spec: Json = pods.get("spec") or {}
    own_spec: Json = job.spec.template.get("spec") or {}
    template: Json = {}
    if changed := {key: metadata[key] for key in ("labels", "annotations") if metadata.get(key)}:
        template["metadata"] = changed
    changed = {"nodeSelector": spec["nodeSelector"]} if spec.get("nodeSelector") else {}
    for field in ("tolerations", "schedulingGates"):
        if added := [item for item in spec.get(field) or [] if item not in (own_spec.get(field) or [])]:
            changed[field] = [*(own_spec.get(field) or []), *added]
    if changed:
        template["spec"] = changed
    desired: Json = {"suspend": False}
    if template:
        desired["template"] = template
    writes.append(Patch(ref=Ref.of(JOBS, job.metadata), patch={"spec": desired}))
    return tuple(writes)
