"""What the migration writes on objects, and reads there again."""

from __future__ import annotations

from collections.abc import Iterable

from shunter.api.meta import Json, annotations_of
from shunter.api.scheduling.kueue import QUEUE_LABEL
from shunter.migrate.conversion.cleaning import suspended
from shunter.migrate.conversion.provenance import SOURCE as SOURCE
from shunter.operator.causes.queue import queue_name

PLAN = "migrate.shunter.dev/plan"
"""Annotation on what a plan made: the plan's id. Who finds it knows whose write succeeded when its answer was lost."""
ACTION = "migrate.shunter.dev/action"
"""Annotation on a TrainJob: the action by which its plan made it, `create` or `move`. Who plans again goes on with it."""
COMPARED = "migrate.shunter.dev/compared"
"""Annotation on a TrainJob whose run was compared with that of its v1 job: `equal` or `within tolerance` when it passed."""
NOT_SEEN = "migrate.shunter.dev/not-seen"
"""Annotation beside `COMPARED`: what could not be seen of the runs."""
QUEUE = "migrate.shunter.dev/queue"
"""Annotation on a job: the queue that it gets, by its label, when it is to train. With the label Kueue would start it."""
PASSED = ("equal", "within tolerance")


def marked(obj: Json, annotations: dict[str, str]) -> Json:
    """A copy of the object with these annotations besides its own; they win over its own of the same key."""
    metadata = obj["metadata"]
    return {**obj, "metadata": {**metadata, "annotations": {**(metadata.get("annotations") or {}), **annotations}}}


def without_queue(obj: Json) -> Json:
    """The job without its queue, which an annotation keeps."""
    labels = {key: value for key, value in obj["metadata"]["labels"].items() if key != QUEUE_LABEL}
    metadata = {key: value for key, value in obj["metadata"].items() if key != "labels"} | ({"labels": labels} if labels else {})
    return marked({**obj, "metadata": metadata}, {QUEUE: queue_name(obj)})


def parked(job: Json) -> Json:
    """The job as one that runs nothing until somebody lets it: suspended, and in no queue, whose Kueue would resume it."""
    return without_queue(suspended(job)) if queue_name(job) else suspended(job)


def mark(obj: Json, annotation: str) -> str:
    """The value of one of our annotations; empty when it is not there."""
    return str(annotations_of(obj).get(annotation) or "")


def twins_of(plan_id: str, train_jobs: Iterable[Json]) -> dict[str, Json]:
    """The TrainJobs that a plan made, by the titles of their v1 jobs."""
    return {mark(job, SOURCE): job for job in train_jobs if mark(job, PLAN) == plan_id}
