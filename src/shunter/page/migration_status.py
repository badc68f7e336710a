"""How far the migration of each v1 job is: rows for the Migration view and for the page of one job, by the same functions.

Pure, except `read_plan`.
"""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from shunter.api.meta import Json
from shunter.api.resources import TRAIN_JOBS
from shunter.api.titles import title_of
from shunter.errors import ShunterError
from shunter.kube.client import Client
from shunter.migrate.moving import gathering
from shunter.migrate.moving.annotations import SOURCE, created_train_jobs, mark
from shunter.migrate.moving.journal import Journal, Record
from shunter.migrate.moving.plan import Plan, read
from shunter.migrate.moving.plan_progress import Row, Stage, progress, train_job_stage
from shunter.migrate.moving.runs.trial_labels import is_trial
from shunter.migrate.options import Options
from shunter.migrate.own_files import beside
from shunter.migrate.survey.briefing.job_commands import command, explaining
from shunter.migrate.survey.inventory.classes import WAVES
from shunter.operator.overview import job_state
from shunter.page.conversions import Conversion
from shunter.page.wire import JobMigration

NOT_CHECKED = "not checked"
"""The state of a job that has not been converted yet, or cannot be checked."""
STATES = (NOT_CHECKED, "ready", "blocked", "half done", "made", "running", "finished", "compared", "not moved", "gone")

Listed = Mapping[str, Collection[str]]
"""By kind: the namespaces that were listed; an empty name is all of them, as is a missing kind."""


class ReadPlan(NamedTuple):
    """A plan, read from its file, with the records of its journal."""

    plan: Plan | None = None
    records: Sequence[Record] = ()
    problem: str = ""
    """Why the plan, or a part of its journal, could not be read."""


async def read_plan(client: Client, file: Path | None) -> ReadPlan:
    """The plan in the file; an empty one without a file, or with `problem` if it is unreadable or of another cluster."""
    if file is None:
        return ReadPlan()
    try:
        plan = await asyncio.to_thread(read, file)
        await gathering.require_cluster_of(client, plan)
        journal = Journal(beside(file, "journal"), plan.id, client, plan.journal_namespace)
        await journal.load()
    except ShunterError as error:
        return ReadPlan(problem=error.message)
    return ReadPlan(plan, tuple(journal.records), journal.unread)


def options_of(plan: Plan | None, titles: Iterable[str]) -> dict[str, Options]:
    """The options of the conversion, by the titles of the jobs; without a plan those of the inventory."""
    return plan.options_of_titles(titles) if plan is not None else dict.fromkeys(titles, Options(suspend=True))


def waves(plan: Plan | None) -> Mapping[str, str]:
    """Names of the waves, in order, with the reason for each; without a plan, the classes of the inventory."""
    return dict[str, str](WAVES.items()) if plan is None else {wave.name: wave.why for wave in plan.waves}


def train_jobs_by_title(plan: Plan | None, train_jobs: Iterable[Json]) -> dict[str, Json]:
    """The TrainJobs that the plan created, by the titles of their v1 jobs; without a plan, the newest TrainJob converted from
    each, except trials."""
    ordered = sorted(train_jobs, key=lambda job: str(job["metadata"].get("creationTimestamp", "")))
    if plan is not None:
        return created_train_jobs(plan.id, ordered)
    return {source: job for job in ordered if (source := mark(job, SOURCE)) and not is_trial(job)}


def rows_of(
    found: ReadPlan,
    jobs: Sequence[Json],
    train_jobs: Iterable[Json],
    known: Mapping[str, Conversion],
    listed: Listed,
) -> list[Row]:
    """How far the jobs of the plan are; without a plan, all v1 jobs. Objects in namespaces that could not be listed do not count
    as gone."""
    by_title = train_jobs_by_title(found.plan, train_jobs)
    if found.plan is not None:
        rows = progress(found.plan, found.records, jobs, by_title.values()).rows
    else:
        rows = tuple(_row(job, by_title.get(title_of(job)), known.get(title_of(job))) for job in jobs)
    return [
        row if _is_certain(row, listed) else msgspec.structs.replace(row, stage="to do", next="", command="", is_done=False)
        for row in rows
    ]


def place_of(row: Row) -> tuple[str, str, str]:
    """Kind, namespace and name of the v1 job."""
    kind, _, place = row.job.partition(" ")
    namespace, _, name = place.partition("/")
    return kind, namespace, name


def migration_row(
    row: Row, wave: int, conversion: Conversion | None, listed: Listed, plan: Path | None, options: str
) -> JobMigration:
    """A row for the browser. A job without a TrainJob is ready, unless a finding blocks it, or TrainJobs could not be listed.
    `plan` is the file of the plan that contains the job, `options` are those of the page's commands."""
    kind, namespace, name = place_of(row)
    blocking = conversion.blocking if conversion is not None else ()
    state: str = row.stage
    if row.stage == "to do":
        is_known = conversion is not None and _is_listed(TRAIN_JOBS.kind, namespace, listed)
        state = "blocked" if blocking else "ready" if is_known else NOT_CHECKED
    return JobMigration(
        id=row.job,
        wave=wave,
        namespace=namespace,
        name=name,
        kind=kind,
        state=state,
        findings=conversion.findings if conversion is not None else 0,
        blocking=len(blocking),
        first=blocking[0] if blocking else "",
        proof=conversion.proof if conversion is not None else "",
        train_job=row.train_job,
        next=row.next,
        command=_line(row, conversion, plan, options),
    )


def plan_command(verb: str, plan: Path, options: str, *more: str) -> str:
    """The command line of a `shunter migrate` command with `--plan`."""
    return f"shunter migrate {' '.join((verb, '--plan', shlex.quote(str(plan)), *more))}{options}"


def _line(row: Row, conversion: Conversion | None, plan: Path | None, options: str) -> str:
    """The next command line; empty if there is none. For a blocked job, the one that explains why."""
    kind, namespace, name = place_of(row)
    if row.stage == "to do" and conversion is not None and conversion.topics:
        return explaining(conversion.topics[0])
    if not row.command:
        return ""
    if plan is None:
        return command(row.command, kind, namespace, name, options)
    return plan_command(row.command, plan, options, *([f"{kind.lower()}/{name}"] if row.command == "compare" else []))


def _is_certain(row: Row, listed: Listed) -> bool:
    """Whether everything that the row says is missing was listed."""
    kind, namespace, _ = place_of(row)
    if row.train_job:
        return True
    is_v1_known = row.v1 != "gone" or _is_listed(kind, namespace, listed)
    return is_v1_known and (row.stage not in ("gone", "not moved") or _is_listed(TRAIN_JOBS.kind, namespace, listed))


def _is_listed(kind: str, namespace: str, listed: Listed) -> bool:
    return bool({"", namespace} & {*listed.get(kind, ("",))})


def _row(job: Json, train_job: Json | None, conversion: Conversion | None) -> Row:
    """The row of a job without a plan: how far it is depends on its TrainJob."""
    stage, command, is_done = _place(train_job, conversion)
    return Row(
        job=title_of(job),
        wave=conversion.job_class if conversion is not None else "",
        action="",
        v1=job_state(job),
        train_job=f"{train_job['metadata']['name']} {job_state(train_job)}" if train_job is not None else "",
        stage=stage,
        next="",
        command=command,
        is_done=is_done,
    )


def _place(train_job: Json | None, conversion: Conversion | None) -> tuple[Stage, str, bool]:
    """Stage, next command, and whether the job is done."""
    if train_job is not None:
        stage = train_job_stage(train_job)
        return stage, "compare", stage == "compared"
    if conversion is None:
        return "to do", "", False
    if conversion.job_class == "finished":
        return "not moved", "backup", True
    return "to do", "validate", False
