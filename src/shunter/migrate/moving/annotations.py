"""Annotations that the migration writes on objects and reads again."""

from __future__ import annotations

from collections.abc import Iterable

from shunter.api.meta import Json, annotations_of
from shunter.api.scheduling.kueue import QUEUE_LABEL
from shunter.migrate.conversion.cleaning import suspended
from shunter.migrate.conversion.provenance import SOURCE as SOURCE
from shunter.operator.causes.queue import queue_name

PLAN = "migrate.shunter.dev/plan"
"""On objects that a plan created: the plan's id. It shows that a write succeeded whose response was lost."""
ACTION = "migrate.shunter.dev/action"
"""On a TrainJob: the action by which its plan created it, `create` or `move`; a new plan continues with it."""
COMPARED = "migrate.shunter.dev/compared"
"""On a TrainJob: the result of the comparison with the run of its v1 job; a `run_verdicts.Verdict`."""
NOT_SEEN = "migrate.shunter.dev/not-seen"
"""With `COMPARED`: what could not be observed of the runs."""
QUEUE = "migrate.shunter.dev/queue"
"""On a job: the queue whose label it gets when it should train. With the label, Kueue would start it."""


def marked(obj: Json, annotations: dict[str, str]) -> Json:
    """A copy of the object with these annotations added; they replace existing ones of the same key."""
    metadata = obj["metadata"]
    return {**obj, "metadata": {**metadata, "annotations": {**(metadata.get("annotations") or {}), **annotations}}}


def without_queue(obj: Json) -> Json:
    """The job without its queue's label; an annotation has the queue."""
    labels = {key: value for key, value in obj["metadata"]["labels"].items() if key != QUEUE_LABEL}
    metadata = {key: value for key, value in obj["metadata"].items() if key != "labels"} | ({"labels": labels} if labels else {})
    return marked({**obj, "metadata": metadata}, {QUEUE: queue_name(obj)})


def suspended_without_queue(job: Json) -> Json:
    """The job suspended, and without its queue's label, so that Kueue does not resume it."""
    return without_queue(suspended(job)) if queue_name(job) else suspended(job)


def mark(obj: Json, annotation: str) -> str:
    """The value of an annotation; empty if there is none."""
    return str(annotations_of(obj).get(annotation) or "")


def created_train_jobs(plan_id: str, train_jobs: Iterable[Json]) -> dict[str, Json]:
    """The TrainJobs that a plan created, by the titles of their v1 jobs."""
    return {mark(job, SOURCE): job for job in train_jobs if mark(job, PLAN) == plan_id}
