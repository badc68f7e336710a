"""`doctor`: why a job does not train, hangs or failed."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from shunter.cli.options.completion import job_names
from shunter.cli.target import ContextOption, KubeconfigOption, NamespaceOption

if TYPE_CHECKING:
    from shunter.api.meta import Json
    from shunter.api.resources import Resource
    from shunter.cluster.target import Target
    from shunter.doctor.evidence import Evidence
    from shunter.doctor.verdicts import Report
    from shunter.kube.client import Client

AGAIN_SECONDS = 5.0
"""How long --watch waits between two looks."""


class Form(StrEnum):
    """What `-o` accepts."""

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
    (py-spy, by exec). Prints each verdict with evidence, certainty and remedy, and lists what it has no permission to read.

    Exit codes: 0 no problem found, 1 cause found, 2 invalid input, 3 problem found without a cause, or required evidence was
    not accessible.
    """
    import asyncio

    from shunter.errors import InputError

    if bool(job) == (from_ is not None):
        raise InputError("name either a job or, with --from, a directory.", "List jobs with: shunter jobs")
    if not 0 < sample <= 600:
        raise InputError(f"--sample: {sample:g} is not between 0 and 600 seconds.", "Write it like --sample 5.")
    if from_ is not None:
        if watch or record is not None:
            raise InputError("--from goes with neither --watch nor --record.", "Leave them out.")
        raise typer.Exit(recorded(from_, form))
    from shunter.cli.target import connect

    target = connect(kubeconfig, context)
    settings = Settings(no_exec=no_exec, allow_copy=allow_copy, sample=sample)
    if watch:
        raise typer.Exit(asyncio.run(watched(target, job, namespace, settings, form)))
    raise typer.Exit(asyncio.run(looked(target, job, namespace, settings, form, record)))


class Settings(NamedTuple):
    """How a job is looked at."""

    no_exec: bool
    allow_copy: bool
    sample: float


def recorded(directory: Path, form: Form) -> int:
    """Diagnoses recorded evidence; the exit code."""
    from shunter.doctor import recording
    from shunter.doctor.diagnosing import diagnose

    evidence = recording.read(directory)
    report = diagnose(evidence, evidence.at)
    show(report, form)
    return report.exit_code


async def looked(target: Target, wanted: str, namespace: str, settings: Settings, form: Form, record: Path | None) -> int:
    """Looks once; the exit code."""
    async with target.client as client:
        _, job = await readable_job(client, wanted, namespace)
        evidence, report = await one_look(target, job, settings)
    if record is not None:
        from shunter.cli.output.console import say
        from shunter.doctor import recording

        recording.write(evidence, record)
        say(f"wrote the evidence to {record}; look through it before you give it away")
    show(report, form)
    return report.exit_code


async def readable_job(client: Client, wanted: str, namespace: str) -> tuple[Resource, Json]:
    """The job of this name; where not all kinds may be listed, of those that may; `jobset/NAME` is a JobSet of one's own.
    InputError when there is none."""
    import asyncio

    if wanted.lower().startswith("jobset/"):
        return await own_jobset(client, wanted.partition("/")[2], namespace)

    from shunter.jobs.finding import find
    from shunter.kube.errors import Forbidden, NotFound
    from shunter.operator.overview import SHOWN_RESOURCES

    async def may_list(resource: Resource) -> bool:
        try:
            await client.list(resource, namespace)
        except (Forbidden, NotFound):
            return False
        return True

    try:
        return await find(client, wanted, namespace)
    except Forbidden:
        may = await asyncio.gather(*map(may_list, SHOWN_RESOURCES))
        readable = [resource for resource, is_allowed in zip(SHOWN_RESOURCES, may, strict=True) if is_allowed]
        if not readable:
            raise
        return await find(client, wanted, namespace, among=readable)


async def own_jobset(client: Client, name: str, namespace: str) -> tuple[Resource, Json]:
    """The one JobSet of this name, as a job; InputError when there is none, or more than one."""
    from shunter.api.resources import JOBSETS
    from shunter.errors import InputError

    found = (await client.list(JOBSETS, namespace, field_selector=f"metadata.name={name}")).items
    if len(found) != 1:
        where = f"in namespace {namespace}" if namespace else "in any namespace"
        raise InputError(
            f"there {'is no JobSet' if not found else f'are {len(found)} JobSets'} {name!r} {where}.", "Name one with -n."
        )
    return JOBSETS, as_job(JOBSETS, found[0])


async def one_look(target: Target, job: Json, settings: Settings) -> tuple[Evidence, Report]:
    """The evidence without credentials, and the report."""
    from shunter.doctor.looking import look
    from shunter.kube.pods.remote_command import Commands

    commands = None if settings.no_exec or target.connection is None else Commands(target.connection)
    found = await look(target.client, commands, job, sample=settings.sample, allow_copy=settings.allow_copy)
    return found.evidence, found.report


async def watched(target: Target, wanted: str, namespace: str, settings: Settings, form: Form) -> int:
    """Looks until the job has ended or is gone, and shows a report whenever its verdicts are others; the last exit code."""
    import asyncio

    from shunter.cli.output.console import say
    from shunter.kube.errors import NotFound
    from shunter.operator.overview import overview

    async with target.client as client:
        resource, job = await readable_job(client, wanted, namespace)
        before: list[object] = []
        while True:
            _, report = await one_look(target, job, settings)
            told: list[object] = [(verdict.id, verdict.ranks, verdict.confidence) for verdict in report.verdicts]
            if told != before or overview(job).is_finished:
                show(report, form)
            before = told
            if overview(job).is_finished:
                return report.exit_code
            await asyncio.sleep(AGAIN_SECONDS)
            try:
                found = await client.get(resource, job["metadata"]["name"], job["metadata"]["namespace"])
            except NotFound:
                found = {}
            if not found or found["metadata"]["uid"] != job["metadata"]["uid"]:
                say(f"{resource.kind} {job['metadata']['name']} was deleted")
                return report.exit_code
            job = as_job(resource, found)


def as_job(resource: Resource, found: Json) -> Json:
    """An object of a list or a GET, with its kind."""
    from shunter.api.resources import JOBSETS
    from shunter.doctor.jobsets import as_training

    return as_training(found) if resource == JOBSETS else {"apiVersion": resource.api_version, "kind": resource.kind, **found}


def show(report: Report, form: Form) -> None:
    """Prints a report."""
    import msgspec

    from shunter.cli.output.console import Output, output, print_as
    from shunter.doctor.text import report_lines

    if form is not Form.text:
        print_as(msgspec.to_builtins(report), Output(form.value))
        return
    for line in report_lines(report):
        output().print(line, soft_wrap=True, markup=False)
