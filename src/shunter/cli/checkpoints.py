"""`checkpoints`: the checkpoints that jobs of programs have saved, on this machine or in a bucket."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated

import msgspec
import typer
from rich.table import Table

from shunter.cli.options.completion import job_names
from shunter.cli.output.console import Output, plain_table, print_as, print_table, say
from shunter.cli.target import ContextOption, KubeconfigOption, NamespaceOption, connect
from shunter.jobs.ages import age
from shunter.launch.checkpoints.listing import listed_checkpoints
from shunter.launch.checkpoints.saved import SavedCheckpoints, SavedStep
from shunter.launch.code.packing import shown_bytes


def checkpoints(
    job: Annotated[
        str, typer.Argument(metavar="JOB", autocompletion=job_names, help="Name of the job [default: all jobs].")
    ] = "",
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = "",
    namespace: NamespaceOption = "",
    form: Annotated[Output, typer.Option("-o", "--output", help="table, json or yaml.")] = Output.table,
) -> None:
    """List the checkpoints of a job started with shunter run, newest first; without a job, of all jobs that have any.

    Lists checkpoints in directories of the embedded cluster, including those of deleted jobs, and for a named job those in its
    bucket (with your credentials). Resume from one with: shunter run PROGRAM --resume JOB. A checkpoint without .metadata is
    incomplete: it is still being saved, or its save was interrupted.
    """
    found = asyncio.run(listed_checkpoints(connect(kubeconfig, context), job, namespace))
    if form is not Output.table:
        print_as([msgspec.to_builtins(one) for one in found], form)
    elif job:
        (only,) = found
        if only.job != job:
            say(f"{job} saves in the location of {only.job}: {only.directory}")
        print_table(steps_table(only.steps))
    elif found:
        print_table(jobs_table(found))
    else:
        whose = f"no job of namespace {namespace}" if namespace else "no job"
        say(f"{whose} has saved a checkpoint on this machine")


def steps_table(steps: Sequence[SavedStep]) -> Table:
    """A line for each checkpoint of a job, the newest first."""
    table = plain_table("STEP", "SIZE", "AGE", "")
    for step in steps:
        table.add_row(str(step.step), shown_bytes(step.size), age(step.saved), "" if step.is_complete else "incomplete")
    return table


def jobs_table(found: Sequence[SavedCheckpoints]) -> Table:
    """A line for each job: its newest complete checkpoint, and the number and total size of all."""
    table = plain_table("NAMESPACE", "JOB", "NEWEST", "AGE", "STEPS", "SIZE")
    for one in found:
        complete = [step for step in one.steps if step.is_complete]
        size = sum(step.size for step in one.steps)
        newest = (str(complete[0].step), age(complete[0].saved)) if complete else ("none", "")
        table.add_row(one.namespace, one.job, *newest, str(len(complete)), shown_bytes(size))
    return table
