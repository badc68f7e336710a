"""`doctor`: diagnoses why a job does not train, hangs or failed."""

from __future__ import annotations

import asyncio
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from shunter.cli.options.completion import job_names
from shunter.cli.output.console import Output, output, print_as, say
from shunter.cli.target import ContextOption, KubeconfigOption, NamespaceOption, connect
from shunter.cluster.target import Target
from shunter.doctor import recording
from shunter.doctor.diagnosing import diagnose
from shunter.doctor.live_diagnosis import diagnose_job, watch_job
from shunter.doctor.sampling import Sampling
from shunter.doctor.text import report_lines
from shunter.doctor.verdicts import Report
from shunter.errors import InputError
from shunter.kube.pods.remote_command import Commands
from shunter.operator.overview import FINISHED_STATES


class Form(StrEnum):
    """Values of `-o`."""

    text = "text"
    json = "json"
    yaml = "yaml"


def doctor(
    job: Annotated[
        str,
        typer.Argument(
            metavar="[JOB]",
            autocompletion=job_names,
            help="Name of the job, or KIND/NAME when two kinds share it. jobset/NAME: a JobSet that you created.",
        ),
    ] = "",
    watch: Annotated[bool, typer.Option("--watch", help="Repeat until the job ends; print changes.")] = False,
    no_exec: Annotated[bool, typer.Option("--no-exec", help="Never run anything in a pod: no stack samples.")] = False,
    allow_copy: Annotated[
        bool, typer.Option("--allow-copy", help="Copy py-spy from this machine to /tmp of containers whose image lacks it.")
    ] = False,
    debug_image: Annotated[
        str,
        typer.Option(
            "--debug-image",
            metavar="IMAGE",
            help="Image with sh and py-spy for ephemeral containers in pods whose image lacks it.",
        ),
    ] = "",
    sample: Annotated[float, typer.Option("--sample", metavar="SECONDS", help="Time between the two stack samples.")] = 5.0,
    form: Annotated[Form, typer.Option("-o", "--output", help="text, json or yaml.")] = Form.text,
    record: Annotated[
        Path | None, typer.Option("--record", metavar="DIR", help="Write the evidence to this directory, without credentials.")
    ] = None,
    from_: Annotated[
        Path | None, typer.Option("--from", metavar="DIR", help="Diagnose a directory written by --record, without a cluster.")
    ] = None,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = "",
    namespace: NamespaceOption = "",
) -> None:
    """Diagnose why a job does not train, hangs or failed.

    Reads the job, its pods, events and logs. If they show no cause and the job runs, samples the stacks of its ranks twice
    (py-spy, by exec). Prints each verdict with evidence, certainty and remedy, and lists what it could not check.

    Exit codes: 0 no problem found, 1 cause found, 2 invalid input, 3 problem found without a cause, or undecided: what would
    show whether the job trains was not checked (no permission, no py-spy, --no-exec).
    """
    if bool(job) == (from_ is not None):
        raise InputError("name either a job or, with --from, a directory.", "List jobs with: shunter jobs")
    if not 0 < sample <= 600:
        raise InputError(f"--sample is {sample:g}; it must be more than 0 and at most 600 seconds.", "Write it like --sample 5.")
    asks = {"--allow-copy": allow_copy, "--debug-image": debug_image}
    needs_cluster = {"--watch": watch, "--record": record, "--no-exec": no_exec, **asks}
    needs_cluster |= {"--kubeconfig": kubeconfig, "--context": context, "--namespace": namespace}
    if from_ is not None and (given := [option for option, value in needs_cluster.items() if value]):
        raise InputError(f"--from reads a directory, and {given[0]} applies to a cluster.", "Leave one of them out.")
    if no_exec and (given := [option for option, value in asks.items() if value]):
        raise InputError(f"--no-exec runs nothing in a pod, and {given[0]} requires it.", "Leave one of them out.")
    if watch and record is not None:
        raise InputError(
            "--record writes the evidence of one diagnosis, and --watch repeats the diagnosis.", "Leave one of them out."
        )
    if from_ is not None:
        evidence = recording.read(from_)
        raise typer.Exit(show(diagnose(evidence, evidence.at), form))
    target = connect(kubeconfig, context)
    commands = None if no_exec or target.connection is None else Commands(target.connection)
    sampling = Sampling(sample, allow_copy, debug_image)
    if watch:
        raise typer.Exit(asyncio.run(watched(target, job, namespace, commands, form, sampling)))

    async def run() -> int:
        async with target.client as client:
            diagnosis = await diagnose_job(client, job, namespace, commands=commands, sampling=sampling)
        if record is not None:
            recording.write(diagnosis.evidence, record)
            say(f"wrote the evidence to {record}; review it before you share it")
        return show(diagnosis.report, form)

    raise typer.Exit(asyncio.run(run()))


async def watched(target: Target, name: str, namespace: str, commands: Commands | None, form: Form, sampling: Sampling) -> int:
    """Prints reports of a job until it has ended or is gone; returns the last exit code."""
    async with target.client as client:
        report: Report | None = None
        async for report in watch_job(client, name, namespace, commands=commands, sampling=sampling):
            show(report, form)
    if report is None:
        return 0
    if report.state not in FINISHED_STATES:
        say(f"{report.job} was deleted")
    return report.exit_code


def show(report: Report, form: Form) -> int:
    """Prints a report; returns its exit code."""
    if form is not Form.text:
        print_as(msgspec.to_builtins(report), Output(form.value))
    else:
        for line in report_lines(report):
            output().print(line, soft_wrap=True)
    return report.exit_code
