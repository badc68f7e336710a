"""The view of the migration from kubeflow.org/v1: with a plan, its waves and how far each job is; without, the jobs by class.

It only reads, and shows commands to copy.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from shunter.api.meta import Json, annotations_of
from shunter.api.resources import CONFIG_MAPS, TRAIN_JOBS
from shunter.api.titles import title_of
from shunter.api.training.kinds import JOB_KINDS
from shunter.jobs.logs.visible_text import visible
from shunter.kube.client import Client
from shunter.migrate.conversion.provenance import SOURCE
from shunter.migrate.moving.plan_progress import Row
from shunter.page.conversions import Candidate, Conversion, Conversions, candidate
from shunter.page.migration_status import (
    STATES,
    ReadPlan,
    migration_row,
    options_of,
    place_of,
    plan_command,
    read_plan,
    rows_of,
    waves,
)
from shunter.page.views.view import Observed, Parameters, Reading, Rows, View, Viewer, Watch
from shunter.page.wire import JobMigration, MigrationSummary, Wave

PLAN_SECONDS = 5.0
CONVERSION_SECONDS = 5.0
SETTLE_SECONDS = 1.0


class KeptV1(NamedTuple):
    """What is kept of a v1 job."""

    summary: Json
    """The job with only what tells its name, state and queue."""
    object: bytes
    """The job without managedFields, as JSON."""


class Migration:
    """The view."""

    def __init__(self, viewer: Viewer, namespaces: Collection[str]) -> None:
        """`namespaces` are those whose jobs are shown; empty: all."""
        self._viewer = viewer
        self._namespaces = namespaces
        self._conversions = Conversions()
        self._candidates: dict[str, tuple[KeptV1, bytes, Candidate]] = {}
        consequence = "v1 jobs of this kind are not counted."
        self.watches = (
            *(
                Watch(
                    kind.resource.plural,
                    kind.resource,
                    kept_v1,
                    ("migration", "waves", "moves"),
                    consequence,
                    is_one_of_several=True,
                )
                for kind in JOB_KINDS
            ),
            Watch(
                TRAIN_JOBS.plural,
                TRAIN_JOBS,
                kept_train_job,
                ("moves",),
                "The TrainJobs that were converted from v1 jobs are unknown.",
            ),
        )
        self.readings = (
            Reading("plan", self._plan, PLAN_SECONDS, (CONFIG_MAPS,) if viewer.page.plan is not None else (), _JOURNAL),
            Reading("conversions", self._converted, CONVERSION_SECONDS, settle=SETTLE_SECONDS),
        )

    def rows(self, observed: Observed, now: float) -> Rows:
        """The jobs of the plan; without a plan, all v1 jobs, by class."""
        found: ReadPlan | None = observed.readings.get("plan")
        if self._viewer.page.plan is not None and found is None:
            return {"migration": (), "waves": (), "moves": ()}
        found = found or ReadPlan()
        jobs = [job.summary for job in self._v1(observed).values()]
        train_jobs = list(observed.objects[TRAIN_JOBS.plural].values())
        known: Mapping[str, Conversion] = observed.readings.get("conversions", {})
        listed = {watch.resource.kind: observed.listed.get(watch.name, ("",)) for watch in self.watches}
        rows = rows_of(found, jobs, train_jobs, known, listed)
        rows = [row for row in rows if not self._namespaces or place_of(row)[1] in self._namespaces]
        numbers = {name: number for number, name in enumerate(waves(found.plan), start=1)}
        plan, options = self._viewer.page.plan if found.plan is not None else None, self._viewer.page.options
        migrations = [
            migration_row(row, numbers.get(row.wave, len(numbers) + 1), known.get(row.job), listed, plan, options) for row in rows
        ]
        return {
            "migration": (self._summary(migrations, len(jobs), found),),
            "waves": _waves(rows, waves(found.plan)),
            "moves": sorted(migrations, key=lambda one: (one.wave, one.namespace, one.name, one.kind)),
        }

    def _summary(self, migrations: Sequence[JobMigration], left: int, found: ReadPlan) -> MigrationSummary:
        counts = Counter(one.state for one in migrations)
        plan, file = "", self._viewer.page.plan
        if file is not None:
            plan = f"{file.name}: {found.problem}" if found.problem else file.name
        return MigrationSummary(
            id="migration",
            plan=visible(plan),
            counts=tuple((state, counts[state]) for state in STATES if counts[state]),
            v1_left=left,
            v1_total=max(left, len(migrations)),
            commands=tuple(_commands(file, self._viewer.page.options)) if migrations or file is not None else (),
        )

    def _v1(self, observed: Observed) -> dict[str, KeptV1]:
        return {uid: job for kind in JOB_KINDS for uid, job in observed.objects[kind.resource.plural].items()}

    # Readings.

    async def _plan(self, client: Client, observed: Observed) -> ReadPlan:
        """The plan; if its file cannot be used, the problem, with which all v1 jobs are shown by class."""
        return await read_plan(client, self._viewer.page.plan)

    async def _converted(self, client: Client, observed: Observed) -> Mapping[str, Conversion]:
        found: ReadPlan = observed.readings.get("plan") or ReadPlan()
        jobs = self._v1(observed)
        options = options_of(found.plan, [title_of(job.summary) for job in jobs.values()])
        fresh, candidates = dict[str, tuple[KeptV1, bytes, Candidate]](), list[Candidate]()
        for uid, job in jobs.items():
            own = options[title_of(job.summary)]
            mark = msgspec.json.encode(own)
            before = self._candidates.get(uid)
            if before is None or before[0] is not job or before[1] != mark:
                before = job, mark, candidate(msgspec.json.decode(job.object), own)
            fresh[uid] = before
            candidates.append(before[2])
        self._candidates = fresh
        return await self._conversions.of(client, candidates)


def open_migration(viewer: Viewer, parameters: Parameters) -> View:
    """The view for `VIEWS`."""
    return Migration(viewer, parameters.namespaces)


def kept_v1(job: Json) -> KeptV1:
    """For `Watch.keep`."""
    metadata = {field: value for field, value in job["metadata"].items() if field != "managedFields"}
    fields = ("name", "namespace", "labels", "uid", "creationTimestamp")
    summary = {
        "apiVersion": job["apiVersion"],
        "kind": job["kind"],
        "metadata": {field: metadata[field] for field in fields if field in metadata},
        "spec": {},
        "status": {"conditions": (job.get("status") or {}).get("conditions") or []},
    }
    return KeptV1(summary, msgspec.json.encode({**job, "metadata": metadata}))


def kept_train_job(job: Json) -> Json | None:
    """A TrainJob that was converted from a v1 job; None for others."""
    if SOURCE not in annotations_of(job):
        return None
    fields = ("name", "namespace", "annotations", "labels", "creationTimestamp")
    metadata = {field: job["metadata"][field] for field in fields if field in job["metadata"]}
    return {
        "apiVersion": job["apiVersion"],
        "kind": job["kind"],
        "metadata": metadata,
        "spec": {},
        "status": job.get("status") or {},
    }


def _waves(rows: Sequence[Row], reasons: Mapping[str, str]) -> list[Wave]:
    """The waves that have jobs; the last has those that are not converted yet."""
    total, done = Counter(row.wave for row in rows), Counter(row.wave for row in rows if row.is_done)
    return [
        Wave(
            id=f"wave-{number}",
            number=number,
            title=visible(": ".join(part for part in (name or "not checked yet", reasons.get(name, "")) if part)),
            total=total[name],
            done=done[name],
        )
        for number, name in enumerate([*reasons, ""], start=1)
        if total[name]
    ]


def _commands(plan: Path | None, options: str) -> list[tuple[str, str]]:
    if plan is None:
        return [
            ("See all jobs and their classes", f"shunter migrate inventory --cluster{options}"),
            ("Write a plan", f"shunter migrate plan{options} > plan.yaml"),
            ("Show it here", f"shunter ui --plan plan.yaml{options}"),
        ]
    return [
        ("Preview what would be done", plan_command("apply", plan, options, "--dry-run")),
        ("Execute the plan", plan_command("apply", plan, options)),
        ("Compare the runs", plan_command("compare", plan, options)),
        ("Roll back", plan_command("rollback", plan, options)),
        ("Clean up v1", plan_command("cleanup", plan, options)),
    ]


_JOURNAL = "The steps that the plan's journal records are not shown."
