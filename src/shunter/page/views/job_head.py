"""The head of the Job view: the row of the list, and what only this view shows. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from shunter.api.meta import Json, annotations_of
from shunter.api.ownership import owner_of
from shunter.jobs.differing_ranks import Difference
from shunter.jobs.logs.visible_text import visible
from shunter.launch.annotations import COMMIT, DIRTY, FABRIC, PROGRAM, RESUMED
from shunter.launch.checkpoints.location import checkpoint_location
from shunter.launch.tracking import tracked_run
from shunter.operator.causes.queue import queue_name
from shunter.operator.native_jobs import is_native
from shunter.operator.overview import is_v2, limits, moment, overview
from shunter.operator.restarts import Restarts, restarts
from shunter.page.links import links
from shunter.page.wire import Action, Condition, JobDetail, JobRow

MOST_DIFFERING = 50


class Context(NamedTuple):
    """What the head shows that is not in the job itself."""

    jobset: Json | None = None
    rank_restarts: int = 0
    """Sum over all ranks."""
    differing: Sequence[Difference] = ()
    actions: tuple[Action, ...] = ()
    kubectl: str = ""
    notes: tuple[tuple[str, str], ...] = ()
    """More facts: title and text."""


def job_detail(row: JobRow, job: Json, context: Context) -> JobDetail:
    """The head; `row` is the job's row in the list, with the cause that this view knows (`with_why`)."""
    counts = restarts(context.jobset) if context.jobset is not None else None
    differing = [f"{one.rank} {one.text}" for one in context.differing]
    if len(differing) > MOST_DIFFERING:
        differing = [*differing[:MOST_DIFFERING], f"and {len(differing) - MOST_DIFFERING} more"]
    return JobDetail(
        **{field: getattr(row, field) for field in JobRow.__struct_fields__},
        uid=job["metadata"]["uid"],
        resource_version=job["metadata"]["resourceVersion"],
        generation=job["metadata"].get("generation", 0),
        restarts=counts.used if counts is not None else context.rank_restarts,
        restart_limit=counts.most if counts is not None else _limit(job),
        message=visible(overview(job).message),
        facts=tuple((title, visible(text)) for title, text in (*_facts(job, counts), *context.notes) if text),
        conditions=tuple(_conditions(job)),
        links=links(job),
        actions=context.actions,
        kubectl=context.kubectl,
        differing=tuple(map(visible, differing)),
    )


def _limit(job: Json) -> int | None:
    """The limit of an Indexed Job. That of v1 jobs counts only restarts within the current pods, so it cannot be compared."""
    return job["spec"].get("backoffLimit") if is_native(job) else None


def _conditions(job: Json) -> Iterable[Condition]:
    for one in (job.get("status") or {}).get("conditions") or ():
        time = moment(one.get("lastTransitionTime"))
        yield Condition(
            type=visible(one["type"]),
            status=visible(one.get("status", "")),
            reason=visible(one.get("reason", "")),
            message=visible(one.get("message", "")),
            time=time.timestamp() if time is not None else 0,
        )


def _facts(job: Json, counts: Restarts | None) -> Iterator[tuple[str, str]]:
    annotations = annotations_of(job)
    yield "Limits", limits(job)
    yield "Restarts", str(counts or "")
    yield "Queue", queue_name(job)
    yield "Managed by", owner_of(job)
    if is_v2(job):
        reference = job["spec"].get("runtimeRef") or {}
        kind = reference.get("kind") or "ClusterTrainingRuntime"
        yield "Runtime", f"{reference.get('name', '')} ({kind})"
    yield "Program", annotations.get(PROGRAM, "")
    if commit := annotations.get(COMMIT):
        yield "Commit", f"{commit[:12]}{', with changes' if annotations.get(DIRTY) == 'true' else ''}"
    yield "Network", annotations.get(FABRIC, "")
    yield "Resumes", annotations.get(RESUMED, "")
    if is_v2(job):
        place = checkpoint_location(job)
        yield "Checkpoints", place.title if place is not None else ""
        run = tracked_run(job)
        yield "Training run", f"{run.run or 'unnamed'} in experiment {run.experiment}" if run is not None else ""


def with_why(row: JobRow, why: str, remedy: str) -> JobRow:
    """The row with the cause from this view's diagnosis, which has read more than the list."""
    return msgspec.structs.replace(row, why=visible(why), remedy=visible(remedy)) if why else row
