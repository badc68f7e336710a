"""`migrate rollback`: undoes the writes of a plan."""

from __future__ import annotations

import asyncio

import typer
from rich.text import Text

from shunter.api.formats.counts import count, listed
from shunter.api.resources import TRAINING_RUNTIMES
from shunter.cli.migrate import exit_codes
from shunter.cli.migrate.options.moving import (
    UNDO_COLOURS,
    DryRunOption,
    JournalOption,
    PlanOption,
    YesOption,
    confirm,
    journal_of,
    known_journal,
)
from shunter.cli.output.console import errors, output, say
from shunter.cli.target import ContextOption, KubeconfigOption, connect
from shunter.migrate.moving import gathering, rolling_back
from shunter.migrate.moving.plan import read
from shunter.migrate.moving.rollback_decisions import Undo
from shunter.migrate.own_files import beside


def rollback(
    path: PlanOption,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = "",
    journal: JournalOption = None,
    dry_run: DryRunOption = False,
    yes: YesOption = False,
) -> None:
    """Undo the steps recorded in the journal, latest first. Shows them, asks for confirmation, undoes them.

    Leaves objects that were changed since, and lists them. Never starts a finished training again and never loses one: a
    TrainJob stays until its v1 job exists again. Exit codes: 0, also if jobs that succeeded are kept; 6 if
    something else was not undone.
    """
    plan = read(path)
    target = connect(kubeconfig, context)
    crd_copies = beside(path, "definitions")

    async def run() -> bool:
        async with target.client as client:
            await gathering.require_cluster_of(client, plan)
            known = await known_journal(plan, path, journal, client)
            previewed = await rolling_back.preview(client, known, plan, crd_copies)
            if not previewed:
                say("nothing to undo")
                return True
            if dry_run or not yes or all(undo.has_finished for undo in previewed):
                for undo in previewed:
                    show_undo(undo, would=True)
            if dry_run:
                say("nothing was changed")
                return True
            if all(undo.has_finished for undo in previewed):
                say("nothing else to undo")
                print_finished(previewed)
                return True
            confirm(f"Undo this in {target.description}?", yes=yes)
            # After a preview only undo steps that differ from it are printed.
            previewed_steps = set() if yes else {(undo.record.step, undo.verdict, undo.why) for undo in previewed}

            def done(undo: Undo, failure: str) -> None:
                if (undo.record.step, undo.verdict, undo.why) not in previewed_steps:
                    show_undo(undo)
                if failure:
                    show_failure(undo, failure)

            with journal_of(plan, path, journal, client) as written:
                await written.load()
                outcomes = await rolling_back.roll_back(client, written, plan, crd_copies, done)
            done_all = [undo for undo, failure in outcomes if not failure]
            say(f"undone: {sum(undo.is_undone for undo in done_all)} of {count(len(outcomes), 'write')}")
            print_finished(done_all)
            return sum(undo.is_over for undo in done_all) == len(outcomes)

    if not asyncio.run(run()):
        raise typer.Exit(exit_codes.INCOMPLETE)


def print_finished(undos: list[Undo]) -> None:
    """Prints which jobs are kept because they have finished."""
    runtimes = TRAINING_RUNTIMES.kind
    jobs = list(dict.fromkeys(undo.record.job for undo in undos if undo.has_finished and undo.record.kind != runtimes))
    if jobs:
        say(f"kept {count(len(jobs), 'finished job')}, which would train again if undone: {listed(jobs)}")


def show_undo(undo: Undo, *, would: bool = False) -> None:
    """Prints how one write is undone, with the reason; in a preview (`would`) how it would be."""
    word = f"would {undo.verdict}" if would and undo.is_write else undo.verdict
    output().print(Text.assemble((word, UNDO_COLOURS[undo.verdict]), f" {undo.record.title}: {undo.why}"), soft_wrap=True)


def show_failure(undo: Undo, failure: str) -> None:
    """Prints on standard error why a write was not undone."""
    errors().print(Text.assemble(("failed", "bold red"), f" {undo.record.title}: {failure}"), soft_wrap=True)
