"""`migrate inventory`: lists every v1 job with its class of effort, and the totals."""

from __future__ import annotations

import asyncio
import sys
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from shunter.cli.migrate import exit_codes
from shunter.cli.migrate.findings.printing import print_findings
from shunter.cli.migrate.findings.suppressions import ConfigurationOption, entries, faults_of, suppressed_findings
from shunter.cli.migrate.options.conversion import ConversionOptions
from shunter.cli.migrate.options.inputs import InputOptions
from shunter.cli.options.option_groups import grouped
from shunter.cli.output.console import output, print_table
from shunter.cli.output.progress import counting
from shunter.migrate.conversion.batch import converted
from shunter.migrate.conversion.source.live import require_namespaces
from shunter.migrate.conversion.source.provider import Input
from shunter.migrate.findings import Finding
from shunter.migrate.options import Options
from shunter.migrate.survey import report as reports
from shunter.migrate.survey.inventory import collecting
from shunter.migrate.survey.inventory.classes import CLASSES
from shunter.migrate.survey.inventory.collecting import InventoryOptions, insides, of_batch
from shunter.migrate.survey.inventory.fleet import Fleet, fleet
from shunter.migrate.survey.inventory.forms import FORMS
from shunter.migrate.survey.inventory.forms.markdown import figures
from shunter.migrate.survey.inventory.row import Row
from shunter.migrate.writing import write_whole

SHOWN = 40
"""The most jobs that are listed one by one; of more only the totals are shown."""
COLOURS = {"finished": "dim", "owned": "cyan", "blocked": "bold red", "complex": "yellow", "standard": "green", "simple": "green"}


class Form(StrEnum):
    """Values of `--output`. Only `table` leaves jobs out if there are many."""

    table = "table"
    csv = "csv"
    json = "json"
    md = "md"
    html = "html"


@grouped
def inventory(
    *,
    source: InputOptions,
    form: Annotated[Form, typer.Option("-o", "--output", help="Format on standard output.")] = Form.table,
    report: Annotated[
        list[str] | None, typer.Option("--report", metavar="FORM=PATH", help="Write csv, json, md or html to a file; repeatable.")
    ] = None,
    configuration: ConfigurationOption = None,
    flags: ConversionOptions,
) -> None:
    """List v1 jobs with the effort to migrate each: simple, standard, complex, blocked, finished or owned, with reasons.

    Read-only. Exit codes: 0, 3 if part of the input could not be read.
    """
    source.require_one_source()
    requested = reports.requested(report or (), tuple(FORMS))
    options = flags.meaning(suspend=source.cluster)
    now = datetime.now(UTC)
    if source.cluster:
        known = entries(configuration)
        jobs, faults = of_cluster(source, collecting.InventoryOptions(options, now, known))
        faults += faults_of(known)
    else:
        read_input, faults = source.read()
        jobs, faults = of_input(read_input, faults, options, configuration, now)
    found = fleet(jobs)
    print_findings(faults, with_notes=False)
    if form is Form.table:
        show(found)
    else:
        sys.stdout.write(FORMS[form](found))
    for name, path in requested:
        write_whole(path, FORMS[name](found))
    if any(fault.is_blocking for fault in faults):
        raise typer.Exit(exit_codes.BLOCKED)


def of_input(
    read_input: Input, faults: list[Finding], options: Options, configuration: Path | None, now: datetime
) -> tuple[list[Row], list[Finding]]:
    """The entries of all jobs of the input, also those within other objects; and the findings about the input itself."""
    jobs = [*read_input.jobs, *(embedded.job for embedded in read_input.embedded)]
    with counting("classifying jobs", len(jobs)) as advance:
        batch = converted(jobs, options, read_input.other_objects, advance)
    batch, faults = suppressed_findings(batch, [*read_input.findings, *read_input.unrendered, *faults], configuration)
    return of_batch(batch, now, insides(read_input)), faults


def of_cluster(source: InputOptions, inventory_options: InventoryOptions) -> tuple[list[Row], list[Finding]]:
    """The entries and findings, as `of_input` returns them, for the jobs of the cluster and namespace that `source` names.
    InputError for a namespace that does not exist."""
    target, namespace = source.target()

    async def listed() -> tuple[list[Row], list[Finding]]:
        with counting("reading jobs") as advance:
            async with target.client as client:
                await require_namespaces(client, [namespace])
                return await collecting.of_cluster(
                    client, [namespace], inventory_options, label_selector=source.selector, advance=advance
                )

    return asyncio.run(listed())


def show(fleet: Fleet) -> None:
    """Prints the totals, and the jobs if they are few."""
    for name, value in figures(fleet):
        output().print(f"{name}: {value}")
    classes = Table(box=None, pad_edge=False)
    for heading in ("CLASS", "JOBS", "MEANS"):
        classes.add_column(heading, justify="right" if heading == "JOBS" else "left")
    for name, means in CLASSES.items():
        classes.add_row(Text(name, style=COLOURS[name]), str(fleet.classes[name]), means)
    print_table(classes)
    for id, title, jobs in fleet.blockers[:10]:
        output().print(Text.assemble((id, "red"), f" blocks {jobs}: {title}"))
    if fleet.jobs > SHOWN:
        output().print(f"{fleet.jobs} jobs: list them with -o csv, or write --report html=inventory.html")
        return
    output().print()
    for row in fleet.entries:
        job_class = (f"{row.job_class:<9}", COLOURS[row.job_class])
        used = f", {row.gpu_hours:,.1f} GPU-hours" if row.gpu_hours else ""
        inside = f", inside {row.inside}" if row.inside else ""
        points = f"{row.effort} point{'' if row.effort == 1 else 's'}"
        output().print(Text.assemble(job_class, f" {row.title}: {points}{used}{inside}"), soft_wrap=True)
        output().print(f"          {row.reasons[0].why}", style="dim", soft_wrap=True)
