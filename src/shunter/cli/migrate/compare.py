"""`migrate compare`: whether two runs trained the same."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from shunter.cli.migrate import exit_codes
from shunter.cli.migrate.compare_plan import compared_by_plan, record_verdict
from shunter.cli.migrate.comparison_output import exit_code, plain, print_list, print_run_comparison
from shunter.cli.migrate.options.form import Form, FormOption
from shunter.cli.options.option_groups import grouped
from shunter.cli.output.console import Output, print_as, say
from shunter.cli.target import ContextOption, KubeconfigOption, NamespaceOption, connect
from shunter.errors import InputError
from shunter.jobs.logs.metrics import MetricPattern, metric_pattern
from shunter.migrate.moving.runs.comparison import Comparison, Tolerance, compared
from shunter.migrate.moving.runs.record import Run, encoded, stored
from shunter.migrate.moving.runs.sources import with_metrics_of
from shunter.migrate.use_cases.compare import runs
from shunter.migrate.writing import require_writable, write_whole

SourcesOption = Annotated[
    list[str] | None, typer.Option(help="Additional metrics: tensorboard:DIR, mlflow:URI#RUN or log:FILE; repeatable.")
]


class ComparisonOptions(NamedTuple):
    """The options of `compare` and `test`. Tolerances are shares (0.01 is 1 %), except `absolute`."""

    metrics: Annotated[
        list[str] | None,
        typer.Option("--metric", help="Metric in logs: NAME, or NAME=REGEX with a group for the value; repeatable."),
    ] = None
    relative: Annotated[float, typer.Option("--relative", min=0, help="Relative tolerance of metrics.")] = 0.01
    absolute: Annotated[float, typer.Option("--absolute", min=0, help="Absolute tolerance of metrics.")] = 1e-6
    throughput: Annotated[float, typer.Option("--throughput", min=0, help="Relative tolerance of steps per second.")] = 0.05
    first_steps: Annotated[int, typer.Option("--first-steps", min=0, help="Number of steps to compare one by one.")] = 10

    def tolerance(self) -> Tolerance:
        """Without the metrics, which `patterns` has."""
        return Tolerance(relative=self.relative, absolute=self.absolute, throughput=self.throughput, first_steps=self.first_steps)

    def patterns(self) -> list[MetricPattern]:
        """The metrics to look for in logs. Raises InputError for an invalid one."""
        return [metric_pattern(text) for text in self.metrics or []]


@grouped
def compare(
    *,
    jobs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[ORIGINAL] [SUCCESSOR]",
            help="NAME or KIND/NAME [default SUCCESSOR: the latest trial of ORIGINAL, or its TrainJob].",
        ),
    ] = None,
    plan: Annotated[
        Path | None,
        typer.Option(
            help="Compare the jobs of this plan (all, or the named one) with their TrainJobs, using the runs saved by apply."
        ),
    ] = None,
    baseline: Annotated[Path | None, typer.Option(help="File written by --export-baseline, instead of ORIGINAL.")] = None,
    export_baseline: Annotated[Path | None, typer.Option(help="Write the data of ORIGINAL's run to this file.")] = None,
    original_metrics: SourcesOption = None,
    successor_metrics: SourcesOption = None,
    comparing: ComparisonOptions,
    form: FormOption = Form.table,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = "",
    namespace: NamespaceOption = "",
) -> None:
    """Compare two runs: process groups, outcome, resources, metrics step by step, speed.

    Runs without a difference are equal; what could not be observed is listed. Runs are not comparable if one has not finished,
    both failed, or one reports no finite value where the other does; each reason comes with a remedy. A verdict on the TrainJob
    of a plan is recorded on it for `migrate cleanup`.
    Exit codes: 0 equal or within tolerance, 1 not comparable or no such job, 5 different.
    """
    names = list(jobs or [])
    if plan is not None:
        if baseline or export_baseline or original_metrics or successor_metrics or len(names) > 1:
            raise InputError(
                "--plan takes both runs of each job itself.", "Name at most ORIGINAL, and none of the other sources."
            )
        raise typer.Exit(_by_plan(plan, kubeconfig, context, names, comparing, form))
    if not names or len(names) > (1 if baseline else 2) or (baseline and export_baseline):
        raise InputError(
            f"{len(names)} jobs are named{' beside --baseline' if baseline else ''}.",
            "Name ORIGINAL and SUCCESSOR, or ORIGINAL with --export-baseline FILE, or --baseline FILE and SUCCESSOR.",
        )
    tolerance = comparing.tolerance()
    extra = comparing.patterns()
    saved = stored(baseline) if baseline else None
    if export_baseline:
        require_writable(export_baseline)
    original_name = "" if saved else names.pop(0)
    wants_successor = bool(names) or not export_baseline

    async def both() -> tuple[Run, Run | None]:
        async with connect(kubeconfig, context).client as client:
            return await runs(client, original_name, *names, namespace=namespace, metrics=extra, wants_successor=wants_successor)

    read, successor = asyncio.run(both())
    original = _with_metrics(saved or read, original_metrics or [], extra)
    if export_baseline:
        write_whole(export_baseline, encoded(original).decode())
        say(f"wrote {export_baseline}: {original.title}, {original.state}")
    if successor is not None:
        comparison = compared(original, _with_metrics(successor, successor_metrics or [], extra), tolerance)
        asyncio.run(_record(kubeconfig, context, comparison))
        raise typer.Exit(print_run_comparison(comparison, form))


def _by_plan(
    plan: Path, kubeconfig: Path | None, context: str, names: Sequence[str], comparing: ComparisonOptions, form: Form
) -> int:
    """Prints the comparisons of a plan's jobs; returns the exit code of the worst."""
    target = connect(kubeconfig, context)
    found = asyncio.run(compared_by_plan(plan, target, names, comparing.tolerance(), comparing.patterns()))
    if form is Form.json:
        print_as([plain(comparison) for comparison in found], Output.json)
    elif names and len(found) == 1:
        return print_run_comparison(found[0])
    elif found:
        print_list(found)
    else:
        say("nothing to compare")
    return max((exit_code(comparison) for comparison in found), default=exit_codes.OK)


async def _record(kubeconfig: Path | None, context: str, comparison: Comparison) -> None:
    async with connect(kubeconfig, context).client as client:
        await record_verdict(client, comparison)


def _with_metrics(run: Run, sources: Sequence[str], extra: Sequence[MetricPattern]) -> Run:
    for source in sources:
        run = with_metrics_of(run, source, extra=extra)
    return run
