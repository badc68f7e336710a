"""The progress of a plan: each job, its TrainJob, the next step, and how much of v1 is left. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Literal, NamedTuple

import msgspec

from shunter.api.grouping import grouped_by
from shunter.api.meta import Json, Struct
from shunter.api.resources import TRAIN_JOBS
from shunter.api.scheduling.kueue import QUEUE_LABEL
from shunter.api.titles import title_of
from shunter.migrate.moving.annotations import COMPARED, QUEUE, created_train_jobs, mark
from shunter.migrate.moving.journal import Record
from shunter.migrate.moving.plan import Item, Plan
from shunter.migrate.moving.rollback_decisions import was_started
from shunter.migrate.moving.steps import step_title
from shunter.migrate.run_verdicts import PASSED
from shunter.operator.causes.queue import queue_name
from shunter.operator.overview import FINISHED_STATES, overview

Stage = Literal["to do", "half done", "made", "running", "finished", "compared", "not moved", "gone"]

Past = Literal["", "interrupted", "made", "started"]
"""The state of a job by the journal: nothing done, a step interrupted, its TrainJob created, or created and started."""


class Row(Struct, frozen=True):
    """The progress of one job of the plan."""

    job: str
    wave: str
    action: str
    v1: str
    """The v1 job's state; `gone` if it does not exist."""
    train_job: str = msgspec.field(name="twin")
    """The TrainJob's name and state; empty if there is none."""
    stage: Stage
    next: str
    """The next step, as a sentence."""
    command: str
    """The command of `shunter migrate` for it; empty if there is none."""
    is_done: bool
    """Whether only the cleanup is left."""


class Progress(Struct, frozen=True):
    """The progress of all jobs of the plan. `stages` and `left` are numbers of jobs."""

    rows: tuple[Row, ...]
    stages: dict[str, int]
    left: dict[str, int]
    """Existing v1 jobs, by state."""
    unplanned: tuple[str, ...]
    """v1 jobs that were created after the plan."""
    half_done: tuple[str, ...]
    """Steps that were interrupted: run apply (or rollback) again."""


def progress(plan: Plan, records: Sequence[Record], v1_jobs: Iterable[Json], train_jobs: Iterable[Json]) -> Progress:
    """The progress of a plan, given its journal and the current v1 jobs and TrainJobs."""
    jobs = {title_of(job): job for job in v1_jobs}
    created = created_train_jobs(plan.id, train_jobs)
    last = {record.step: record for record in records}
    interrupted = {record.job for record in last.values() if record.phase in ("intended", "undoing")}
    made = {record.job for record in last.values() if record.phase == "done" and record.kind == TRAIN_JOBS.kind}
    of_train_jobs = grouped_by((record for record in records if record.kind == TRAIN_JOBS.kind), lambda record: record.job)
    started = {job for job, steps in of_train_jobs.items() if was_started(steps)}
    rows = [
        _row(item, wave.name, jobs.get(item.title), created.get(item.title), _past(item, interrupted, made, started))
        for wave in plan.waves
        for item in wave.jobs
    ]
    planned = {item.title for item in plan.items}
    return Progress(
        rows=tuple(rows),
        stages=_counted(row.stage for row in rows),
        left=_counted(overview(job).state for job in jobs.values()),
        unplanned=tuple(sorted(jobs.keys() - planned)),
        half_done=tuple(
            step_title(record.step, record.uid) for record in last.values() if record.phase in ("intended", "undoing")
        ),
    )


def _past(item: Item, interrupted: Collection[str], made: Collection[str], started: Collection[str]) -> Past:
    if item.title in interrupted:
        return "interrupted"
    return "started" if item.title in started else "made" if item.title in made else ""


def _row(item: Item, wave: str, job: Json | None, train_job: Json | None, past: Past) -> Row:
    state = overview(job).state if job is not None else "gone"
    place = _place(item, state, train_job, past, queue_name(job) if job is not None else "")
    name = f"{train_job['metadata']['name']} {overview(train_job).state}" if train_job is not None else ""
    return Row(job=item.title, wave=wave, action=item.action, v1=state, train_job=name, **place._asdict())


class _Place(NamedTuple):
    """The stage of a job and its next step; the fields are those of `Row`."""

    stage: Stage
    next: str
    command: str = ""
    is_done: bool = False


def _place(item: Item, v1: str, train_job: Json | None, past: Past, queue: str) -> _Place:
    if past == "interrupted":
        return _Place("half done", "apply again", "apply")
    if train_job is None and past == "started":
        if queue:
            why = f"if it had finished, take the v1 job out of queue {queue} (label {QUEUE_LABEL}), or Kueue starts it again"
        else:
            why = "if it had not finished, resume the v1 job by hand"
        return _Place("gone", f"its TrainJob was deleted since it was started: {why}")
    if train_job is None and past == "made":
        return _Place("gone", "its TrainJob was deleted; to recreate it, roll back and apply")
    if train_job is None:
        if v1 == "gone":
            return _Place("gone", "nothing", is_done=True)
        match item.action:
            case "create" | "move":
                return _Place("to do", "apply", "apply")
            case "wait" | "archive" if v1 in FINISHED_STATES:
                return _Place("not moved", "cleanup: it has finished on v1, and is archived", "cleanup", is_done=True)
            case "wait":
                return _Place("not moved", "wait until it has finished")
            case "source":
                return _Place("not moved", f"merge the patch for {item.owner}")
            case _:
                return _Place("not moved", "nothing", is_done=True)
    match stage := train_job_stage(train_job):
        case "compared":
            return _Place(stage, "nothing" if v1 == "gone" else "cleanup", "" if v1 == "gone" else "cleanup", is_done=True)
        case "made":
            if queue := mark(train_job, QUEUE):
                return _Place(stage, f"to start it, set the label {QUEUE_LABEL}={queue}")
            why = "or cleanup, where the v1 job never ran or has finished"
            return _Place(stage, f"to start it, set spec.suspend to false; {why}")
        case "finished":
            verdict = mark(train_job, COMPARED)
            found = f"the last comparison says {verdict}; when that is fixed, " if verdict else ""
            return _Place(stage, f"{found}compare it with {item.title}: migrate compare --plan", "compare")
        case _:
            return _Place(stage, "wait until it has finished")


def train_job_stage(train_job: Json) -> Stage:
    """The stage of a TrainJob that was created from a v1 job; `compared` only if the comparison has passed."""
    if mark(train_job, COMPARED) in PASSED:
        return "compared"
    match overview(train_job).state:
        case "Suspended":
            return "made"
        case "Created" if train_job["spec"].get("suspend"):
            return "made"  # the operator has not written its condition Suspended yet
        case "Succeeded" | "Failed":
            return "finished"
        case _:
            return "running"


def _counted(values: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(values).items()))
