"""The jobs of `validate` and `diff`, and their conversions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from shunter.api.formats.counts import count
from shunter.api.meta import Json
from shunter.api.resources import CLUSTER_TRAINING_RUNTIMES, TRAIN_JOBS, TRAINING_RUNTIMES
from shunter.cli.migrate.findings.suppressions import entries
from shunter.cli.migrate.options.inputs import InputOptions
from shunter.cli.output.console import say
from shunter.cli.output.progress import counting
from shunter.migrate.conversion.emit.files import runtimes_beside
from shunter.migrate.conversion.source import provider
from shunter.migrate.findings import Finding
from shunter.migrate.options import Options
from shunter.migrate.use_cases.validate import Provable, in_place_of_ours, provable

JobsArgument = Annotated[
    list[str] | None,
    typer.Argument(metavar="[FILE | [KIND/]NAME]...", help="Files, as with -f, or names of v1 jobs to select [default: all]."),
]
AgainstOption = Annotated[
    list[str] | None,
    typer.Option(
        "--against",
        help="Compare these TrainJobs and runtimes instead of converting: a file, a directory or `cluster`; repeatable.",
    ),
]
CLUSTER = "cluster"


def proven(
    names: Sequence[str],
    options: Options,
    source: InputOptions,
    *,
    against: Sequence[str],
    configuration: Path | None,
) -> Provable:
    """The jobs with their conversions, in the order of the input. Raises InputError if nothing was named, or a job does not
    exist."""
    source, names = source.with_paths(names)
    source.require_one_source()
    read_input, faults = source.read()
    if not read_input.jobs:
        text = f"no job of kubeflow.org/v1 among {count(len(read_input.objects), 'object')}: nothing was compared"
        if any(found.kind == TRAIN_JOBS.kind for found in read_input.objects):
            text += (
                ". A TrainJob is compared with the v1 job it was converted from: name the v1 file, and pass this one to --against"
            )
        say(text)
    found = provable(read_input, names, options, faults=faults, entries=entries(configuration), progress=counting)
    return in_place_of_ours(found, *_objects(against, source)) if against else found


def _objects(against: Sequence[str], source: InputOptions) -> tuple[list[Json], list[Finding]]:
    """TrainJobs and runtimes of files, and of the cluster if it is named; and the findings about reading files."""
    files = [name for name in against if name != CLUSTER]
    read_input = provider.read(files)
    runtimes, unread = runtimes_beside(files, read_input.objects)
    objects = [found.value for found in [*read_input.objects, *runtimes]]
    findings = [*read_input.findings, *unread]
    if CLUSTER not in against:
        return objects, findings

    import asyncio

    target, namespace = source.target()

    async def listed() -> list[Json]:
        async with target.client as client:
            found: list[Json] = []
            for resource in (TRAIN_JOBS, TRAINING_RUNTIMES, CLUSTER_TRAINING_RUNTIMES):
                items = (await client.list(resource, namespace if resource.namespaced else "")).items
                found += [resource.typed(item) for item in items]
            return found

    return [*objects, *asyncio.run(listed())], findings
