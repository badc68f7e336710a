"""What every Job and pod of a JobSet says about its place in it: the same keys as labels and as annotations."""

from __future__ import annotations

import hashlib

from shunter.api.jobset import JOBSET_NAME, REPLICATED_JOB, JobSet, ReplicatedJob
from shunter.api.meta import Json
from shunter.cluster.controllers.jobset.names import (
    EXCLUSIVE_TOPOLOGY,
    NODE_SELECTOR_STRATEGY,
    PREFIX,
    RESTART_ATTEMPT,
    coordinator_endpoint,
    job_name,
)


def identity(jobset: JobSet, replicated_job: ReplicatedJob, index: int) -> dict[str, str]:
    """The keys of the Job with this index. Indexes count within the replicated job, the JobSet and the group."""
    group = [other for other in jobset.spec.replicated_jobs if other.group_name == replicated_job.group_name]
    name = f"{jobset.metadata.namespace}/{job_name(jobset, replicated_job.name, index)}"
    keys = {
        JOBSET_NAME: jobset.metadata.name,
        PREFIX + "jobset-uid": jobset.metadata.uid,
        REPLICATED_JOB: replicated_job.name,
        RESTART_ATTEMPT: str(jobset.status.restarts),
        PREFIX + "replicatedjob-replicas": str(replicated_job.replicas),
        PREFIX + "global-replicas": str(sum(other.replicas for other in jobset.spec.replicated_jobs)),
        PREFIX + "job-index": str(index),
        PREFIX + "job-key": hashlib.sha1(name.encode(), usedforsecurity=False).hexdigest(),
        PREFIX + "job-global-index": str(_before(replicated_job, jobset.spec.replicated_jobs) + index),
        PREFIX + "group-name": replicated_job.group_name,
        PREFIX + "group-replicas": str(sum(other.replicas for other in group)),
        PREFIX + "job-group-index": str(_before(replicated_job, group) + index),
    }
    if endpoint := coordinator_endpoint(jobset):
        keys[PREFIX + "coordinator"] = endpoint
    return keys


def placement(jobset: JobSet, replicated_job: ReplicatedJob) -> dict[str, str]:
    """Annotations that ask for one Job per topology domain, from the JobSet or (stronger) from the replicated job."""
    annotations: dict[str, str] = {}
    metadata: Json = replicated_job.template.get("metadata") or {}
    for source in (jobset.metadata.annotations, metadata.get("annotations") or {}):
        if EXCLUSIVE_TOPOLOGY in source:
            annotations |= {key: source[key] for key in (EXCLUSIVE_TOPOLOGY, NODE_SELECTOR_STRATEGY) if key in source}
    return annotations


def _before(replicated_job: ReplicatedJob, others: list[ReplicatedJob] | tuple[ReplicatedJob, ...]) -> int:
    """Jobs of the replicated jobs listed before this one."""
    total = 0
    for other in others:
        if other.name == replicated_job.name:
            break
        total += other.replicas
    return total
