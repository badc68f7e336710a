"""`checkpoints`: what jobs made from programs have saved on this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from shunter.cli.completion import job_names
from shunter.cli.console import Output, print_as, print_table, say
from shunter.cli.target import ContextOption, KubeconfigOption, NamespaceOption

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from shunter.api.meta import Json
    from shunter.cluster.target import Target
    from shunter.kube.client import Client
    from shunter.launch.checkpoints import SavedStep


def checkpoints(
    job: Annotated[str, typer.Argument(metavar="JOB", autocompletion=job_names, help="Whose [default: all jobs'].")] = "",
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = "",
    namespace: NamespaceOption = "",
    form: Annotated[Output, typer.Option("-o", "--output", help="table, json or yaml.")] = Output.table,
) -> None:
    """List the checkpoints of a job that shunter run made, the newest first; without a job, of all jobs that have some.

    They are those in directories of the embedded cluster, also of jobs that were deleted. Go on from them with: shunter run
    PROGRAM --resume JOB. One without a .metadata is incomplete: it is being saved, or its save was killed.
    """
    import asyncio

    from shunter.cli.target import connect

    found = asyncio.run(found_of(connect(kubeconfig, context), job, namespace))
    if form is not Output.table:
        import msgspec

        rows = [{"namespace": space, "job": name, "steps": msgspec.to_builtins(steps)} for (space, name), steps in found.items()]
        print_as(rows, form)
    elif job:
        (steps,) = found.values()
        print_table(steps_table(steps))
    elif found:
        print_table(jobs_table(found))
    else:
        say("no job has saved a checkpoint on this machine")


Found = dict[tuple[str, str], list["SavedStep"]]
"""Checkpoints by namespace and job."""


async def found_of(target: Target, job: str, namespace: str) -> Found:
    """InputError for a job that has none on this machine, saying where its checkpoints are."""
    from shunter.errors import InputError
    from shunter.launch.checkpoints import saved_checkpoints
    from shunter.launch.objects import checkpoint_place

    async with target.client as client:
        trained = await train_jobs(client, namespace)
    on_this_machine = saved_checkpoints(target.embedded.checkpoints, trained) if target.embedded is not None else {}
    found = {key: steps for key, steps in on_this_machine.items() if namespace in ("", key[0]) and job in ("", key[1])}
    if job and len(found) > 1:
        spaces = ", ".join(space for space, _ in found)
        raise InputError(f"jobs {job!r} of several namespaces have checkpoints: {spaces}.", "Name one with -n.")
    if job and not found:
        kept = ", ".join(checkpoint_place(one) for one in trained if one["metadata"]["name"] == job)
        where = f"It keeps them in {kept}, which is not read from here." if kept else "See which have some: shunter checkpoints"
        raise InputError(f"job {job!r} has saved no checkpoint on this machine.", where)
    return found


async def train_jobs(client: Client, namespace: str) -> list[Json]:
    """None on a cluster that has no TrainJobs."""
    from shunter.api.resources import TRAIN_JOBS
    from shunter.kube.errors import NotFound

    try:
        return list((await client.list(TRAIN_JOBS, namespace)).items)
    except NotFound:
        return []


def steps_table(steps: Sequence[SavedStep]) -> Table:
    """One job's, the newest step first."""
    from rich.table import Table

    from shunter.cli.ages import age
    from shunter.launch.packing import shown_bytes

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("STEP", "SIZE", "AGE", ""):
        table.add_column(column)
    for step in steps:
        table.add_row(str(step.step), shown_bytes(step.size), age(step.saved), "" if step.is_complete else "incomplete")
    return table


def jobs_table(found: Found) -> Table:
    """One line a job: its newest complete step, and what all of them take."""
    from rich.markup import escape
    from rich.table import Table

    from shunter.cli.ages import age
    from shunter.launch.packing import shown_bytes

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("NAMESPACE", "JOB", "NEWEST", "AGE", "STEPS", "SIZE"):
        table.add_column(column)
    for (space, name), steps in found.items():
        complete = [step for step in steps if step.is_complete]
        newest = (str(complete[0].step), age(complete[0].saved)) if complete else ("none", "")
        table.add_row(escape(space), escape(name), *newest, str(len(complete)), shown_bytes(sum(step.size for step in steps)))
    return table
