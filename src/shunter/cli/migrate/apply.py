"""`migrate apply`, and `live-migrate`, which plans and applies in one step."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from shunter.api.formats.counts import count
from shunter.cli.migrate import exit_codes
from shunter.cli.migrate.options.conversion import ConversionOptions, SuffixOption
from shunter.cli.migrate.options.moving import (
    DryRunOption,
    JournalOption,
    MovingScreen,
    NamespacesOption,
    PlanOption,
    YesOption,
    confirm,
    journal_of,
    known_journal,
    print_list,
    show,
)
from shunter.cli.migrate.plan import (
    FreezeOption,
    JournalNamespaceOption,
    Running,
    RunningOption,
    Strategy,
    StrategyOption,
    plan_options_of,
    planned_for,
    print_plan,
)
from shunter.cli.options.option_groups import grouped
from shunter.cli.output.console import say
from shunter.cli.target import ContextOption, KubeconfigOption, connect
from shunter.cluster.target import Target
from shunter.errors import InputError
from shunter.migrate.moving import applying, gathering, remove_v1, run_plan
from shunter.migrate.moving.plan import Plan, read, text
from shunter.migrate.moving.planning import PlanOptions
from shunter.migrate.moving.source_patches import SourcePatch
from shunter.migrate.own_files import beside
from shunter.migrate.writing import write_whole

WaveOption = Annotated[list[str] | None, typer.Option("--wave", help="Only this wave of the plan; repeatable.")]


def apply(
    path: PlanOption,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = "",
    waves: WaveOption = None,
    finalize: Annotated[
        bool, typer.Option("--finalize", help="Only remove the freeze and v1's CRDs that are no longer needed.")
    ] = False,
    journal: JournalOption = None,
    dry_run: DryRunOption = False,
    yes: YesOption = False,
) -> None:
    """Execute a migration plan: the freeze, then wave by wave. After an interruption, run it again to continue.

    Each write is recorded in a journal (a file and ConfigMaps) before it is made; `migrate rollback` undoes the recorded writes.
    Exit codes: 0 completed, 6 incomplete (a rollback is available).
    """
    plan = read(path)
    target = connect(kubeconfig, context)
    if finalize:
        finalized(plan, path, target, journal, dry_run=dry_run, yes=yes)
    else:
        applied(plan, path, target, waves or [], journal, dry_run=dry_run, yes=yes)


@grouped
def live_migrate(
    *,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = "",
    namespaces: NamespacesOption = None,
    path: PlanOption = Path("migration-plan.yaml"),
    strategy: StrategyOption = Strategy.side_by_side,
    running: RunningOption = Running.wait,
    freeze: FreezeOption = None,
    journal_namespace: JournalNamespaceOption = "default",
    flags: ConversionOptions,
    suffix: SuffixOption = "",
    dry_run: DryRunOption = False,
    yes: YesOption = False,
) -> None:
    """Plan and apply in one step: shows the steps, asks for confirmation, executes them. Keeps the plan for status and rollback.

    If the plan file exists, continues with that plan; after an interruption, run it again.
    """
    plan_options = plan_options_of(namespaces, strategy, running, freeze, journal_namespace)
    if path.exists():
        plan = resumed(path, connect(kubeconfig, context), plan_options)
        applied(plan, path, connect(kubeconfig, context), [], None, dry_run=dry_run, yes=yes)
        return
    plan = planned_for(connect(kubeconfig, context), plan_options, flags.meaning(suspend=True, suffix=suffix), None)
    print_plan(plan)
    if dry_run:
        say(f"the plan would be in {path} (not written in a dry run)")

    def save_plan() -> None:
        write_whole(path, text(plan))
        say(f"the plan is in {path}")

    applied(plan, path, connect(kubeconfig, context), [], None, dry_run=dry_run, yes=yes, before_first_write=save_plan)


def resumed(path: Path, target: Target, plan_options: PlanOptions) -> Plan:
    """The plan in an existing file, unchanged. Prints that it is used, and the jobs that it does not contain. InputError if it is
    of another cluster, or does not match the options."""
    plan = read(path)
    for flag, present, requested in (
        ("--strategy", plan.strategy, plan_options.strategy),
        ("--namespace", ", ".join(plan.namespaces) or "all", ", ".join(plan_options.namespaces) or "all"),
    ):
        if present != requested:
            raise InputError(
                f"--plan {path}: the plan {plan.id} already exists, with {flag} {present} instead of {requested}.",
                "Name another file with --plan.",
            )

    async def unplanned() -> list[str]:
        async with target.client as client:
            try:
                await gathering.require_cluster_of(client, plan)
            except InputError as error:
                raise InputError(f"--plan {path}: {error.message}", "Name another file with --plan.") from error
            planned = {item.title for item in plan.items}
            return [job.title for job in (await gathering.read(client, plan.namespaces)).jobs if job.title not in planned]

    titles = asyncio.run(unplanned())
    say(f"{path} exists: continuing with its plan {plan.id} unchanged; planning options are ignored")
    print_list("not in it (to plan them, name another file with --plan):", ((title, "") for title in titles))
    return plan


def applied(
    plan: Plan,
    path: Path,
    target: Target,
    waves: Sequence[str],
    journal: Path | None,
    *,
    dry_run: bool,
    yes: bool,
    before_first_write: Callable[[], None] = lambda: None,
) -> None:
    """Shows the steps, asks for confirmation, executes them; calls `before_first_write` before it writes."""

    async def run() -> bool:
        async with target.client as client:
            await gathering.require_cluster_of(client, plan)
            known = await known_journal(plan, path, journal, client)
            todo = run_plan.prepared(plan, await gathering.read(client, plan.namespaces), known, waves)
            for outcome in await applying.preview(client, [*todo.first, *todo.steps], known):
                show(outcome, would=True)
            print_list("skipped:", todo.refused.items())
            write_patches(beside(path, "patches"), todo.patches, dry_run=dry_run)
            print_list("these must finish before the replacement starts:", ((title, "") for title in todo.active))
            if dry_run:
                say("nothing was changed")
                return True
            if todo.first or todo.steps:
                confirm(f"Do this in {target.description}?", yes=yes)
            before_first_write()
            with MovingScreen() as screen, journal_of(plan, path, journal, client) as written:
                await written.load()
                backup = path.parent / plan.backup
                done = await run_plan.run(
                    client, plan, written, screen, waves=waves, backup=backup, runs=beside(path, "runs"), now=datetime.now(UTC)
                )
            print_list(f"{backup} has these, but the server would reject them on restore:", done.unrestorable.items())
            return done.is_complete

    if not asyncio.run(run()):
        say(f"incomplete: run it again, or undo it: shunter migrate rollback --plan {path}")
        raise typer.Exit(exit_codes.INCOMPLETE)


def finalized(plan: Plan, path: Path, target: Target, journal: Path | None, *, dry_run: bool, yes: bool) -> None:
    """Deletes the CRDs of v1 if nothing needs them."""

    async def run() -> bool:
        async with target.client as client:
            await gathering.require_cluster_of(client, plan)
            found = await remove_v1.read(client)
            known = await known_journal(plan, path, journal, client)
            print_list("kept:", ((removal.crd, removal.why) for removal in found if removal.step is None))
            to_delete = [removal for removal in found if removal.step is not None]
            print_list("to delete:", ((removal.crd, removal.why) for removal in to_delete))
            unfreeze_steps = remove_v1.unfreeze_steps(plan, known, found)
            print_list("to delete after the last of them:", ((step.title, "") for step in unfreeze_steps))
            if dry_run or not (to_delete or unfreeze_steps):
                say("nothing was changed")
                return len(to_delete) == len(found)
            what = f"{len(to_delete)} CRDs of v1{' and the freeze' if unfreeze_steps else ''}"
            confirm(f"Delete {what} from {target.description}?", yes=yes)
            with MovingScreen() as screen, journal_of(plan, path, journal, client) as written:
                await written.load()
                directory = beside(path, "definitions")
                outcomes, needed = await remove_v1.delete(client, to_delete, written, screen, directory)
                print_list("kept, because they are needed again:", ((removal.crd, removal.why) for removal in needed))
                if not needed and all(outcome.is_complete for outcome in outcomes):
                    outcomes += await applying.apply(client, remove_v1.unfreeze_steps(plan, written, found), written, screen)
            return len(to_delete) == len(found) and not needed and all(outcome.is_complete for outcome in outcomes)

    if not asyncio.run(run()):
        raise typer.Exit(exit_codes.INCOMPLETE)


def write_patches(directory: Path, patches: Sequence[SourcePatch], *, dry_run: bool) -> None:
    """Writes the patches for the sources of owned jobs, and prints where they are."""
    for patch in patches:
        if not dry_run:
            write_whole(directory / patch.file, patch.text)
    if patches:
        where = f"{directory}" if not dry_run else f"{directory} (not written in a dry run)"
        say(f"{count(len(patches), 'job')} owned by another controller; patches for the source: {where}")
