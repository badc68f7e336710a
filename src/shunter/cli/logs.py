"""`logs`: what the ranks of a job print."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from shunter.cli.options.completion import ranks
from shunter.cli.options.job_argument import JobArgument
from shunter.cli.options.log_options import LogOptions, PreviousOption, SinceOption, TailOption, TimestampsOption
from shunter.cli.output.log_printing import print_logs
from shunter.cli.target import ContextOption, KubeconfigOption, NamespaceOption, connect


def logs(
    job: JobArgument,
    rank: Annotated[int | None, typer.Option("--rank", autocompletion=ranks, help="Only this rank.")] = None,
    follow: Annotated[bool, typer.Option("-f", "--follow", help="Follow the logs until the job ends.")] = False,
    tail: TailOption = -1,
    since: SinceOption = "",
    previous: PreviousOption = False,
    timestamps: TimestampsOption = False,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = "",
    namespace: NamespaceOption = "",
) -> None:
    """Print the logs of one rank or all ranks of a job, each line prefixed with its rank.

    Only existing pods have logs: the log of a deleted or replaced pod is lost.
    """
    options = LogOptions(tail, since, previous, timestamps)
    options.part(follow=follow)
    asyncio.run(print_logs(connect(kubeconfig, context).client, job, namespace, rank, follow=follow, options=options))
