"""Reading the JobSet template of a runtime, which is plain JSON: what may be missing or null anywhere is read as empty."""

from __future__ import annotations

from shunter.api.meta import Json
from shunter.api.trainer.runtime import ANCESTOR_LABEL


def replicated_jobs(template: Json) -> list[Json]:
    """`spec.replicatedJobs` of a JobSet template, or of a patch to one."""
    return (template.get("spec") or {}).get("replicatedJobs") or []


def replicated_job(template: Json, name: str) -> Json | None:
    """The first of this name, itself and not a copy; None where there is none."""
    return next((job for job in replicated_jobs(template) if job.get("name") == name), None)


def ancestor(replicated_job: Json) -> str:
    """Which section of a TrainJob applies to this replicated job; empty for none."""
    metadata = (replicated_job.get("template") or {}).get("metadata") or {}
    step: str = (metadata.get("labels") or {}).get(ANCESTOR_LABEL, "")
    return step


def pod_spec(replicated_job: Json) -> Json:
    """The spec of its pods; an empty one, which is no part of the template, where it is missing."""
    job_spec = (replicated_job.get("template") or {}).get("spec") or {}
    spec: Json = (job_spec.get("template") or {}).get("spec") or {}
    return spec


def containers(replicated_job: Json) -> list[Json]:
    """The containers of its pods, without the init containers."""
    return pod_spec(replicated_job).get("containers") or []


def init_containers(replicated_job: Json) -> list[Json]:
    """The init containers of its pods, including sidecars."""
    return pod_spec(replicated_job).get("initContainers") or []


def container_names(replicated_job: Json) -> set[str]:
    """Names of its containers and init containers."""
    return {container.get("name", "") for container in [*containers(replicated_job), *init_containers(replicated_job)]}
