"""Jobs of Kubernetes itself (batch/v1) that number their pods: what people train with where there is no operator. The index of a
pod is its rank. Pure; input is plain JSON.

Nothing is done for them, they are only shown: their controller is Kubernetes' own.
"""

from __future__ import annotations

from collections.abc import Iterable

from shunter.api.jobset import JOBSET_NAME
from shunter.api.meta import Json
from shunter.api.ownership import controller_reference
from shunter.api.resources import JOBS

JOB_NAME = "batch.kubernetes.io/job-name"
NOT_OF_JOBSETS = f"!{JOBSET_NAME}"
"""Selects Jobs that are not a part of a JobSet, and so of no TrainJob."""
ENDS = (("Complete", "Succeeded"), ("Failed", "Failed"), ("Suspended", "Suspended"))
"""Condition types, and the states that they name."""

_API_VERSION = JOBS.api_version


def is_native(job: Json) -> bool:
    """Whether the object is of batch/v1; its kind is not looked at."""
    return job.get("apiVersion") == _API_VERSION


def has_ranks(job: Json) -> bool:
    """Whether the Job numbers its pods."""
    return (job.get("spec") or {}).get("completionMode") == "Indexed"


def is_standalone(job: Json) -> bool:
    """Whether nothing but a CronJob made it: a Job that a JobSet, or another operator, controls is a part of what people made."""
    owner = controller_reference(job)
    return owner is None or owner["kind"] == "CronJob"


def first_true(job: Json, states: Iterable[tuple[str, str]]) -> tuple[str, Json] | None:
    """The first of the states, each after the type of its condition, whose condition is True, and that condition."""
    conditions = {condition["type"]: condition for condition in (job.get("status") or {}).get("conditions") or ()}
    for type, state in states:
        if conditions.get(type, {}).get("status") == "True":
            return state, conditions[type]
    return None


def state(job: Json) -> tuple[str, Json]:
    """The state by the words of the other kinds, and the condition that says so."""
    if ended := first_true(job, ENDS):
        return ended
    status = job.get("status") or {}
    runs = any(status.get(count, 0) for count in ("ready", "succeeded", "failed"))
    return ("Running" if runs else "Created"), {}


def ranks(job: Json) -> int:
    """The indexes that it gives out. A smaller spec.parallelism lets fewer of them run at a time."""
    return int(job["spec"].get("completions") or 1)


def pods_at_once(job: Json, done: int = 0) -> int:
    """How many of its pods may run at a time, when so many have succeeded; also of a Job that does not number its pods."""
    spec = job.get("spec") or {}
    parallelism = int(1 if spec.get("parallelism") is None else spec["parallelism"])
    return min(parallelism, int(spec.get("completions") or parallelism) - done)
