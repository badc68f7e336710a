"""Which v1 jobs of a plan may be deleted without loss, for one of three reasons. Pure.

compared   its TrainJob has succeeded, and the comparison of both runs has passed
finished   it has finished itself: its manifest and its run are archived
waiting    it never ran, and its suspended TrainJob, whose pods are proved equal to v1's, replaces it
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from shunter.api.grouping import grouped_by
from shunter.api.meta import Json
from shunter.api.ownership import owner_of
from shunter.api.titles import title_of
from shunter.migrate.moving.annotations import COMPARED, NOT_SEEN, created_train_jobs, mark
from shunter.migrate.moving.journal import Record
from shunter.migrate.moving.plan import Item, Plan
from shunter.migrate.moving.steps import V1_JOBS, Step, delete_step
from shunter.migrate.moving.v1_origins import digests_with_any_suspend, is_planned_for
from shunter.migrate.moving.waiting_train_jobs import waits
from shunter.migrate.run_verdicts import PASSED
from shunter.operator.overview import FINISHED_STATES, overview


class CleanupCandidate(NamedTuple):
    """A v1 job, and why it is deleted or kept; `step` is None if it is kept."""

    job: str
    why: str
    step: Step | None = None


def cleanup_candidates(
    plan: Plan,
    v1_jobs: Iterable[Json],
    train_jobs: Iterable[Json],
    records: Iterable[Record],
    *,
    objections: Mapping[str, str] = MappingProxyType({}),
    i_know: bool = False,
) -> Iterator[CleanupCandidate]:
    """Decides about each v1 job of the plan that still exists. `records` are the journal's; `objections` are those of
    `waiting_train_jobs` against TrainJobs of jobs that never ran. With `i_know` an existing TrainJob, or a finished v1 job, is
    enough. A running job, and one that others have changed or replaced since the plan was made, is never deleted."""
    created = created_train_jobs(plan.id, train_jobs)
    jobs = {title_of(job): job for job in v1_jobs}
    written = grouped_by(records, lambda record: record.object)
    for item in plan.items:
        if (job := jobs.get(item.title)) is not None:
            ours = written.get((item.kind, item.namespace, item.name), ())
            yield _candidate(item, job, created.get(item.title), ours, objections.get(item.title), i_know=i_know)


def _candidate(
    item: Item, job: Json, train_job: Json | None, records: Sequence[Record], objection: str | None, *, i_know: bool
) -> CleanupCandidate:
    state = overview(job).state
    if another := _why_another(item, job, records):
        return CleanupCandidate(item.title, another)
    if owner := owner_of(job):
        return CleanupCandidate(item.title, f"it belongs to {owner}")
    if state not in (*FINISHED_STATES, "Suspended"):
        return CleanupCandidate(item.title, f"it is {state}")
    decision = _finished(item, state, train_job) if state in FINISHED_STATES else _unfinished(train_job, objection)
    if not decision.deletes and not (i_know and (train_job is not None or state in FINISHED_STATES)):
        return CleanupCandidate(item.title, decision.why)
    step = delete_step(V1_JOBS[item.kind], job, job=item.title)
    return CleanupCandidate(item.title, decision.why if decision.deletes else f"--i-know: {decision.why}", step)


class _CleanupDecision(NamedTuple):
    deletes: bool
    why: str


def _finished(item: Item, state: str, train_job: Json | None) -> _CleanupDecision:
    """A finished v1 job is deleted and its record archived, but a TrainJob that trained is compared first, unless the plan's
    action is `archive`."""
    if item.action == "archive" or (train_job is None and item.action != "leave"):
        return _CleanupDecision(True, f"it has finished ({state}); its record is archived")
    if train_job is None:
        return _CleanupDecision(False, "the plan leaves it on v1; to delete it, set its action to archive")
    if waits(train_job):
        return _CleanupDecision(
            True, f"it has finished ({state}), and TrainJob {train_job['metadata']['name']} waits; its record is archived"
        )
    return _compared(train_job)


def _unfinished(train_job: Json | None, objection: str | None) -> _CleanupDecision:
    if train_job is None:
        return _CleanupDecision(False, "it has no TrainJob")
    if objection is None:
        return _compared(train_job)
    replaced = f"it never ran, and TrainJob {train_job['metadata']['name']}, proved pod by pod, waits in its place"
    return _CleanupDecision(not objection, objection or replaced)


def _compared(train_job: Json) -> _CleanupDecision:
    name, state, verdict = train_job["metadata"]["name"], overview(train_job).state, mark(train_job, COMPARED)
    if state != "Succeeded":
        return _CleanupDecision(False, f"TrainJob {name} is {state}, not Complete")
    if verdict not in PASSED:
        why = f"TrainJob {name} was compared: {verdict}" if verdict else f"TrainJob {name} was not compared (migrate compare)"
        return _CleanupDecision(False, why)
    unobserved = f" (not seen: {mark(train_job, NOT_SEEN)})" if mark(train_job, NOT_SEEN) else ""
    return _CleanupDecision(True, f"its TrainJob is Complete, and compares{unobserved}")


def _why_another(item: Item, job: Json, records: Sequence[Record]) -> str:
    """Why a job is not the one that was planned; empty when it is. A rollback recreates a job with another uid."""
    if not is_planned_for(item, job, records):
        return "another job has taken that name since the plan was created; plan again"
    if not {*digests_with_any_suspend(job)} & {item.sha256, *(record.after for record in records)}:
        return "it was changed after the plan was created; plan again"
    return ""
