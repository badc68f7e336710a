"""Which v1 jobs of a plan may be deleted: pure. Each has one of three ends that lose nothing.

compared   its TrainJob has trained to the end, and compares
finished   it has finished by itself: its manifest and its run are archived
waiting    it never ran, and its TrainJob, whose pods are proved to be those of v1, waits in its place
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from shunter.api.grouping import grouped_by
from shunter.api.meta import Json
from shunter.api.ownership import owner_of
from shunter.migrate.conversion.cleaning import digest
from shunter.migrate.moving.journal import Record
from shunter.migrate.moving.marks import COMPARED, NOT_SEEN, PASSED, mark, twins_of
from shunter.migrate.moving.origins import digests_by_suspension, is_planned_for
from shunter.migrate.moving.plan import Item, Plan
from shunter.migrate.moving.stand_ins import waits
from shunter.migrate.moving.steps import V1_JOBS, Step
from shunter.operator.overview import FINISHED_STATES, overview


class CleanupCandidate(NamedTuple):
    """`step` is None for a job that stays."""

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
    """What becomes of each v1 job of the plan that is still there. `records` are the journal's, `objections` those against
    TrainJobs that wait for jobs that never ran (`stand_ins`). With `i_know` it is enough that the TrainJob is there; a job that
    runs, and one that is not as it was planned for and as we left it, is deleted in no case."""
    twins = twins_of(plan.id, train_jobs)
    jobs = {f"{job['kind']} {job['metadata']['namespace']}/{job['metadata']['name']}": job for job in v1_jobs}
    written = grouped_by(records, lambda record: record.object)
    for item in plan.items:
        if (job := jobs.get(item.title)) is not None:
            ours = written.get((item.kind, item.namespace, item.name), ())
            yield _tidied(item, job, twins.get(item.title), ours, objections.get(item.title), i_know=i_know)


def _tidied(
    item: Item, job: Json, twin: Json | None, records: Sequence[Record], objection: str | None, *, i_know: bool
) -> CleanupCandidate:
    state = overview(job).state
    if another := _why_another(item, job, records):
        return CleanupCandidate(item.title, another)
    if owner := owner_of(job):
        return CleanupCandidate(item.title, f"it belongs to {owner}")
    if state not in (*FINISHED_STATES, "Suspended"):
        return CleanupCandidate(item.title, f"it is {state}")
    end = _finished(item, state, twin) if state in FINISHED_STATES else _unfinished(twin, objection)
    if not end.goes and not (i_know and (twin is not None or state in FINISHED_STATES)):
        return CleanupCandidate(item.title, end.why)
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
    return CleanupCandidate(item.title, end.why if end.goes else f"--i-know: {end.why}", step)


class _End(NamedTuple):
    goes: bool
    why: str


def _finished(item: Item, state: str, twin: Json | None) -> _End:
    """Of a v1 job that has finished nothing is left but its record, which is archived; but a TrainJob that trained is compared
    first, unless the plan says `archive`."""
    if item.action == "archive" or (twin is None and item.action != "leave"):
        return _End(True, f"it has finished ({state}); its record is archived")
    if twin is None:
        return _End(False, "the plan leaves it on v1; to delete it, set its action to archive")
    if waits(twin):
        return _End(True, f"it has finished ({state}), and TrainJob {twin['metadata']['name']} waits; its record is archived")
    return _compared(twin)


def _unfinished(twin: Json | None, objection: str | None) -> _End:
    if twin is None:
        return _End(False, "it has no TrainJob")
    if objection is None:
        return _compared(twin)
    waits = f"it never ran, and TrainJob {twin['metadata']['name']}, proved pod by pod, waits in its place"
    return _End(not objection, objection or waits)


def _compared(twin: Json) -> _End:
    name, state, verdict = twin["metadata"]["name"], overview(twin).state, mark(twin, COMPARED)
    if state != "Succeeded":
        return _End(False, f"TrainJob {name} is {state}, not Complete")
    if verdict not in PASSED:
        why = f"TrainJob {name} was compared: {verdict}" if verdict else f"TrainJob {name} was not compared (migrate compare)"
        return _End(False, why)
    unseen = f" (not seen: {mark(twin, NOT_SEEN)})" if mark(twin, NOT_SEEN) else ""
    return _End(True, f"its TrainJob is Complete, and compares{unseen}")


def _why_another(item: Item, job: Json, records: Sequence[Record]) -> str:
    """Why a job is not the one that was planned for; empty when it is. A rollback makes a job again under another uid."""
    if not is_planned_for(item, job, records):
        return "another job has that name since the plan was made; plan again"
    if not {*digests_by_suspension(job)} & {item.sha256, *(record.after for record in records)}:
        return "it was changed since the plan was made; plan again"
    return ""
