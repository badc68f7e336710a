"""`delete`: deletes a job, its pods, and the files that `run` sent for it, without asking first."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer
from rich.text import Text

from shunter.api.meta import annotations_of
from shunter.api.titles import object_title
from shunter.cli.options.job_argument import JobArgument
from shunter.cli.output.console import busy, say
from shunter.cli.target import ContextOption, KubeconfigOption, NamespaceOption, connect
from shunter.errors import InputError
from shunter.jobs.lookup import find
from shunter.launch.annotations import DIGEST, PROGRAM
from shunter.launch.deleting import delete_and_wait, delete_leftovers


def delete(
    job: JobArgument,
    now: Annotated[bool, typer.Option("--now", help="Give pods one second to end instead of their grace period.")] = False,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = "",
    namespace: NamespaceOption = "",
) -> None:
    """Delete a job and its pods, and wait until they are gone.

    Pods have their terminationGracePeriodSeconds (default 30) to end after SIGTERM. Prints the latest saved checkpoint of a job
    that ran, if its directory, log or reports show one.
    """

    async def run() -> str:
        target = connect(kubeconfig, context)
        async with target.client as client:
            try:
                resource, found = await find(client, job, namespace, on_refusal=say)
            except InputError:
                if await delete_leftovers(client, namespace, job, notify=say):
                    return f"the files that were sent for {job}; the job itself does not exist"
                raise
            await delete_and_wait(client, resource, found, notify=say, now=now, on_this_machine=target.embedded is not None)
            metadata = found["metadata"]
            if PROGRAM in (annotations := annotations_of(found)):
                digest = annotations.get(DIGEST, "")
                await delete_leftovers(client, metadata["namespace"], metadata["name"], digest, notify=say)
            return object_title(resource.kind, metadata["namespace"], metadata["name"])

    with busy(Text(f"deleting {job}")):
        title = asyncio.run(run())
    say(f"deleted {title}")
