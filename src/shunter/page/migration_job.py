"""The page of one migrated job: findings, both manifests, pods side by side, the proof, and the comparison of the runs.

Computed on request, in a thread. Credentials are masked in all texts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

from shunter.api.grouping import grouped_by
from shunter.api.meta import Json
from shunter.api.resources import TRAIN_JOBS
from shunter.api.secrets.masking import credentials, masked, masked_value
from shunter.api.titles import title_of
from shunter.errors import ShunterError
from shunter.jobs.logs.visible_text import shortened, visible
from shunter.jobs.lookup import get_job, jobs_of, resource_of_kind
from shunter.kube.client import Client
from shunter.kube.errors import ApiError
from shunter.migrate.conversion.emit.job import SEPARATOR
from shunter.migrate.conversion.source import live
from shunter.migrate.findings import Finding
from shunter.migrate.moving import gathering, saved_runs
from shunter.migrate.moving.annotations import COMPARED, NOT_SEEN, mark
from shunter.migrate.moving.runs.comparison import Tolerance
from shunter.migrate.moving.runs.comparison import compared as runs_compared
from shunter.migrate.moving.runs.reading import run_of
from shunter.migrate.options import Options
from shunter.migrate.own_files import beside
from shunter.migrate.pods.differences import Difference
from shunter.migrate.pods.showing import shown_place, shown_value
from shunter.migrate.proof.comparison import Comparison
from shunter.migrate.proof.comparison import compared as pods_compared
from shunter.migrate.proof.proving import STAGES, Proof
from shunter.migrate.survey.briefing.facts import Job
from shunter.migrate.survey.briefing.job_commands import commands
from shunter.operator.overview import is_finished
from shunter.page.conversions import conversion_of, findings_of, looked_at
from shunter.page.migration_status import ReadPlan, migration_row, options_of, read_plan, rows_of, train_jobs_by_title, waves
from shunter.page.views.view import Parameters, Viewer
from shunter.page.wire import FindingText, JobMigration, JobMigrationDetail, PodPair, Stage

COMPARE_SECONDS = 20.0
"""Timeout for reading both runs."""
MOST_PODS = 200
MOST_DIFFERENCES = 50
LONGEST = 500

_Aspect = tuple[str, str, str, str]
"""The name of what is compared, the values of both runs, and the verdict with its reason."""


async def job_migration(viewer: Viewer, job: Parameters) -> JobMigrationDetail:
    """The migration of one v1 job in the cluster. Raises NotFound if there is none, and InputError for another kind."""
    client, resource = viewer.client, resource_of_kind(job.kind, live.KINDS)
    v1_job = await get_job(client, resource, job.namespace, job.name)
    title = title_of(v1_job)
    found = await read_plan(client, viewer.page.plan)
    source, options = live.source(v1_job, resource), options_of(found.plan, [title])[title]
    others, unread = await gathering.named_config_maps(client, [source])
    shown = await asyncio.to_thread(looked_at, source, options, others)
    pods = await asyncio.to_thread(_pods, shown, options)
    train_jobs, refusal = await _train_jobs(client, job.namespace)
    listed = {TRAIN_JOBS.kind: () if refusal else ("",)}
    unknown = {
        "plan": found.problem,
        "ConfigMaps": ", ".join(f"you may not read {one}" for one in unread),
        "TrainJob": refusal,
    }
    if found.plan is not None and all(item.title != title for item in found.plan.items):
        found = ReadPlan()
    conversion = conversion_of(shown, unread)
    rows = rows_of(found, [v1_job], train_jobs, {title: conversion}, listed)
    (row,) = [row for row in rows if row.job == title]
    wave = [*waves(found.plan)].index(row.wave) + 1 if found.plan is not None else 0
    train_job = train_jobs_by_title(found.plan, train_jobs).get(title)
    compared = await _comparison(client, v1_job, train_job, found, viewer.page.plan) if train_job is not None else ()
    aspects = (*(_unknown(what, why) for what, why in unknown.items() if why), *compared)
    plan = viewer.page.plan if found.plan is not None else None
    head = migration_row(row, wave, conversion, listed, plan, viewer.page.options)
    return _detail(shown, pods, head, aspects, viewer.page.options)


async def _train_jobs(client: Client, namespace: str) -> tuple[list[Json], str]:
    """The TrainJobs of the namespace, and an empty text; none, and the reason, if they cannot be listed."""
    try:
        return await jobs_of(client, TRAIN_JOBS, namespace), ""
    except ApiError as error:
        return [], error.message


def _pods(shown: Job, options: Options) -> Comparison | None:
    conversion = shown.outcome.conversion
    return pods_compared(conversion, options) if conversion is not None else None


def _unknown(what: str, why: str) -> _Aspect:
    return what, "", "", f"not known: {_short(why)}"


async def _comparison(client: Client, job: Json, train_job: Json, found: ReadPlan, plan: Path | None) -> tuple[_Aspect, ...]:
    """The comparison of both runs, once both jobs have finished. For a v1 job that the plan moved, its saved run is used."""
    title = title_of(job)
    try:
        kept = saved_runs.saved(beside(plan, "runs"), title) if plan is not None and found.plan is not None else None
        if not is_finished(train_job) or (kept is None and not is_finished(job)):
            return _recorded(train_job)
        async with asyncio.timeout(COMPARE_SECONDS):
            before, after = await asyncio.gather(
                saved_runs.original_run(client, job, kept, went_on=False),
                run_of(client, train_job),
            )
    except ShunterError as error:
        return (*_recorded(train_job), _unknown("runs", error.message))
    except TimeoutError:
        return (*_recorded(train_job), _unknown("runs", f"reading both logs takes longer than {COMPARE_SECONDS:.0f} seconds."))
    assert before is not None, "the job is there"
    return (
        *_recorded(train_job),
        *(
            (one.name, _short(one.original), _short(one.successor), f"{one.verdict}: {one.why}" if one.why else one.verdict)
            for one in runs_compared(before, after, Tolerance()).aspects
        ),
    )


def _recorded(train_job: Json) -> tuple[_Aspect, ...]:
    """The verdict that `migrate compare` recorded, possibly with other tolerances."""
    verdict, unseen = mark(train_job, COMPARED), mark(train_job, NOT_SEEN)
    if not verdict:
        return ()
    return (("recorded by migrate compare", "", "", f"{verdict}; not seen: {unseen}" if unseen else verdict),)


def _detail(
    shown: Job, pods: Comparison | None, head: JobMigration, rows: tuple[_Aspect, ...], options: str
) -> JobMigrationDetail:
    known = credentials(shown.outcome.source.value)
    return JobMigrationDetail(
        migration=head,
        findings=tuple(
            _finding(one) for one in sorted(findings_of(shown), key=lambda one: (not one.is_blocking, bool(one.suppressed)))
        ),
        before=visible(shown.before),
        after=visible(SEPARATOR.join(part for part in (shown.runtime, shown.train_job) if part)),
        pods=tuple(_pairs(pods, known)),
        proof=tuple(_stages(shown.proof)),
        comparison=rows,
        commands=tuple((_what_for(line), line) for line in commands(shown, is_live=True, options=options)),
    )


def _finding(finding: Finding) -> FindingText:
    topic = finding.topic
    return FindingText(
        id=topic.id,
        severity=topic.severity,
        title=topic.title,
        message=visible(finding.message),
        field=visible(finding.field),
        remedy=visible(finding.advice),
        is_blocking=finding.is_blocking,
        is_suppressed=bool(finding.suppressed),
    )


def _stages(proof: Proof | None) -> Iterator[Stage]:
    """All stages of the proof, also those that were not reached."""
    tried = {result.stage: result for result in proof.results} if proof is not None else {}
    for name, means in STAGES.items():
        result = tried.get(name)
        if result is None or not result.was_tried:
            yield Stage(name=name, status="not reached", text=visible(result.note or means) if result is not None else means)
        else:
            yield Stage(name=name, status="holds" if result.holds else "fails", text=visible(result.note or means))


def _pairs(pods: Comparison | None, known: set[str]) -> Iterator[PodPair]:
    """The pods rank by rank, with their differences except expected ones."""
    if pods is None or pods.matched is None:
        return
    by_pair = grouped_by((one for one in pods.differences if one.verdict != "expected"), lambda one: one.pair.mark)
    for pair in pods.matched.pairs[:MOST_PODS]:
        yield PodPair(
            rank=pair.title,
            before=pair.v1.host if pair.v1 is not None else "",
            after=pair.v2.host if pair.v2 is not None else "",
            differences=tuple(_difference(one, known) for one in by_pair.get(pair.mark, ())[:MOST_DIFFERENCES]),
        )


def _difference(one: Difference, known: set[str]) -> str:
    if not one.place:
        return f"{one.verdict}: only in {'v1' if one.v1 else 'v2'}"
    before, after = (shown_value(value, lambda text: masked_value(text, known)) for value in (one.v1, one.v2))
    why = f"{one.verdict}: {one.reason}" if one.reason else one.verdict
    return _short(f"{shown_place(one.place)}: {before} -> {after} ({masked(why, known)})")


def _short(text: str) -> str:
    return shortened(visible(text), LONGEST)


def _what_for(command: str) -> str:
    verb = command.split()[2]
    return _MEANINGS.get(verb, verb)


_MEANINGS = {
    "convert": "Convert it",
    "validate": "Prove the conversion",
    "diff": "Show both sides, pod by pod",
    "test": "Try the conversion in a short run",
    "compare": "Compare the runs",
    "backup": "Back up the job",
    "explain": "Explain a finding",
}
"""The purpose of each command of `briefing.job_commands`."""
