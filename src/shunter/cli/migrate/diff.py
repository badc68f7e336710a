"""`migrate diff`: the pods of a v1 job and of its conversion, side by side."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from shunter.cli.migrate.findings.printing import finding_json, print_findings, unchecked_code
from shunter.cli.migrate.findings.suppressions import ConfigurationOption
from shunter.cli.migrate.options.conversion import ConversionOptions, SuffixOption
from shunter.cli.migrate.options.form import Form, FormOption
from shunter.cli.migrate.options.inputs import InputOptions
from shunter.cli.migrate.proving import AgainstOption, JobsArgument, proven
from shunter.cli.options.option_groups import grouped
from shunter.cli.output import console
from shunter.cli.output.console import output, print_table, say
from shunter.cli.output.progress import counting
from shunter.migrate.conversion.one_job import Conversion
from shunter.migrate.pods.showing import shown_place, shown_value
from shunter.migrate.proof.comparison import Comparison, compared
from shunter.migrate.proof.proving import UNPROVED
from shunter.migrate.proof.side_by_side import Block, as_json, blocks, differs, expected_reasons

COLOURS = {"same": "dim", "expected": "dim", "reported": "yellow", "unexplained": "bold red"}
SIGNS = {"same": " ", "expected": "=", "reported": "~", "unexplained": "!"}


@grouped
def diff(
    *,
    jobs: JobsArgument = None,
    source: InputOptions,
    against: AgainstOption = None,
    full: Annotated[bool, typer.Option("--full", help="Also show equal fields and expected differences.")] = False,
    form: FormOption = Form.table,
    configuration: ConfigurationOption = None,
    flags: ConversionOptions,
    suffix: SuffixOption = "",
) -> None:
    """Show how the pods of v1 jobs and of their TrainJobs differ, rank by rank. No cluster is needed.

    Signs: ! unexplained, ~ explained by a finding of the conversion, = caused by how v2 works, ? a program reads a value that
    differs in v2, and its use of the value is not compared.
    Exit codes, as of kubectl diff: 0 only expected differences, 1 other differences, or a program reads a value that differs,
    above 1 wrong flags or an unreadable file.
    """
    options = flags.meaning(suspend=source.cluster, suffix=suffix)
    provable = proven(jobs or [], options, source, against=against or [], configuration=configuration)
    found, faults = provable.conversions, provable.faults

    print_findings(faults, with_notes=False)
    shown, is_different = [], False
    # In a terminal the printed comparisons show the progress; a bar would interrupt them.
    is_terminal = form is not Form.json and output().is_terminal
    with nullcontext(lambda count: None) if is_terminal else counting("comparing", len(found)) as advance:
        for conversion in found:
            comparison = compared(conversion, options)
            is_different = is_different or differs(comparison) or not comparison.is_alike or bool(conversion.unproved)
            if form is Form.json:
                shown.append({**as_json(comparison), "unproved": [finding_json(finding) for finding in conversion.unproved]})
            else:
                print_comparison(conversion, comparison, full=full)
            advance(1)
    if form is not Form.json and (unread := unchecked_code(found)):
        say(unread)
    if form is Form.json:
        console.print_as(shown, console.Output.json)
    raise typer.Exit(2 if any(finding.is_blocking for finding in faults) else int(is_different))


def print_comparison(conversion: Conversion, comparison: Comparison, *, full: bool) -> None:
    """Prints one job: a title, the differences to review, and a line about expected ones."""
    console = output()
    train_job = conversion.train_job["metadata"]
    name = train_job.get("name") or f"{train_job.get('generateName', '')}*"
    runtime = (conversion.train_job["spec"].get("runtimeRef") or {}).get("name", "")
    pods = len(comparison.matched.pairs) if comparison.matched else 0
    heading = f"{conversion.source.title} -> TrainJob {name} ({runtime}), {pods} pod{'' if pods == 1 else 's'}"
    console.print(Text(heading, style="bold"), soft_wrap=True)
    for block in blocks(comparison, full=full):
        _print_block(block)
    for finding in comparison.findings:
        if finding.topic.id != "PROOF001":
            style = "bold red" if finding.is_blocking else "cyan"
            console.print(Text.assemble(("  " + finding.topic.id, style), f" {finding.message}"), soft_wrap=True)
    for finding in conversion.unproved:
        console.print(
            Text.assemble(("  ? " + finding.topic.id, "yellow"), f" {finding.place}: {finding.message}"), soft_wrap=True
        )
    if conversion.unproved:
        console.print(Text(f"  ? The comparison covers only what manifests say, {UNPROVED}.", style="yellow"), soft_wrap=True)
    reasons = expected_reasons(comparison)
    if reasons and not full:
        total = sum(count for _, count in reasons)
        expected = "; ".join(f"{reason} ({count})" for reason, count in reasons)
        console.print(Text(f"  = {total} as expected: {expected}.", style="dim"), soft_wrap=True)


def _print_block(block: Block) -> None:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("")
    table.add_column(block.title)
    half = 1 if sys.stdout.isatty() else None  # two columns of one width, where the width is a screen's
    table.add_column(block.hosts[0] or "(not in v1)", ratio=half)
    table.add_column(block.hosts[1] or "(not in v2)", ratio=half)
    table.add_column("")
    for row in block.rows:
        style = COLOURS[row.sameness]
        cells = (SIGNS[row.sameness], shown_place(row.place) or "the pod", shown_value(row.v1), shown_value(row.v2), row.reason)
        table.add_row(*(Text(cell, style=style) for cell in cells))
    print_table(table)
