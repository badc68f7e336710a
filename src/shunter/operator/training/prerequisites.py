"""What a new job must have before its pods are made: its autoscaler and its PodGroup.

When the API server refuses one of them (bounds that cannot be met, a closed queue, a missing right), a new job waits and says so.
A job that has started goes on: what may be refused comes last then, as nothing after a refused write is sent.
"""

from __future__ import annotations

from collections.abc import Iterable

from shunter.api.meta import condition_of
from shunter.api.resources import HORIZONTAL_POD_AUTOSCALERS
from shunter.api.scheduling.podgroups import COSCHEDULING_POD_GROUPS, VOLCANO_POD_GROUPS
from shunter.kube.controllers.plan import Create, Failure, Patch, Write
from shunter.operator.training.observed import Observed
from shunter.operator.training.progress import Progress

REASONS = {
    HORIZONTAL_POD_AUTOSCALERS: "AutoscalerRefused",
    VOLCANO_POD_GROUPS: "PodGroupRefused",
    COSCHEDULING_POD_GROUPS: "PodGroupRefused",
}
"""Why a job has no pods, after its kind: the reason of its condition Created."""


def has_started(observed: Observed) -> bool:
    """Whether the job has pods, or had some."""
    return bool(observed.children.pods) or observed.job.status.start_time is not None


def in_order(observed: Observed, prerequisites: list[Write], others: Iterable[Write]) -> list[Write]:
    """All these writes: the prerequisites first for a new job, and last for one that has started."""
    return [*others, *prerequisites] if has_started(observed) else [*prerequisites, *others]


def is_prerequisite(write: object) -> bool:
    """Whether this makes or changes a prerequisite."""
    return _reason(write) != ""


def waiting(observed: Observed, progress: Progress, failure: Failure) -> Progress:
    """The condition Created says which prerequisite was refused, and why."""
    job, reason = observed.job, _reason(failure.write)
    message = f"{job.kind} {job.name} has no pods yet: {failure.message}"
    created = condition_of(progress.observed.conditions, "Created")
    if created is not None and created.message == message:
        return progress
    return progress.without("Created").condition("Created", message, cause=reason, status="False")


def _reason(write: object) -> str:
    match write:
        case Create():
            return REASONS.get(write.resource, "")
        case Patch():
            return REASONS.get(write.ref.resource, "")
        case _:
            return ""
