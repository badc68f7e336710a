"""The engine's writes, each with the event that upstream records for it."""

from __future__ import annotations

from shunter.api.core import Pod, Service
from shunter.api.meta import Json
from shunter.api.resources import PODS, SERVICES
from shunter.kube.controllers.plan import Create, Delete, Note, Ref


def create_pod(job: Ref, body: Json) -> Create:
    """With the event SuccessfulCreatePod or FailedCreatePod about the job."""
    return Create(
        resource=PODS,
        body=body,
        succeeded=Note(regarding=job, type="Normal", reason="SuccessfulCreatePod", message="Created pod: {name}"),
        failed=Note(regarding=job, type="Warning", reason="FailedCreatePod", message="Error creating: {error}"),
    )


def create_service(job: Ref, body: Json) -> Create:
    """With the event SuccessfulCreateService or FailedCreateService about the job."""
    return Create(
        resource=SERVICES,
        body=body,
        succeeded=Note(regarding=job, type="Normal", reason="SuccessfulCreateService", message="Created service: {name}"),
        failed=Note(regarding=job, type="Warning", reason="FailedCreateService", message="Error creating: {error}"),
    )


def delete_pod(job: Ref, pod: Pod) -> Delete:
    """Of this pod and no later one of its name; with the event SuccessfulDeletePod or FailedDeletePod about the job."""
    return Delete(
        ref=Ref.of(PODS, pod.metadata),
        succeeded=Note(regarding=job, type="Normal", reason="SuccessfulDeletePod", message=f"Deleted pod: {pod.metadata.name}"),
        failed=Note(regarding=job, type="Warning", reason="FailedDeletePod", message="Error deleting: {error}"),
    )


def delete_service(job: Ref, service: Service) -> Delete:
    """Of this service and no later one of its name; with the event SuccessfulDeleteService or FailedDeleteService about the
    job."""
    return Delete(
        ref=Ref.of(SERVICES, service.metadata),
        succeeded=Note(
            regarding=job, type="Normal", reason="SuccessfulDeleteService", message=f"Deleted service: {service.metadata.name}"
        ),
        failed=Note(regarding=job, type="Warning", reason="FailedDeleteService", message="Error deleting: {error}"),
    )
