"""`migrate report`: writes an HTML report for decisions, with a page for each job."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from shunter.api.formats.counts import count as counted
from shunter.cli.migrate import exit_codes
from shunter.cli.migrate.findings.printing import print_findings
from shunter.cli.migrate.findings.suppressions import ConfigurationOption, entries, marked, suppressed_findings
from shunter.cli.migrate.options.conversion import ConversionOptions
from shunter.cli.migrate.options.inputs import InputOptions
from shunter.cli.migrate.saved_output import ComparisonsOption, saved_output
from shunter.cli.options.option_groups import grouped
from shunter.cli.output.console import say
from shunter.cli.output.progress import counting
from shunter.errors import EnvironmentProblem
from shunter.migrate.conversion.batch import converted
from shunter.migrate.conversion.sharing import shared_in
from shunter.migrate.proof.stages.runs import RunComparison
from shunter.migrate.survey.briefing.decision import verdict
from shunter.migrate.survey.briefing.facts import Readiness, gathered
from shunter.migrate.survey.briefing.site import files as pages_of
from shunter.migrate.survey.inventory.collecting import insides
from shunter.migrate.survey.scan.scanning import paths_below, scanned


@grouped
def report(
    *,
    source: InputOptions,
    output_dir: Annotated[Path, typer.Option(help="Output directory.")] = Path("migration-report"),
    scan: Annotated[list[Path] | None, typer.Option("--scan", help="Repository to scan; repeatable.")] = None,
    comparisons: ComparisonsOption = None,
    assessment: Annotated[Path | None, typer.Option(help="Output of `assess -o json` for the cluster.")] = None,
    configuration: ConfigurationOption = None,
    flags: ConversionOptions,
) -> None:
    """Write an HTML report: verdict, success metrics, waves, checklist, a page per job, SDK changes.

    The HTML is self-contained; the front page is also written as Markdown. Read-only. Exit codes: 0, 3 if part of the input could
    not be read; it is listed in the output and on the front page.
    """
    source.require_one_source()
    options = flags.meaning(suspend=source.cluster)
    runs = [saved_output(path, "--comparison", RunComparison) for path in comparisons or ()]
    readiness = saved_output(assessment, "--assessment", Readiness) if assessment else None
    given, faults = source.read()
    jobs = [*given.jobs, *(embedded.job for embedded in given.embedded)]
    with counting("converting", len(jobs)) as advance:
        batch = converted(jobs, options, given.other_objects, advance)
    batch, faults = suppressed_findings(batch, [*given.findings, *given.unrendered, *faults], configuration)
    batch = shared_in(given, batch)
    print_findings(faults, with_notes=False)
    references, known = None, entries(configuration)
    if scan:
        paths = paths_below(scan)
        with counting("scanning", len(paths)) as advance:
            references = marked(scanned(paths, advance).findings, known)
    with counting("proving", len(jobs)) as advance:
        facts = gathered(
            batch,
            insides(given),
            datetime.now(UTC),
            faults=faults,
            references=references,
            runs=runs,
            readiness=readiness,
            is_live=source.cluster,
            mark=lambda findings: marked(findings, known),
            advance=advance,
        )
    count = 0
    with counting("writing pages", len(jobs)) as advance:
        for path, text in pages_of(facts):
            write_page(output_dir / path, text)
            count += 1
            advance(1)
    found = verdict(facts)
    say(f"{found.word}: {found.sentence}")
    say(f"{counted(count, 'file')} in {output_dir}; begin with {output_dir / 'index.html'}")
    if facts.blocking_faults:
        raise typer.Exit(exit_codes.BLOCKED)


def write_page(path: Path, text: str) -> None:
    """Writes a page without syncing, as it can be created again. Raises EnvironmentProblem if it cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise EnvironmentProblem(f"{path}: cannot be written: {error.strerror}.", "Name another --output-dir.") from error
