"""The page of one move: findings, both manifests, pods side by side, how far the proof reaches, and the comparison of the runs.

Worked out when it is asked for, in another thread; credentials are hidden in all texts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, NamedTuple

from shunter.api.meta import Json, annotations_of
from shunter.api.resources import TRAIN_JOBS
from shunter.errors import ShunterError
from shunter.jobs.finding import get_job, jobs_of, resource_of
from shunter.jobs.logs.visible_text import shortened, visible
from shunter.jobs.masking import credentials, masked
from shunter.kube.client import Client
from shunter.kube.errors import ApiError
from shunter.migrate.conversion.batch import Batch, converted
from shunter.migrate.conversion.emit.job import SEPARATOR
from shunter.migrate.conversion.provenance import SOURCE
from shunter.migrate.conversion.source import live
from shunter.migrate.findings import Finding
from shunter.migrate.moving import gathering
from shunter.migrate.moving.burn_down import twin_stage
from shunter.migrate.moving.plan import read
from shunter.migrate.moving.runs.comparison import Tolerance
from shunter.migrate.moving.runs.comparison import compared as runs_compared
from shunter.migrate.moving.runs.reading import run_of
from shunter.migrate.options import Options
from shunter.migrate.pods.differences import Difference
from shunter.migrate.pods.showing import shown_place, shown_value
from shunter.migrate.proof.comparison import Comparison
from shunter.migrate.proof.comparison import compared as pods_compared
from shunter.migrate.proof.ladder import RUNGS, Ladder
from shunter.migrate.survey.briefing.facts import Job, gathered
from shunter.migrate.survey.briefing.job_page import commands
from shunter.operator.overview import is_finished, job_state
from shunter.page.conversions import NOT_CHECKED, proof_text
from shunter.page.views.view import Parameters, Viewer
from shunter.page.wire import FindingText, Move, MoveDetail, PodPair, Rung

COMPARE_SECONDS = 20.0
"""How long the logs of both runs may take."""
MOST_PODS = 200
MOST_DIFFERENCES = 50
LONGEST = 500

_Aspect = tuple[str, str, str, str]
"""What was compared of both runs, before, after, and the verdict with its reason."""


async def move(viewer: Viewer, job: Parameters) -> MoveDetail:
    """Of one v1 job that is in the cluster. NotFound when it is gone; InputError for a job of another kind."""
    client, resource = viewer.client, resource_of(job.kind, live.KINDS)
    v1_job = await get_job(client, resource, job.namespace, job.name)
    title = f"{resource.kind} {job.namespace}/{job.name}"
    planned = await asyncio.to_thread(_planned, viewer, title)
    source = live.source(v1_job, resource)
    others, _ = await gathering.named_config_maps(client, [source])
    shown, pods = await asyncio.to_thread(_worked_out, converted([source], planned.options, others))
    twin = await _twin(client, job.namespace, title)
    rows = await _comparison(client, v1_job, twin.job) if twin.job is not None else ()
    unknown = [("plan", planned.problem), ("TrainJob", twin.problem)]
    rows = (*(_unknown(what, why) for what, why in unknown if why), *rows)
    return _detail(shown, pods, planned.wave, twin, rows, viewer.options)


class _Planned(NamedTuple):
    """What the plan has for a job: the inventory's options where there is no plan, or the job is not in it."""

    options: Options = Options(suspend=True)
    wave: int = 0
    """Counted from 1; 0: none."""
    problem: str = ""
    """Why the plan is not known."""


class _Twin(NamedTuple):
    """The TrainJob that was made of a job; None where there is none, or where it is not known, and why."""

    job: Json | None
    problem: str = ""


def _planned(viewer: Viewer, title: str) -> _Planned:
    if viewer.plan is None:
        return _Planned()
    try:
        plan = read(viewer.plan)
    except ShunterError as error:
        return _Planned(problem=error.message)
    for number, wave in enumerate(plan.waves, start=1):
        for item in wave.jobs:
            if item.title == title:
                return _Planned(plan.options_of(item), number)
    return _Planned()


def _worked_out(batch: Batch) -> tuple[Job, Comparison | None]:
    facts = gathered(batch, {}, datetime.now(UTC), is_live=True)
    conversion = batch.outcomes[0].conversion
    return facts.jobs[0], pods_compared(conversion, batch.options) if conversion is not None else None


async def _twin(client: Client, namespace: str, title: str) -> _Twin:
    try:
        found = [job for job in await jobs_of(client, TRAIN_JOBS, namespace) if annotations_of(job).get(SOURCE) == title]
    except ApiError as error:
        return _Twin(None, error.message)
    return _Twin(max(found, key=lambda job: str(job["metadata"].get("creationTimestamp", "")), default=None))


def _unknown(what: str, why: str) -> _Aspect:
    return what, "", "", f"not known: {_short(why)}"


async def _comparison(client: Client, job: Json, twin: Json) -> tuple[_Aspect, ...]:
    """Of both runs, once both have ended."""
    if not (is_finished(job) and is_finished(twin)):
        return ()
    try:
        async with asyncio.timeout(COMPARE_SECONDS):
            before, after = await asyncio.gather(run_of(client, job), run_of(client, twin))
    except ApiError as error:
        return (_unknown("runs", error.message),)
    except TimeoutError:
        return (_unknown("runs", f"reading the logs of both runs takes longer than {COMPARE_SECONDS:.0f} seconds."),)
    return tuple(
        (one.name, _short(one.original), _short(one.successor), f"{one.verdict}: {one.why}" if one.why else one.verdict)
        for one in runs_compared(before, after, Tolerance()).aspects
    )


def _detail(shown: Job, pods: Comparison | None, wave: int, twin: _Twin, rows: tuple[_Aspect, ...], options: str) -> MoveDetail:
    row, known = shown.entry, credentials(shown.outcome.source.value)
    findings = [*shown.outcome.findings, *(shown.ladder.findings if shown.ladder is not None else ())]
    standing = [finding for finding in findings if not finding.suppressed]
    blocking = [finding for finding in standing if finding.is_blocking]
    if twin.job is not None:
        state: str = twin_stage(twin.job)
    else:
        state = "blocked" if blocking else NOT_CHECKED if twin.problem else "ready"
    named = [(_what_for(line), line) for line in commands(shown, is_live=True, options=options)]
    head = Move(
        id=row.title,
        wave=wave,
        namespace=row.namespace,
        name=row.name,
        kind=row.kind,
        state=state,
        findings=len(standing),
        blocking=len(blocking),
        first=visible(blocking[0].message) if blocking else "",
        proof=proof_text(shown.ladder),
        twin=f"{twin.job['metadata']['name']} {job_state(twin.job)}" if twin.job is not None else "",
        next=named[0][1] if named else "",
    )
    return MoveDetail(
        move=head,
        findings=tuple(_finding(one) for one in sorted(findings, key=lambda one: (not one.is_blocking, bool(one.suppressed)))),
        before=visible(shown.before),
        after=visible(SEPARATOR.join(part for part in (shown.runtime, shown.train_job) if part)),
        pods=tuple(_pairs(pods, known)),
        proof=tuple(_rungs(shown.ladder)),
        comparison=rows,
        commands=tuple(named),
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


def _rungs(ladder: Ladder | None) -> Iterator[Rung]:
    """All of them, also those that were not reached."""
    tried = {step.rung: step for step in ladder.steps} if ladder is not None else {}
    for name, means in RUNGS.items():
        step = tried.get(name)
        if step is None or not step.was_tried:
            yield Rung(name=name, status="not reached", text=visible(step.note or means) if step is not None else means)
        else:
            yield Rung(name=name, status="holds" if step.holds else "fails", text=visible(step.note or means))


def _pairs(pods: Comparison | None, known: set[str]) -> Iterator[PodPair]:
    """Rank by rank, as far as differences are no mere expected ones."""
    if pods is None or pods.matched is None:
        return
    by_pair: dict[str, list[Difference]] = {}
    for one in pods.differences:
        if one.verdict != "expected":
            by_pair.setdefault(one.pair.mark, []).append(one)
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
    text = (
        f"{shown_place(one.place)}: {_value(one.v1)} -> {_value(one.v2)} ({one.verdict}{f': {one.reason}' if one.reason else ''})"
    )
    return _short(masked(text, known))


def _value(value: Any) -> str:
    return "nothing" if value is None else str(shown_value(value))


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
    "backup": "Keep the job",
    "explain": "Explain a finding",
}
"""What the commands of `briefing.job_page` are for."""
