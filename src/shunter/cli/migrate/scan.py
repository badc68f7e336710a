"""`migrate scan`: finds other references to v1 in a repository."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from shunter.api.formats.counts import count
from shunter.cli.migrate import exit_codes
from shunter.cli.migrate.findings.printing import COLOURS, print_findings
from shunter.cli.migrate.findings.suppressions import ConfigurationOption, entries, faults_of, marked
from shunter.cli.output.console import errors, output
from shunter.cli.output.progress import counting
from shunter.migrate.findings import Finding
from shunter.migrate.grouping import grouped
from shunter.migrate.survey import report as reports
from shunter.migrate.survey.report.contents import by_source, contents
from shunter.migrate.survey.scan.scanning import paths_below, scanned
from shunter.migrate.writing import write_whole


class Form(StrEnum):
    """Values of `--output`."""

    text = "text"
    json = "json"
    md = "md"
    html = "html"
    sarif = "sarif"
    junit = "junit"


def scan(
    paths: Annotated[list[Path] | None, typer.Argument(help="Directories or files [default: the current directory].")] = None,
    form: Annotated[Form, typer.Option("-o", "--output", help="Format on standard output.")] = Form.text,
    report: Annotated[
        list[str] | None,
        typer.Option("--report", metavar="FORM=PATH", help="Write json, md, html, sarif or junit to a file; repeatable."),
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 2 if there are warnings or errors.")] = False,
    configuration: ConfigurationOption = None,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Print no findings.")] = False,
) -> None:
    """Find other references to v1: SDK calls, RBAC rules, selectors, alerts, policies, quotas, scripts, host names; and settings
    of NCCL and EFA that have no effect or do harm, in v1 and v2.

    Skips files ignored by git, binary files and files written by this tool (plans, backups, reports). Use convert for v1 jobs
    themselves. Exit codes: 0, 2 with --strict.
    """
    requested = reports.requested(report or ())
    files = paths_below(paths or [Path()])
    with counting("scanning", len(files)) as advance:
        found = scanned(files, advance)
    known = entries(configuration)
    findings = marked(found.findings, known)
    report_contents = contents("scan", by_source(findings))
    if form is not Form.text:
        sys.stdout.write(reports.FORMS[form](report_contents))
    elif not quiet:
        show(findings)
    print_findings(faults_of(known), with_notes=False)
    for name, path in requested:
        write_whole(path, reports.FORMS[name](report_contents))
    numbers = (
        (report_contents.summary.errors, "error"),
        (report_contents.summary.warnings, "warning"),
        (report_contents.summary.infos, "note"),
    )
    counts = ", ".join(count(number, severity) for number, severity in numbers)
    skipped = f", {found.skipped} skipped (binary, or links)" if found.skipped else ""
    own = f", {found.own} ignored (written by this tool)" if found.own else ""
    errors().print(
        f"{count(found.files, 'file')} scanned{skipped}{own}: {counts} in {count(len(report_contents.items), 'file')}",
        soft_wrap=True,
    )
    if strict and (report_contents.summary.errors or report_contents.summary.warnings):
        raise typer.Exit(exit_codes.LOSSY)


def show(findings: Sequence[Finding]) -> None:
    """A line for each group of equal findings, the remedy below the first group that has it, and the places of the others."""
    printed: set[str] = set()
    for group in grouped(finding for finding in findings if not finding.suppressed):
        finding = group.first
        label = (f"{finding.topic.severity} {finding.topic.id}", COLOURS[finding.topic.severity])
        output().print(Text.assemble(f"{finding.place}: ", label, f" {finding.message}"), soft_wrap=True)
        for line in filter(None, ("" if finding.advice in printed else finding.advice, group.line)):
            output().print(Text(f"    {line}", style="dim"), soft_wrap=True)
        printed.add(finding.advice)
