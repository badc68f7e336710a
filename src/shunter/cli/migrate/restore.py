"""`migrate restore`: creates the objects of a backup again."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from shunter.api.formats.counts import count
from shunter.cli.migrate import exit_codes
from shunter.cli.migrate.options.moving import DryRunOption, NamespacesOption, YesOption, confirm
from shunter.cli.output.console import errors, note, output, say
from shunter.cli.target import ContextOption, KubeconfigOption, connect
from shunter.migrate.moving.backup import restoring
from shunter.migrate.moving.backup.index import read_index

COLOURS = {"create": "green", "create suspended": "green", "unchanged": "dim", "leave": "dim", "refuse": "yellow"}


def restore(
    directory: Annotated[Path, typer.Argument(help="Directory written by `migrate backup`.")],
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = "",
    namespaces: NamespacesOption = None,
    resume: Annotated[bool, typer.Option("--resume", help="Start jobs that were neither finished nor suspended.")] = False,
    finished: Annotated[bool, typer.Option("--finished", help="Also restore finished jobs, always suspended.")] = False,
    dry_run: DryRunOption = False,
    yes: YesOption = False,
) -> None:
    """Recreate objects from a backup. Jobs are created suspended; a finished training is never started again.

    Never overwrites existing objects. Exit codes: 0, 6 if an object was rejected.
    """
    index = read_index(directory)
    target = connect(kubeconfig, context)
    choice = restoring.Choice(resume=resume, finished=finished)

    async def run() -> bool:
        async with target.client as client:
            decisions = await restoring.decisions(client, directory, index, choice, namespaces or [])
            for decision in decisions:
                verdict = (decision.verdict, COLOURS[decision.verdict])
                output().print(Text.assemble(verdict, f" {decision.entry.title}: {decision.why}"), soft_wrap=True)
            todo = [decision for decision in decisions if decision.body is not None]
            for need in sorted({f"{d.entry.namespace}: {need}" for d in todo for need in d.entry.needs}):
                note(f"required in the cluster, and not in the backup: {need}")
            if not dry_run and todo:
                confirm(f"Create {count(len(todo), 'object')} in {target.description}?", yes=yes)
            failed = 0
            for decision in todo:
                if failure := await restoring.restore(client, decision, dry_run=dry_run):
                    failed += 1
                    refused = Text.assemble(("refused", "bold red"), f" {decision.entry.title}: {failure}")
                    errors().print(refused, soft_wrap=True)
            return failed == 0 and all(decision.verdict != "refuse" for decision in decisions)

    complete = asyncio.run(run())
    if dry_run:
        say("nothing was changed")
    if not complete:
        raise typer.Exit(exit_codes.INCOMPLETE)
