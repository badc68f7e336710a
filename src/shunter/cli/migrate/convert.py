"""`migrate convert`: v1 jobs in, TrainJobs and runtimes out. Prints manifests on standard output, findings on standard error."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from shunter.api.formats.counts import count
from shunter.cli.migrate import exit_codes
from shunter.cli.migrate.findings.printing import print_blocks, print_findings, shorter_forms, summary, unchecked_code
from shunter.cli.migrate.findings.suppressions import ConfigurationOption, entries
from shunter.cli.migrate.options.conversion import ConversionOptions, SuffixOption
from shunter.cli.migrate.options.inputs import InputOptions
from shunter.cli.options.option_groups import grouped
from shunter.cli.output.console import Output, print_as
from shunter.cli.output.progress import counting
from shunter.errors import InputError
from shunter.migrate.conversion.batch import Batch
from shunter.migrate.conversion.emit.files import results, usable
from shunter.migrate.conversion.emit.sizes import sizes
from shunter.migrate.findings import Finding
from shunter.migrate.use_cases.convert import ConvertedTree, converted, refuse_unsaved
from shunter.migrate.writing import write_whole


class Form(StrEnum):
    """Values of `--output`: a stream on standard output, or a tree of files (`dir`)."""

    yaml = "yaml"
    json = "json"
    dir = "dir"


@grouped
def convert(
    *,
    paths: Annotated[list[str] | None, typer.Argument(metavar="[FILE]...", help="Files and directories, as with -f.")] = None,
    directory: Annotated[
        str, typer.Option("--directory", help="Convert this directory; results go to DIRECTORY-converted, or to --output-dir.")
    ] = "",
    source: InputOptions,
    form: Annotated[Form, typer.Option("-o", "--output", help="yaml or json on standard output, or dir.")] = Form.yaml,
    output_dir: Annotated[Path | None, typer.Option(help="Write the results to this directory, with the same file tree.")] = None,
    in_place: Annotated[bool, typer.Option("--in-place", help="Change the input files; they must be committed to git.")] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Ignore uncommitted changes (--in-place) or overwrite files (--output-dir).")
    ] = False,
    report: Annotated[
        list[str] | None,
        typer.Option("--report", metavar="FORM=PATH", help="Write json, md, html, sarif or junit to a file; repeatable."),
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 2 if a setting is lost or changes its meaning.")] = False,
    configuration: ConfigurationOption = None,
    flags: ConversionOptions,
    suffix: SuffixOption = "",
    update_selectors: Annotated[
        bool,
        typer.Option("--update-selectors", help="Rewrite selectors of the jobs' pods in Services, policies and monitors."),
    ] = False,
    suspend: Annotated[bool, typer.Option("--suspend", help="Write suspended TrainJobs.")] = False,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Print nothing; use the exit code.")] = False,
    verbose: Annotated[bool, typer.Option("-v", "--verbose", help="Also print notes: lossless changes.")] = False,
) -> None:
    """Convert jobs of kubeflow.org/v1 to TrainJobs.

    Exit codes: 0 converted, 1 wrong flags or an unreadable file, 2 lossy (with --strict), 3 a job cannot be converted safely.
    """
    if directory:  # of the migration guide, which finds the results in DIRECTORY-converted
        paths = [*(paths or []), directory]
        output_dir = output_dir or (None if in_place else Path(f"{directory.rstrip('/')}-converted"))
    source = source._replace(files=[*(source.files or []), *(paths or [])] or None)
    options = flags.meaning(suspend=suspend or source.cluster, suffix=suffix)
    refuse_contradictions(source, in_place=in_place, output_dir=output_dir, form=form)
    reports = requested_reports(report)
    if in_place and not force:
        refuse_unsaved([Path(file) for file in source.files or ()])
    read_input, faults = source.read()
    tree = converted(
        read_input,
        options,
        named=[Path(name) for name in source.files or ()],
        faults=faults,
        output_dir=output_dir,
        in_place=in_place,
        force=force,
        update_selectors=update_selectors,
        entries=entries(configuration),
        progress=counting,
    )
    batch = tree.batch
    changed, results = write(tree, form)
    write_reports(reports, batch, tree.faults)
    if not quiet:
        print_findings(tree.findings, with_notes=verbose)
        print_blocks(batch.outcomes)
        if unread := unchecked_code(outcome.conversion for outcome in batch.outcomes if outcome.conversion):
            sys.stderr.write(f"{unread}\n")
        converted_text = conversion_summary(tree, changed)
        counts = summary(tree.findings)
        sys.stderr.write(f"{converted_text}{f': {counts}' if counts else ''}.\n")
        for line in [*shorter_forms(usable(batch)), *measured(batch, results)]:
            sys.stderr.write(f"{line}\n")
    raise typer.Exit(exit_code(tree.findings, strict=strict))


def refuse_contradictions(source: InputOptions, *, in_place: bool, output_dir: Path | None, form: Form) -> None:
    """Raises InputError for flags that exclude each other, and if there is nothing to convert."""
    source.require_one_source()
    elsewhere = source.cluster or source.kustomize or source.helm_release
    if in_place and (elsewhere or "-" in (source.files or ())):
        raise InputError("--in-place changes files only.", "Name files or directories with -f, and nothing else.")
    if in_place and (output_dir is not None or form is not Form.yaml):
        raise InputError("--in-place and another place for the result exclude each other.", "Leave one of them out.")
    if form is Form.dir and output_dir is None:
        raise InputError("-o dir: no directory was named.", "Add --output-dir DIR.")
    if output_dir is not None and form is Form.json:
        raise InputError("-o json goes to standard output.", "Omit -o: files keep their format with --output-dir.")


def write(tree: ConvertedTree, form: Form) -> tuple[list[Path] | None, list[str]]:
    """Writes the results; returns the written files (None for standard output), and the texts of manifests."""
    if tree.files is not None:
        return tree.write(), [text for text in tree.files.values() if text is not None]
    if form is Form.json:
        print_as({"apiVersion": "v1", "kind": "List", "items": results(tree.batch, tree.given.runtimes)}, Output.json)
        return None, []
    stream = tree.stream()
    sys.stdout.write(stream)
    return None, [stream]


def measured(batch: Batch, texts: list[str]) -> list[str]:
    """The lengths of the jobs and of the results; empty if no manifest was written, or all jobs are within other objects."""
    found = sizes(batch, texts)
    return [f"{found}."] if found.jobs and found.train_job_lines else []


def requested_reports(texts: list[str] | None) -> list[tuple[str, Path]]:
    """Forms and paths of the reports. Raises InputError for an invalid one."""
    if not texts:
        return []

    from shunter.migrate.survey import report  # 0.05 s, and few ask for a report

    return report.requested(texts)


def write_reports(reports: list[tuple[str, Path]], batch: Batch, faults: list[Finding]) -> None:
    """Writes a report in each form to its path, atomically. Raises EnvironmentProblem if that fails."""
    if not reports:
        return

    from shunter.migrate.survey import report

    for form, path in reports:
        write_whole(path, report.written(form, batch, faults))


def conversion_summary(tree: ConvertedTree, changed: list[Path] | None) -> str:
    """`3 of 4 jobs and 1 template converted, 2 files written`."""
    done, jobs = len(usable(tree.batch)), len(tree.batch.outcomes)
    files = "" if changed is None else f", {count(len(changed), 'file')} written"
    parts = [f"{done} of {count(jobs, 'job')}"] if jobs else []
    parts += [count(tree.template_count, "template")] if tree.template_count else []
    if not parts:
        return f"no job of kubeflow.org/v1 among {count(len(tree.given.objects), 'object')}{files}"
    return f"{' and '.join(parts)} converted{files}"


def exit_code(findings: Sequence[Finding], *, strict: bool) -> int:
    """The exit code (`exit_codes`)."""
    standing = [finding for finding in findings if not finding.suppressed]
    if any(finding.is_blocking for finding in standing):
        return exit_codes.BLOCKED
    if strict and any(finding.topic.change in ("lossy", "semantic-change", "unsupported") for finding in standing):
        return exit_codes.LOSSY
    return exit_codes.OK
