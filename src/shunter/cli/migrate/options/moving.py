"""What verbs that move jobs have in common: flags, the plan and its journal, the question before a write, the screen."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Annotated

import typer
from rich.text import Text

from shunter.cli.output.console import errors, note, output
from shunter.cli.output.progress import Advance, counting
from shunter.errors import InputError
from shunter.kube.client import Client
from shunter.migrate.moving.applying import Outcome, Verdict
from shunter.migrate.moving.journal import Journal
from shunter.migrate.moving.plan import Plan
from shunter.migrate.own_files import beside

NamespacesOption = Annotated[
    list[str] | None, typer.Option("-n", "--namespace", help="Only jobs of this namespace; repeatable [default: all].")
]
PlanOption = Annotated[Path, typer.Option("--plan", help="Plan file written by `migrate plan`.")]
JournalOption = Annotated[Path | None, typer.Option("--journal", help="Directory of the journal [default: PLAN.journal].")]
YesOption = Annotated[bool, typer.Option("-y", "--yes", help="Skip the confirmation.")]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Print what would be done; change nothing.")]

COLOURS: dict[Verdict, str] = {
    "done": "green",
    "already done": "dim",
    "unchanged": "dim",
    "refused": "bold red",
    "waiting": "yellow",
    "skipped": "yellow",
}
UNDO_COLOURS = {"delete": "red", "patch": "yellow", "create": "green", "nothing": "dim", "keep": "cyan", "refuse": "bold red"}


def journal_of(plan: Plan, path: Path, directory: Path | None, client: Client) -> Journal:
    """The journal of the plan in the file `path`, in `directory` or beside the file; not loaded yet."""
    return Journal(directory or beside(path, "journal"), plan.id, client, plan.journal_namespace)


async def known_journal(plan: Plan, path: Path, directory: Path | None, client: Client) -> Journal:
    """The journal, loaded for reading only. Prints a note if a part of it could not be read."""
    journal = journal_of(plan, path, directory, client)
    await journal.load()
    if journal.unread:
        note(f"the journal's ConfigMaps were not read: {journal.unread}")
    return journal


def confirm(question: str, *, yes: bool) -> None:
    """Returns if the user confirms. Raises InputError without a terminal, and Abort if the user declines."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise InputError("nothing was changed: no terminal for the confirmation.", "Add --yes, or preview with --dry-run.")
    typer.confirm(question, abort=True, err=True)


class MovingScreen:
    """Prints a line for each step; in a terminal with a progress bar."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._advance: Advance = lambda count: None

    def __enter__(self) -> MovingScreen:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stack.close()

    def begin(self, total: int) -> None:
        """Shows the bar for so many steps, in place of an earlier one."""
        self._stack.close()
        self._advance = self._stack.enter_context(counting("applying", total))

    def done(self, outcome: Outcome) -> None:
        """Prints the outcome of a step, and advances the bar."""
        self._advance(1)
        show(outcome)


def show(outcome: Outcome, *, would: bool = False) -> None:
    """Prints the outcome on standard output; that of a step that was already done only in a preview (`would`)."""
    if outcome.verdict == "already done" and not would:
        return
    word = "would" if would and outcome.verdict == "done" else outcome.verdict
    why = f": {outcome.why}" if outcome.why else ""
    output().print(Text.assemble((word, COLOURS[outcome.verdict]), f" {outcome.step.title}{why}"), soft_wrap=True)


def print_list(heading: str, entries: Iterable[tuple[str, str]]) -> None:
    """Prints a heading and objects, each with a reason, on standard error."""
    listed = list(entries)
    if not listed:
        return
    errors().print(heading, style="bold", soft_wrap=True)
    for name, why in listed:
        errors().print(f"  {name}{': ' if why else ''}{why}", soft_wrap=True)
