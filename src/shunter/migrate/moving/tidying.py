"""Which v1 jobs of a plan may be deleted: those whose TrainJobs have trained to the end, with results that compare. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from shunter.api.meta import Json
from shunter.api.ownership import owner_of
from shunter.migrate.backup.cleaning import digest
from shunter.migrate.moving.journal import Record
from shunter.migrate.moving.marks import COMPARED, PASSED, mark, twins_of
from shunter.migrate.moving.origins import digests_by_suspension, is_planned_for
from shunter.migrate.moving.plan import Item, Plan
from shunter.migrate.moving.steps import V1_JOBS, Step
from shunter.operator.overview import FINISHED_STATES, overview


class Tidying(NamedTuple):
    """`step` is None for a job that stays."""

    job: str
    why: str
    step: Step | None = None


def tidied(
    plan: Plan, v1_jobs: Iterable[Json], train_jobs: Iterable[Json], records: Iterable[Record], *, i_know: bool = False
) -> Iterator[Tidying]:
    """What becomes of each v1 job of the plan that is still there; `records` are the journal's. With `i_know` it is enough that
    the TrainJob is there, or that the v1 job has finished; one that runs, and one that is not as it was planned for and as we
    left it, is deleted in no case."""
    twins = twins_of(plan.id, train_jobs)
    jobs = {f"{job['kind']} {job['metadata']['namespace']}/{job['metadata']['name']}": job for job in v1_jobs}
    written: dict[tuple[str, str, str], list[Record]] = {}
    for record in records:
        written.setdefault(record.object, []).append(record)
    for item in plan.items:
        if (job := jobs.get(item.title)) is not None:
            ours = written.get((item.kind, item.namespace, item.name), ())
            yield _tidied(item, job, twins.get(item.title), ours, i_know=i_know)


def _tidied(item: Item, job: Json, twin: Json | None, records: Sequence[Record], *, i_know: bool) -> Tidying:
    state = overview(job).state
    if another := _why_another(item, job, records):
        return Tidying(item.title, another)
    if owner := owner_of(job):
        return Tidying(item.title, f"it belongs to {owner}")
    if state not in (*FINISHED_STATES, "Suspended"):
        return Tidying(item.title, f"it is {state}")
    if twin is None and not (i_know and state in FINISHED_STATES):
        return Tidying(item.title, "it has no TrainJob" + ("; it is its only record" if state in FINISHED_STATES else ""))
    why = _why_not_proved(twin)
    if why and not i_know:
        return Tidying(item.title, why)
    resource, metadata = V1_JOBS[item.kind], job["metadata"]
    step = Step(
        f"delete {item.title} {metadata['uid']}",
        "delete",
        resource,
        item.namespace,
        item.name,
        sha256=digest(job),
        uid=metadata["uid"],
        job=item.title,
    )
    return Tidying(item.title, (why and f"--i-know: {why}") or "its TrainJob is Complete, and compares", step)


def _why_another(item: Item, job: Json, records: Sequence[Record]) -> str:
    """Why a job is not the one that was planned for; empty when it is. A rollback makes a job again under another uid."""
    if not is_planned_for(item, job, records):
        return "another job has that name since the plan was made; plan again"
    if not {*digests_by_suspension(job)} & {item.sha256, *(record.after for record in records)}:
        return "it was changed since the plan was made; plan again"
    return ""


def _why_not_proved(twin: Json | None) -> str:
    if twin is None:
        return "it has no TrainJob"
    name, state = twin["metadata"]["name"], overview(twin).state
    if state != "Succeeded":
        return f"TrainJob {name} is {state}, not Complete"
    verdict = mark(twin, COMPARED)
    if verdict not in PASSED:
        return f"TrainJob {name} was compared: {verdict}" if verdict else f"TrainJob {name} was not compared (migrate compare)"
    return ""
