"""The HorizontalPodAutoscaler of an elastic job with metrics: it changes the workers' number by the scale subresource.

Its status changes all the time, so changes of it wake no job: what others wrote into it is corrected with the next event
of the job. Its deletion does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from shunter.api.formats.quantity import parse
from shunter.api.meta import Json, ObjectMeta, Struct
from shunter.api.resources import HORIZONTAL_POD_AUTOSCALERS, Resource
from shunter.kube.cache.mapping import to_controller
from shunter.kube.controllers.plan import Create, Delete, Key, Patch, Ref, Write
from shunter.kube.merge_patch import difference
from shunter.operator.training.job import AnyJob

if TYPE_CHECKING:  # it imports asyncio, which a conversion, that asks this module too, has no need of
    from shunter.kube.cache.informer import Handler


class Autoscaler(Struct, frozen=True):
    """The autoscaler of the job's name, whatever its owner."""

    metadata: ObjectMeta
    spec: Json = {}


def synced(job: AnyJob, present: Autoscaler | None) -> list[Write]:
    """Creates, updates or deletes the job's autoscaler. One of the same name with another owner is left alone: it may scale this
    job too."""
    if job.autoscaling is None:
        return list(removed(job, present))
    desired = desired_spec(job)
    resource = HORIZONTAL_POD_AUTOSCALERS

    if present is None:
        metadata = {"name": job.name, "namespace": job.namespace, "ownerReferences": [job.owner_reference]}
        failed = job.note("Warning", f"Failed{resource.kind}Creation", "Error creating: {error}")
        return [Create(resource=resource, body=resource.typed({"metadata": metadata, "spec": desired}), failed=failed)]
    if not present.metadata.is_controlled_by(job.metadata.uid) or _same(present.spec, desired):
        return []
    patch = {"spec": difference(present.spec, desired)}
    failed = job.note("Warning", f"Failed{resource.kind}Update", "Error updating: {error}")
    return [Patch(ref=_ref(job, present), patch=patch, failed=failed)]


def removed(job: AnyJob, present: Autoscaler | None) -> list[Delete]:
    """Deletes the job's autoscaler: a job without pods is not scaled, nor is one that is over."""
    if (
        present is None
        or not present.metadata.is_controlled_by(job.metadata.uid)
        or present.metadata.deletion_timestamp is not None
    ):
        return []
    return [Delete(ref=_ref(job, present))]


def waking(primary: Resource, add: Callable[[Key], None]) -> Handler[Autoscaler]:
    """An informer's handler that adds the job whose autoscaler was deleted."""
    job_of = to_controller(primary)

    def deleted(old: Autoscaler | None, new: Autoscaler | None) -> None:
        if old is not None and new is None:
            for key in job_of(old):
                add(key)

    return deleted


def desired_spec(job: AnyJob) -> Json:
    """What the job's elastic policy says."""
    policy = job.autoscaling
    assert policy is not None
    bounds = {"minReplicas": policy.min_replicas, "maxReplicas": policy.max_replicas}
    return {
        "scaleTargetRef": {"apiVersion": job.resource.api_version, "kind": job.kind, "name": job.name},
        **{field: value for field, value in bounds.items() if value is not None},
        "metrics": list(policy.metrics),
    }


def _ref(job: AnyJob, present: Autoscaler) -> Ref:
    return Ref(HORIZONTAL_POD_AUTOSCALERS, job.namespace, job.name, present.metadata.uid)


def _same(present: Any, desired: Any) -> bool:
    """Whether two specs say the same; the API server writes quantities in its own form."""
    if isinstance(present, dict) and isinstance(desired, dict):
        return present.keys() == desired.keys() and all(
            _same_quantity(present[key], desired[key]) if key in ("averageValue", "value") else _same(present[key], desired[key])
            for key in desired
        )
    if isinstance(present, list) and isinstance(desired, list):
        return len(present) == len(desired) and all(map(_same, present, desired))
    return bool(present == desired)


def _same_quantity(present: Any, desired: Any) -> bool:
    try:
        return parse(present) == parse(desired)
    except ValueError:
        return False
