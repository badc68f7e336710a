"""`migrate validate`: proves conversions, stage by stage."""

from __future__ import annotations

from collections import Counter
from typing import Annotated

import typer
from rich.text import Text

from shunter.api.meta import Json
from shunter.cli.migrate import exit_codes
from shunter.cli.migrate.findings.printing import finding_json, not_looked_into, print_findings, reads_of
from shunter.cli.migrate.findings.suppressions import ConfigurationOption, entries
from shunter.cli.migrate.kept import ComparisonsOption, kept
from shunter.cli.migrate.options.conversion import ConversionOptions, SuffixOption
from shunter.cli.migrate.options.form import Form, FormOption
from shunter.cli.migrate.options.inputs import InputOptions
from shunter.cli.migrate.proving import AgainstOption, JobsArgument, proven
from shunter.cli.options.option_groups import grouped
from shunter.cli.output import console
from shunter.cli.output.console import output, say
from shunter.cli.output.progress import counting
from shunter.errors import InputError
from shunter.migrate.findings import Finding
from shunter.migrate.proof.ladder import RUNGS, UNPROVED, Ladder
from shunter.migrate.proof.rungs.runs import RunComparison, compared
from shunter.migrate.use_cases.validate import proved


@grouped
def validate(
    *,
    jobs: JobsArgument = None,
    source: InputOptions,
    against: AgainstOption = None,
    server: Annotated[bool, typer.Option("--server", help="Also send a dry run to the cluster.")] = False,
    scratch_namespace: Annotated[
        str, typer.Option("--scratch-namespace", help="Namespace of the dry run [default: a temporary one].")
    ] = "",
    smoke: Annotated[bool, typer.Option("--smoke", help="Also run each job briefly on the embedded cluster.")] = False,
    smoke_seconds: Annotated[int, typer.Option("--smoke-seconds", min=1, help="Maximum seconds of a run.")] = 120,
    steps_argument: Annotated[
        str, typer.Option("--steps-arg", help="Flag of the program for the number of steps; set to 1.")
    ] = "",
    steps_variable: Annotated[
        str, typer.Option("--steps-env", help="Environment variable for the number of steps; set to 1.")
    ] = "",
    comparisons: ComparisonsOption = None,
    form: FormOption = Form.table,
    configuration: ConfigurationOption = None,
    flags: ConversionOptions,
    suffix: SuffixOption = "",
) -> None:
    """Prove conversions, and report how far the proof reaches.

    Stages: yaml, schema, cel, webhooks, objects (JobSet, Jobs, pods), pods (equal in v1 and v2), server (dry run, with
    --server), smoke (with --smoke), runs (a run of each was compared, with --comparison).

    Exit codes: 0 all attempted stages passed, 1 wrong flags or an unreadable file, 3 a stage failed, or a finding of the
    conversion blocks.
    """
    if smoke and against:
        raise InputError("--smoke runs our own conversions, not what --against names.", "Leave one of them out.")
    options = flags.meaning(suspend=source.cluster, suffix=suffix)
    found = proven(jobs or [], options, source, against=against or [], configuration=configuration)

    saved = [kept(path, "--comparison", RunComparison) for path in comparisons or ()]
    print_findings(found.faults, with_notes=False)
    ladders = proved(found.conversions, options, entries(configuration), counting)
    if server or smoke:
        # They take long to import, and most proofs ask no cluster.
        from shunter.cli.migrate import cluster_rungs
        from shunter.migrate.moving.runs.trial import TrialOptions

        if server:
            ladders = cluster_rungs.ask_server(ladders, scratch_namespace, source)
        if smoke:
            steps = 1 if steps_argument or steps_variable else None
            trial_options = TrialOptions(
                steps=steps,
                steps_argument=steps_argument,
                steps_variable=steps_variable,
                deadline_seconds=smoke_seconds,
                keep_seconds=0,
            )
            ladders = cluster_rungs.run_on_embedded_cluster(ladders, found.others, trial_options, options)
    ladders = [compared(ladder, saved) for ladder in ladders]
    if form is Form.json:
        console.print_as([as_json(ladder) for ladder in ladders], console.Output.json)
    else:
        for ladder in ladders:
            print_ladder(ladder)
        print_summary(ladders)
    is_blocked = any(finding.is_blocking for finding in found.faults) or any(
        ladder.conversion.is_blocked or any(finding.is_blocking for finding in ladder.findings) for ladder in ladders
    )
    raise typer.Exit(exit_codes.BLOCKED if is_blocked else exit_codes.OK)


def print_ladder(ladder: Ladder) -> None:
    """Prints the highest stage that holds, and what prevents the next."""
    unproved = ladder.unproved
    state = (
        ("partly", "yellow")
        if ladder.holds and unproved
        else ("holds", "green")
        if ladder.holds
        else ("fails", "bold red")
        if ladder.is_refuted
        else ("open", "yellow")
    )
    last = ladder.steps[-1]
    reached = ladder.reached or "nothing"
    text = f" {ladder.conversion.source.title}: {reached}"
    if not ladder.holds:
        text += f"; {last.rung} {'does not hold' if ladder.is_refuted else 'was not tried'}"
    if ladder.holds and unproved:
        text += f", {UNPROVED}: {reads_of(unproved)}"
    note = f" ({last.note})" if last.note else ""
    output().print(Text.assemble((state[0], state[1]), text, (note, "dim")), soft_wrap=True)
    reasons = [*ladder.conversion.unproved, *(finding for finding in blocking(ladder) if not finding.limits_proof)]
    print_findings([*reasons, *ladder.findings], with_notes=False)


def blocking(ladder: Ladder) -> list[Finding]:
    """Why the result must not be used as it is, however far it is proved."""
    return [finding for finding in ladder.conversion.findings if finding.is_blocking]


def print_summary(ladders: list[Ladder]) -> None:
    """Prints how many conversions reached which stage, and what it means."""
    counts = Counter(ladder.reached for ladder in ladders)
    partly = Counter(ladder.reached for ladder in ladders if ladder.unproved)
    for rung, meaning in reversed(RUNGS.items()):
        if whole := counts[rung] - partly[rung]:
            say(f"{whole} of {len(ladders)} reached {rung}: {meaning}")
        if partly[rung]:
            text = f"{partly[rung]} of {len(ladders)} reached {rung} as far as manifests say, {UNPROVED}"
            say(text)
    if counts[None]:
        say(f"{counts[None]} of {len(ladders)} reached nothing")
    if unread := not_looked_into(ladder.conversion for ladder in ladders):
        say(unread)
    if undecided := sum(bool(blocking(ladder)) for ladder in ladders):
        text = f"{undecided} of {len(ladders)} must not be used as they are: a finding of the conversion blocks"
        say(text)


def as_json(ladder: Ladder) -> Json:
    """For `-o json`: every stage that was tried."""
    return {
        "object": ladder.conversion.source.title,
        "reached": ladder.reached,
        "holds": ladder.holds,
        "blocking": [finding.topic.id for finding in blocking(ladder)],
        "unproved": [finding_json(finding) for finding in ladder.unproved],
        "rungs": [
            {
                "name": step.rung,
                "holds": step.holds,
                "tried": step.was_tried,
                "note": step.note,
                "findings": [{**finding_json(finding), "blocking": finding.is_blocking} for finding in step.findings],
            }
            for step in ladder.steps
        ],
    }
