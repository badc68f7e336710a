"""The Jobs of a JobSet: what each is created as."""

from __future__ import annotations

from typing import Any

import msgspec

from shunter.api.jobset import JobSet, ReplicatedJob
from shunter.api.meta import Json
from shunter.cluster.controllers.jobset.labels import identity, placement
from shunter.cluster.controllers.jobset.names import (
    EXCLUSIVE_TOPOLOGY,
    NAMESPACED_JOB,
    NO_SCHEDULE_TAINT,
    NODE_SELECTOR_STRATEGY,
    claim_name,
    has_host_names,
    job_name,
    owner,
    subdomain,
)


def jobs_of(jobset: Json) -> list[Json]:
    """All Jobs of the JobSet's current run, as they are sent to the API server, in the order of its replicated jobs.

    `jobset` is a JobSet as stored: admission has filled completionMode, restartPolicy and network (absent network counts as
    enabled). Policies that hold Jobs back (dependsOn, startupPolicy) are not applied.
    """
    view = msgspec.convert(jobset, JobSet)
    return [job_of(view, job, index) for job in view.spec.replicated_jobs for index in range(job.replicas)]


def job_of(jobset: JobSet, replicated_job: ReplicatedJob, index: int) -> Json:
    """One Job, labelled with its place, suspended if the JobSet is."""
    template_metadata: Json = replicated_job.template.get("metadata") or {}
    spec: Json = dict(replicated_job.template.get("spec") or {})
    pod_template: Json = spec.get("template") or {}
    pod_metadata: Json = pod_template.get("metadata") or {}
    pod_spec: Json = dict(pod_template.get("spec") or {})
    keys = identity(jobset, replicated_job, index)
    exclusive = placement(jobset, replicated_job)
    name = job_name(jobset, replicated_job.name, index)
    annotations = {**(template_metadata.get("annotations") or {}), **keys, **exclusive}
    if has_host_names(jobset):
        pod_spec["subdomain"] = subdomain(jobset)
    if EXCLUSIVE_TOPOLOGY in annotations and NODE_SELECTOR_STRATEGY in annotations:
        node = f"{jobset.metadata.namespace}_{name}"
        pod_spec["nodeSelector"] = {**(pod_spec.get("nodeSelector") or {}), NAMESPACED_JOB: node}
        toleration = {"key": NO_SCHEDULE_TAINT, "operator": "Exists", "effect": "NoSchedule"}
        pod_spec["tolerations"] = [*(pod_spec.get("tolerations") or []), toleration]
    if volumes := _claim_volumes(jobset, pod_spec):
        pod_spec["volumes"] = [*(pod_spec.get("volumes") or []), *volumes]
    spec["template"] = {
        **pod_template,
        "metadata": {
            **pod_metadata,
            "labels": {**(pod_metadata.get("labels") or {}), **keys},
            "annotations": {**(pod_metadata.get("annotations") or {}), **keys, **exclusive},
        },
        "spec": pod_spec,
    }
    spec["suspend"] = bool(jobset.spec.suspend)
    metadata: Json = {
        "name": name,
        "namespace": jobset.metadata.namespace,
        "labels": {**(template_metadata.get("labels") or {}), **keys},
        "annotations": annotations,
        "ownerReferences": [owner(jobset)],
    }
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}


def _claim_volumes(jobset: JobSet, pod_spec: Json) -> list[Json]:
    """Volumes for the claims of volumeClaimPolicies that some container mounts by the template's name."""
    mounted = {
        mount.get("name")
        for container in [*(pod_spec.get("containers") or []), *(pod_spec.get("initContainers") or [])]
        for mount in container.get("volumeMounts") or []
    }
    names: list[Any] = [
        (template.get("metadata") or {}).get("name", "")
        for policy in jobset.spec.volume_claim_policies
        for template in policy.templates
    ]
    return [{"name": name, "persistentVolumeClaim": {"claimName": claim_name(jobset, name)}} for name in names if name in mounted]
