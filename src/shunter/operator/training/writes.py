"""The engine's writes of pods and services, each with the events that upstream records for it."""

from __future__ import annotations

from shunter.api.core import Pod, Service
from shunter.api.meta import Json
from shunter.api.resources import Resource
from shunter.kube.controllers.plan import Create, Delete, Ref
from shunter.operator.training.job import AnyJob


def creation(job: AnyJob, resource: Resource, body: Json) -> Create:
    """With the event SuccessfulCreatePod or FailedCreatePod about the job, or the same for a service."""
    return Create(
        resource=resource,
        body=body,
        succeeded=job.note("Normal", f"SuccessfulCreate{resource.kind}", f"Created {resource.kind.lower()}: {{name}}"),
        failed=job.note("Warning", f"FailedCreate{resource.kind}", "Error creating: {error}"),
    )


def deletion(job: AnyJob, resource: Resource, obj: Pod | Service) -> Delete:
    """Deletes this object and no later one of its name; with the event SuccessfulDeletePod or FailedDeletePod about the job, or
    the same for a service."""
    done = f"Deleted {resource.kind.lower()}: {obj.metadata.name}"
    return Delete(
        ref=Ref.of(resource, obj.metadata),
        succeeded=job.note("Normal", f"SuccessfulDelete{resource.kind}", done),
        failed=job.note("Warning", f"FailedDelete{resource.kind}", "Error deleting: {error}"),
    )
