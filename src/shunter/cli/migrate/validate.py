"""`migrate validate`: how far conversions are proved, stage by stage."""

from __future__ import annotations

from collections import Counter
from typing import Annotated

import typer
from rich.text import Text

from shunter.api.meta import Json
from shunter.cli.migrate import exit_codes
from shunter.cli.migrate.findings.printing import finding_json, print_findings, reads_of, unchecked_code
from shunter.cli.migrate.findings.suppressions import ConfigurationOption, entries
from shunter.cli.migrate.options.conversion import ConversionOptions, SuffixOption
from shunter.cli.migrate.options.form import Form, FormOption
from shunter.cli.migrate.options.inputs import InputOptions
from shunter.cli.migrate.proving import AgainstOption, JobsArgument, proven
from shunter.cli.migrate.saved_output import ComparisonsOption, saved_output
from shunter.cli.options.option_groups import grouped
from shunter.cli.output import console
from shunter.cli.output.console import output, say
from shunter.cli.output.progress import counting
from shunter.errors import InputError
from shunter.migrate.findings import Finding
from shunter.migrate.proof.proving import STAGES, UNPROVED, Proof
from shunter.migrate.proof.stages.runs import RunComparison, with_comparisons
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
        raise InputError("--smoke runs the conversions of this command, not what --against names.", "Leave one of them out.")
    options = flags.meaning(suspend=source.cluster, suffix=suffix)
    found = proven(jobs or [], options, source, against=against or [], configuration=configuration)

    saved = [saved_output(path, "--comparison", RunComparison) for path in comparisons or ()]
    print_findings(found.faults, with_notes=False)
    proofs = proved(found.conversions, options, entries(configuration), counting)
    if server or smoke:
        # They take long to import, and most proofs need no cluster.
        from shunter.cli.migrate import cluster_stages
        from shunter.migrate.moving.runs.trial import TrialOptions

        if server:
            proofs = cluster_stages.with_server_stage(proofs, scratch_namespace, source)
        if smoke:
            steps = 1 if steps_argument or steps_variable else None
            trial_options = TrialOptions(
                steps=steps,
                steps_argument=steps_argument,
                steps_variable=steps_variable,
                deadline_seconds=smoke_seconds,
                keep_seconds=0,
            )
            proofs = cluster_stages.with_smoke_stage(proofs, found.others, trial_options, options)
    proofs = [with_comparisons(proof, saved) for proof in proofs]
    if form is Form.json:
        console.print_as([as_json(proof) for proof in proofs], console.Output.json)
    else:
        for proof in proofs:
            print_proof(proof)
        print_summary(proofs)
    is_blocked = any(finding.is_blocking for finding in found.faults) or any(
        proof.conversion.is_blocked or any(finding.is_blocking for finding in proof.findings) for proof in proofs
    )
    raise typer.Exit(exit_codes.BLOCKED if is_blocked else exit_codes.OK)


def print_proof(proof: Proof) -> None:
    """Prints the highest stage that holds, and the findings against the next one."""
    unproved = proof.unproved
    state = (
        ("partly", "yellow")
        if proof.holds and unproved
        else ("holds", "green")
        if proof.holds
        else ("fails", "bold red")
        if proof.is_refuted
        else ("open", "yellow")
    )
    last = proof.results[-1]
    reached = proof.reached or "nothing"
    text = f" {proof.conversion.source.title}: {reached}"
    if not proof.holds:
        text += f"; {last.stage} {'does not hold' if proof.is_refuted else 'was not tried'}"
    if proof.holds and unproved:
        text += f", {UNPROVED}: {reads_of(unproved)}"
    note = f" ({last.note})" if last.note else ""
    output().print(Text.assemble((state[0], state[1]), text, (note, "dim")), soft_wrap=True)
    of_conversion = [*proof.conversion.unproved, *(finding for finding in blocking(proof) if not finding.limits_proof)]
    print_findings([*of_conversion, *proof.findings], with_notes=False)


def blocking(proof: Proof) -> list[Finding]:
    """The findings of the conversion that block its result, however far it is proved."""
    return [finding for finding in proof.conversion.findings if finding.is_blocking]


def print_summary(proofs: list[Proof]) -> None:
    """Prints how many proofs reached each stage, and what the stage means."""
    counts = Counter(proof.reached for proof in proofs)
    partly = Counter(proof.reached for proof in proofs if proof.unproved)
    for stage, meaning in reversed(STAGES.items()):
        if whole := counts[stage] - partly[stage]:
            say(f"{whole} of {len(proofs)} reached {stage}: {meaning}")
        if partly[stage]:
            text = f"{partly[stage]} of {len(proofs)} reached {stage} as far as manifests say, {UNPROVED}"
            say(text)
    if counts[None]:
        say(f"{counts[None]} of {len(proofs)} reached nothing")
    if unread := unchecked_code(proof.conversion for proof in proofs):
        say(unread)
    if undecided := sum(bool(blocking(proof)) for proof in proofs):
        text = f"{undecided} of {len(proofs)} must not be used as they are: a finding of the conversion blocks"
        say(text)


def as_json(proof: Proof) -> Json:
    """The proof in JSON, with every stage that was tried; the field `rungs` is older than the word stage."""
    return {
        "object": proof.conversion.source.title,
        "reached": proof.reached,
        "holds": proof.holds,
        "blocking": [finding.topic.id for finding in blocking(proof)],
        "unproved": [finding_json(finding) for finding in proof.unproved],
        "rungs": [
            {
                "name": result.stage,
                "holds": result.holds,
                "tried": result.was_tried,
                "note": result.note,
                "findings": [{**finding_json(finding), "blocking": finding.is_blocking} for finding in result.findings],
            }
            for result in proof.results
        ],
    }
