"""`plot`: a metric of a job as a curve in the terminal."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from shunter.cli.options.completion import ranks
from shunter.cli.options.job_argument import JobArgument
from shunter.cli.output.console import Output, output, print_as, say
from shunter.cli.output.live import refuse_without_braille, screen_size
from shunter.cli.target import ContextOption, KubeconfigOption, NamespaceOption, connect
from shunter.errors import InputError
from shunter.jobs.curves import Curve, curves, metric_names
from shunter.jobs.job_view import JobView, JobViewReader
from shunter.jobs.logs.metrics import metric_pattern
from shunter.jobs.lookup import find
from shunter.jobs.plot import plotted
from shunter.jobs.rank_states import unknown_rank
from shunter.kube.client import Client
from shunter.operator.overview import Overview

HEIGHT = 16
SOURCES = {"log": "from the logs", "trainerStatus": "as its program reports it"}


def plot(
    job: JobArgument,
    metric: Annotated[
        str,
        typer.Option("--metric", help="NAME, or NAME=REGEX for a metric that is not found [default: the loss]."),
    ] = "",
    rank: Annotated[int | None, typer.Option("--rank", autocompletion=ranks, help="Only this rank.")] = None,
    form: Annotated[Output, typer.Option("-o", "--output", help="table (the curve), json or yaml.")] = Output.table,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = "",
    namespace: NamespaceOption = "",
) -> None:
    """Plot a metric of a job as text.

    Values come from the logs of the first ranks, or from what the program reports to the job's status. A status has only the last
    values: `shunter top` collects them while it runs.
    """
    view = asyncio.run(_viewed(connect(kubeconfig, context).client, job, namespace, metric, rank))
    found = _chosen(view, metric.partition("=")[0])
    if view.unread_logs:
        say(f"logs not read: {view.unread_logs}")
    if form is not Output.table:
        print_as(found, form)
        return
    refuse_without_braille(sys.stdout, "-o json prints the values")
    output().print(title(view.row, found), style="bold", soft_wrap=True)
    width, height = screen_size()
    for line in plotted(found, width=width, height=min(HEIGHT, height - 2)) or ["no value is a finite number"]:
        output().print(line, soft_wrap=True)
    if all(len(curve.points) == 1 for curve in found):
        say("there is only one value so far")


def title(row: Overview, found: Sequence[Curve]) -> str:
    """`loss of PyTorchJob n/bert, from the logs of rank 0: 0.412 at step 1220`."""
    first = found[0]
    known = [curve.rank for curve in found if curve.rank is not None]
    which = f" of rank{'s' * (len(known) > 1)} {', '.join(map(str, known))}" if known else ""
    last = first.points[-1]
    value = "not finite" if last.value is None else f"{last.value:.6g}"
    source = SOURCES.get(first.source, first.source)
    return f"{first.name} of {row.kind} {row.namespace}/{row.name}, {source}{which}: {value} at {first.axis} {last.x:.6g}"


async def _viewed(client: Client, name: str, namespace: str, metric: str, rank: int | None) -> JobView:
    extra = (metric_pattern(metric),) if "=" in metric else ()
    async with client:
        _, job = await find(client, name, namespace, on_refusal=say)
        view = await JobViewReader(client, extra=extra).read(job, None if rank is None else [rank])
    if rank is not None and rank not in {one.rank for one in view.states}:
        raise unknown_rank(job, rank, len(view.states))
    return view


def _chosen(view: JobView, metric: str) -> list[Curve]:
    names = metric_names(view.series)
    title = view.row.title
    pattern = f"Give a pattern: --metric '{metric or 'loss'}=REGEX' with a group for the value."
    if not names and view.unread_logs:
        raise InputError(f"{title}: its reports have no metric, and its logs could not be read: {view.unread_logs}")
    if not names:
        raise InputError(f"{title}: neither its logs nor its reports have a metric.", pattern)
    if metric and metric not in names:
        raise InputError(f"{title}: there is no metric {metric!r}; there are {', '.join(names)}.", pattern)
    return curves(view.series, metric or names[0])
