"""One run of a plan: the freeze, what its strategy asks for first, then its waves, one after the other."""

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
from shunter.migrate.moving import applying, gathering
from shunter.migrate.moving.applying import DEFAULT_TIMEOUTS, GateTimeouts, Outcome, Screen
from shunter.migrate.moving.backup import taking
from shunter.migrate.moving.backup.index import read_index
from shunter.migrate.moving.gathering import Input
from shunter.migrate.moving.journal import Journal
from shunter.migrate.moving.plan import Item, Plan
from shunter.migrate.moving.sources import SourcePatch, source_patch
from shunter.migrate.moving.steps import Step, freeze_steps, item_steps
from shunter.migrate.moving.undo_steps import was_started
from shunter.migrate.own_files import BACKUP_INDEX
from shunter.operator.overview import FINISHED_STATES, overview

SPENT = (
    "its TrainJob was started and deleted, and how it ended is unknown: apply does not create it again; to train again, create "
    "it with kubectl"
)


class Run(NamedTuple):
    """What a run of a plan did, and what it could not do."""

    outcomes: list[Outcome]
    refused: Mapping[str, str]
    """Jobs for which nothing is done, and why."""
    patches: list[SourcePatch]
    """What their owners are to be given."""
    active: Sequence[str] = ()
    """v1 jobs that must end before a replacement goes on."""
    unrestorable: Mapping[str, str] = {}
    """What the backup of a replacement holds though the server would not take it back as it is, and why."""

    @property
    def is_complete(self) -> bool:
        """Whether nothing is left for a run after this one, as far as this one had to do with it."""
        return not self.refused and not self.active and all(outcome.is_complete for outcome in self.outcomes)


class Prepared(NamedTuple):
    """What a run is going to do."""

    first: list[Step]
    """The freeze."""
    steps: list[Step]
    refused: Mapping[str, str]
    patches: list[SourcePatch]
    active: Sequence[str]


def chosen(plan: Plan, waves: Sequence[str]) -> list[Item]:
    """The jobs of some waves, or of all. InputError for a wave that the plan does not have."""
    names = [wave.name for wave in plan.waves]
    for name in waves:
        if name not in names:
            raise InputError(f"--wave {name}: the plan has no such wave.", f"It has {', '.join(names) or 'none'}.")
    return [item for wave in plan.waves if not waves or wave.name in waves for item in wave.jobs]


def prepared(plan: Plan, found: Input, journal: Journal, waves: Sequence[str] = ()) -> Prepared:
    """Pure: what a run of these waves is going to do, by the jobs as they are now. Nothing is said of a job that is through, even
    if it is gone."""
    items = chosen(plan, waves)
    acting = [item for item in items if item.action in ("create", "move")]
    spent = {item.title for item in acting if _is_spent(item, journal)}
    acting = [item for item in acting if item.title not in spent]
    ready = gathering.sharing(plan, gathering.ready(plan, acting, found, journal), found)
    steps = [
        step
        for item in acting
        if (conversion := ready.conversions.get(item.title))
        for step in item_steps(plan, item, conversion)
    ]
    over = _over(acting, journal)
    refused = {title: why for title, why in ready.refused.items() if title not in over} | dict.fromkeys(sorted(spent), SPENT)
    owned = [item for item in items if item.action == "source"]
    sources = gathering.ready(plan, owned, found, journal, even_blocked=True)
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
    """Carries the plan out, or some of its waves; the journal is entered and loaded. Of a replacement everything waits until no
    v1 job runs, and until all of them are in `backup`, which is taken before new ones are denied where none runs. The runs
    of jobs that are moved are kept in `runs`. Killed at any point and run again it ends the same."""
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
        # Jobs may have been made before the freeze took hold: what was written a moment ago is then not the whole.
        if taken and not taking.holds(backup, await taking.everything(client, plan.namespaces)):
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
    """A wave begins when the one before it is through; the jobs of one wave are worked on at once."""
    wave_of = {item.title: wave.name for wave in plan.waves for item in wave.jobs}
    waves: dict[str, list[Step]] = {wave.name: [] for wave in plan.waves}
    for step in steps:
        waves[wave_of[step.job]].append(step)
    return [some for some in waves.values() if some]


async def _back_up(client: Client, plan: Plan, journal: Journal, directory: Path, now: datetime) -> bool:
    """Takes the backup, unless the run that was interrupted did; whether it did. InputError when there is one of another time."""
    objects = await taking.everything(client, plan.namespaces)
    if not (directory / BACKUP_INDEX).exists():
        await taking.take(client, directory, objects, server=plan.server, now=now)
        return True
    if not any(record.job for record in journal.records) and not taking.holds(directory, objects):
        raise InputError(f"{directory}: this backup is of another time.", "Name a new folder in the plan, as `backup`.")
    return False


def _active(plan: Plan, found: Input) -> list[str]:
    """v1 jobs that run, and that the plan itself does not stop."""
    moved = {item.title for item in plan.items if item.action == "move"}
    return [
        f"{source.title} ({state})"
        for source in found.jobs
        if (state := overview(source.value).state) not in (*FINISHED_STATES, "Suspended") and source.title not in moved
    ]


def _is_spent(item: Item, journal: Journal) -> bool:
    """Whether its TrainJob may have trained, and a rollback found it gone: another one would train again."""
    made = [record for record in journal.records if record.job == item.title and record.kind == TRAIN_JOBS.kind]
    return bool(made) and made[-1].phase == "undone" and was_started(made)


def _over(items: Iterable[Item], journal: Journal) -> set[str]:
    """The jobs for which every write was done."""
    last = {record.step: record for record in journal.records if record.kind == TRAIN_JOBS.kind}
    done = {(record.job, record.verb) for record in last.values() if record.phase == "done"}
    wanted = {"create": {"create"}, "move": {"create", "patch"}}
    return {item.title for item in items if all((item.title, verb) in done for verb in wanted[item.action])}
