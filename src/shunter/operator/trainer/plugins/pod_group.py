"""What the PodGroups of all gang schedulers have in common: all pods of the job, and what they ask for together."""

from __future__ import annotations

import msgspec

from shunter.api.meta import Json
from shunter.api.resources import Resource
from shunter.api.scheduling.pod_requests import PodRequests, total
from shunter.operator.trainer.model import BuildError, Model, PodSet
from shunter.operator.trainer.plugin import Companion

FIELDS = (
    "minMember",
    "minResources",
    "scheduleTimeoutSeconds",
    "queue",
    "priorityClassName",
    "networkTopology",
)
"""The fields of a PodGroup's spec that are ours to set; a scheduler may add others."""


def is_as_desired(desired: Json, present: Json) -> bool:
    """Whether the spec of a PodGroup says what it should, and nothing of ours beside it."""
    return all(desired.get(field) == present.get(field) for field in FIELDS)


def pod_group(model: Model, resource: Resource, spec: Json) -> Json:
    """The group of all pods, initializers and launcher included; `spec` is what the scheduler wants to know beside that."""
    members = sum(pods.count for pods in model.pod_sets)
    return Companion(resource).object(model.job, spec={"minMember": members, "minResources": _resources(model), **spec})


def _resources(model: Model) -> Json:
    try:
        return {**total([(_requests(pods), pods.count) for pods in model.pod_sets])}
    except (msgspec.ValidationError, ValueError) as error:
        raise BuildError(
            f"spec.template of the runtime: what its pods request cannot be read: {error}", "Correct its resources."
        ) from error


def _requests(pods: PodSet) -> PodRequests:
    spec = {**(pods.template.get("spec") or {}), "containers": pods.containers, "initContainers": pods.init_containers}
    return msgspec.convert(spec, PodRequests)
