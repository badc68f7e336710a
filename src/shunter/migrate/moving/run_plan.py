"""Executes a plan: first the freeze, then the preparation that its strategy requires, then its waves in order."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from shunter.api.resources import TRAIN_JOBS
from shunter.errors import InputError
from shunter.kube import access
from shunter.kube.client import Client
from shunter.migrate.moving import applying, gathering, plan_conversions
from shunter.migrate.moving.applying import DEFAULT_TIMEOUTS, GateTimeouts, Outcome, Screen
from shunter.migrate.moving.backup import saving
from shunter.migrate.moving.backup.index import read_index
from shunter.migrate.moving.gathering import Input
from shunter.migrate.moving.journal import Journal
from shunter.migrate.moving.plan import Item, Plan
from shunter.migrate.moving.rollback_decisions import was_started
from shunter.migrate.moving.source_patches import SourcePatch, source_patch
from shunter.migrate.moving.steps import Step, freeze_steps, item_steps
from shunter.migrate.own_files import BACKUP_INDEX
from shunter.operator.overview import FINISHED_STATES, overview

LOST_TRAIN_JOB = (
    "its TrainJob was started and deleted, and how it ended is unknown: apply does not create it again; to train again, create "
    "it with kubectl"
)


class Run(NamedTuple):
    """The result of executing a plan."""

    outcomes: list[Outcome]
    refused: Mapping[str, str]
    """Jobs for which nothing was done, and why."""
    patches: list[SourcePatch]
    """Patches for the owners of jobs."""
    active: Sequence[str] = ()
    """v1 jobs that must finish before a replacement continues."""
    unrestorable: Mapping[str, str] = {}
    """Objects in the backup of a replacement that the server would not accept again, and why."""

    @property
    def is_complete(self) -> bool:
        """Whether nothing is left to do for the waves of this run."""
        return not self.refused and not self.active and all(outcome.is_complete for outcome in self.outcomes)


class Prepared(NamedTuple):
    """What a run will do."""

    first: list[Step]
    """The freeze."""
    steps: list[Step]
    refused: Mapping[str, str]
    patches: list[SourcePatch]
    active: Sequence[str]


def chosen(plan: Plan, waves: Sequence[str]) -> list[Item]:
    """The jobs of these waves, of all if empty. InputError for an unknown wave."""
    names = [wave.name for wave in plan.waves]
    for name in waves:
        if name not in names:
            raise InputError(f"--wave {name}: the plan has no such wave.", f"It has {', '.join(names) or 'none'}.")
    return [item for wave in plan.waves if not waves or wave.name in waves for item in wave.jobs]


def prepared(plan: Plan, found: Input, journal: Journal, waves: Sequence[str] = ()) -> Prepared:
    """What a run of these waves will do, given the current jobs. Pure. Completed jobs are not reported as refused, even if they
    no longer exist."""
    items = chosen(plan, waves)
    acting = [item for item in items if item.action in ("create", "move")]
    lost = {item.title for item in acting if _is_train_job_lost(item, journal)}
    acting = [item for item in acting if item.title not in lost]
    ready = plan_conversions.sharing(plan, plan_conversions.ready(plan, acting, found, journal), found)
    steps = [
        step
        for item in acting
        if (conversion := ready.conversions.get(item.title))
        for step in item_steps(plan, item, conversion)
    ]
    completed = _completed(acting, journal)
    refused = {title: why for title, why in ready.refused.items() if title not in completed} | dict.fromkeys(
        sorted(lost), LOST_TRAIN_JOB
    )
    owned = [item for item in items if item.action == "source"]
    sources = plan_conversions.ready(plan, owned, found, journal, even_blocked=True)
    patches = [source_patch(item, sources.conversions[item.title]) for item in owned if item.title in sources.conversions]
    active = _active(plan, found) if plan.strategy == "replacement" else []
    return Prepared(list(freeze_steps(plan)), steps, refused, patches, active)


async def run(
    client: Client,
    plan: Plan,
    journal: Journal,
    screen: Screen,
    *,
    waves: Sequence[str] = (),
    backup: Path,
    runs: Path,
    now: datetime,
    timeouts: GateTimeouts = DEFAULT_TIMEOUTS,
) -> Run:
    """Executes the plan, or these waves of it; the journal must be entered and loaded. A replacement begins only when no v1 job
    runs and all are in `backup`; if none runs at first, the backup is taken before new jobs are denied. The runs of moved jobs
    are saved in `runs`. If it is killed at any point and run again, the result is the same."""
    todo = prepared(plan, await gathering.read(client, plan.namespaces), journal, waves)
    await access.require(client, applying.requests([*todo.first, *todo.steps], journal), "Let an administrator apply the plan.")
    warning = [step for step in todo.first if step.verb == "create"]
    frozen = await applying.apply(client, warning, journal, screen, timeouts)
    if not all(outcome.is_complete for outcome in frozen):
        return Run(frozen, todo.refused, todo.patches)
    taken = False
    if plan.strategy == "replacement" and not _active(plan, await gathering.read(client, plan.namespaces)):
        taken = await _back_up(client, plan, journal, backup, now)
    frozen += await applying.apply(client, [step for step in todo.first if step not in warning], journal, screen, timeouts)
    if not all(outcome.is_complete for outcome in frozen):
        return Run(frozen, todo.refused, todo.patches)
    if plan.strategy == "replacement":
        # Jobs may have been created before the freeze took effect: the backup may then be incomplete.
        if taken and not saving.holds(backup, await saving.everything(client, plan.namespaces)):
            shutil.rmtree(backup, ignore_errors=True)
        active = _active(plan, await gathering.read(client, plan.namespaces))
        if active:
            return Run(frozen, todo.refused, todo.patches, active)
        await _back_up(client, plan, journal, backup, now)
    outcomes = []
    for steps in _by_wave(plan, todo.steps):
        outcomes += await applying.apply(client, steps, journal, screen, timeouts, runs=runs)
    unrestorable = {entry.title: entry.refused for entry in read_index(backup).refused} if plan.strategy == "replacement" else {}
    return Run([*frozen, *outcomes], todo.refused, todo.patches, unrestorable=unrestorable)


def _by_wave(plan: Plan, steps: Iterable[Step]) -> list[list[Step]]:
    """The steps by wave, in the plan's order; a wave begins when the one before it is complete."""
    wave_of = {item.title: wave.name for wave in plan.waves for item in wave.jobs}
    waves: dict[str, list[Step]] = {wave.name: [] for wave in plan.waves}
    for step in steps:
        waves[wave_of[step.job]].append(step)
    return [some for some in waves.values() if some]


async def _back_up(client: Client, plan: Plan, journal: Journal, directory: Path, now: datetime) -> bool:
    """Takes the backup, unless an interrupted run has taken it; returns whether it did. InputError if an older backup exists."""
    objects = await saving.everything(client, plan.namespaces)
    if not (directory / BACKUP_INDEX).exists():
        await saving.take(client, directory, objects, server=plan.server, now=now)
        return True
    if not any(record.job for record in journal.records) and not saving.holds(directory, objects):
        raise InputError(f"{directory}: this backup is of another time.", "Name a new folder in the plan, as `backup`.")
    return False


def _active(plan: Plan, found: Input) -> list[str]:
    """Running v1 jobs that the plan itself does not suspend."""
    moved = {item.title for item in plan.items if item.action == "move"}
    return [
        f"{source.title} ({state})"
        for source in found.jobs
        if (state := overview(source.value).state) not in (*FINISHED_STATES, "Suspended") and source.title not in moved
    ]


def _is_train_job_lost(item: Item, journal: Journal) -> bool:
    """Whether its TrainJob may have trained and was deleted before a rollback: another one might train again."""
    made = [record for record in journal.records if record.job == item.title and record.kind == TRAIN_JOBS.kind]
    return bool(made) and made[-1].phase == "undone" and was_started(made)


def _completed(items: Iterable[Item], journal: Journal) -> set[str]:
    """The titles of the jobs for which all writes are done."""
    last = {record.step: record for record in journal.records if record.kind == TRAIN_JOBS.kind}
    done = {(record.job, record.verb) for record in last.values() if record.phase == "done"}
    required = {"create": {"create"}, "move": {"create", "patch"}}
    return {item.title for item in items if all((item.title, verb) in done for verb in required[item.action])}
