"""`migrate backup`: all jobs of a cluster as manifests."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shunter.api.counts import count
from shunter.cli.migrate import exit_codes
from shunter.cli.migrate.options.moving import NamespacesOption, tell_each
from shunter.cli.output.console import say
from shunter.cli.target import ContextOption, KubeconfigOption


def backup(
    directory: Annotated[Path, typer.Argument(help="Where to; it must be new or empty.")],
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = "",
    namespaces: NamespacesOption = None,
    verify: Annotated[
        bool, typer.Option("--verify/--no-verify", help="Ask the server, in a dry run, whether it would take each object back.")
    ] = True,
) -> None:
    """Write all jobs of both generations, and their runtimes, into a folder: one clean manifest each, and an index with hashes.

    Secrets are never read: what jobs need of them stands in the index by name. Exit codes: 0, 6 when all of it is written and
    the server would not take some of it back as it is: each is named, here and in the index.
    """
    import asyncio
    from datetime import UTC, datetime

    from shunter.cli.output.progress import counting
    from shunter.cli.target import connect
    from shunter.migrate.backup import taking
    from shunter.migrate.backup.index import Index
    from shunter.migrate.source.live import require_namespaces

    target = connect(kubeconfig, context)

    async def run() -> Index:
        async with target.client as client:
            await require_namespaces(client, namespaces or [])
            objects = await taking.everything(client, namespaces or [])
            with counting("backing up", len(objects)) as advance:
                return await taking.take(
                    client,
                    directory,
                    objects,
                    server=target.description,
                    now=datetime.now(UTC),
                    verify=verify,
                    done=lambda title: advance(1),
                )

    index = asyncio.run(run())
    tell_each("written, but the server would not take these back as they are:", ((e.title, e.refused) for e in index.refused))
    accepted = "each" if not index.refused else f"{len(index.objects) - len(index.refused)}"
    checked = f"{accepted} accepted by the server in a dry run" if index.verified else "not verified"
    say(f"{directory}: {count(len(index.objects), 'object')}, {checked}")
    if index.refused:
        raise typer.Exit(exit_codes.INCOMPLETE)
