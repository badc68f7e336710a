"""`migrate backup`: writes all jobs of a cluster as manifests."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from shunter.api.formats.counts import count
from shunter.cli.migrate import exit_codes
from shunter.cli.migrate.options.moving import NamespacesOption, print_list
from shunter.cli.output.console import say
from shunter.cli.output.progress import counting
from shunter.cli.target import ContextOption, KubeconfigOption, connect
from shunter.migrate.conversion.source.live import require_namespaces
from shunter.migrate.moving.backup import saving
from shunter.migrate.moving.backup.index import Index


def backup(
    directory: Annotated[Path, typer.Argument(help="Directory to write to; must be new or empty.")],
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = "",
    namespaces: NamespacesOption = None,
    verify: Annotated[
        bool,
        typer.Option("--verify/--no-verify", help="Check by a dry run whether the server would accept each object on restore."),
    ] = True,
) -> None:
    """Write all v1 and v2 jobs and their runtimes to a directory: a clean manifest for each, and an index with hashes.

    Never reads Secrets: the index lists those that jobs need by name. Exit codes: 0, 6 if everything is written but the server
    would reject some objects on restore; they are listed in the output and in the index.
    """
    target = connect(kubeconfig, context)

    async def run() -> Index:
        async with target.client as client:
            await require_namespaces(client, namespaces or [])
            objects = await saving.everything(client, namespaces or [])
            with counting("backing up", len(objects)) as advance:
                return await saving.take(
                    client,
                    directory,
                    objects,
                    server=target.description,
                    now=datetime.now(UTC),
                    verify=verify,
                    done=lambda title: advance(1),
                )

    index = asyncio.run(run())
    print_list("written, but the server would reject these on restore:", ((e.title, e.refused) for e in index.refused))
    accepted = "each" if not index.refused else f"{len(index.objects) - len(index.refused)}"
    checked = f"{accepted} accepted by the server in a dry run" if index.verified else "not verified"
    say(f"{directory}: {count(len(index.objects), 'object')}, {checked}")
    if index.refused:
        raise typer.Exit(exit_codes.INCOMPLETE)
