"""What `validate` and `diff` have in common: which jobs they are about, and what those became."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from shunter.api.counts import count
from shunter.cli.migrate.findings.taking_on import taken_on

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shunter.api.meta import Json
    from shunter.cli.migrate.options.inputs import InputOptions
    from shunter.migrate.conversion.one_job import Conversion
    from shunter.migrate.conversion.source.objects import SourceObject
    from shunter.migrate.findings import Finding
    from shunter.migrate.options import Options

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


class Proven(NamedTuple):
    conversions: list[Conversion]
    faults: list[Finding]
    """What there is to tell of what could not be read."""
    others: list[Json]
    """The other objects of the input."""


def proven(
    names: Sequence[str],
    options: Options,
    source: InputOptions,
    *,
    against: Sequence[str],
    configuration: Path | None,
) -> Proven:
    """The jobs with what they became, in the order of the input. InputError when nothing was named, or there is no such job."""
    import gc

    from shunter.cli.output.progress import counting
    from shunter.migrate.conversion import batch as batches
    from shunter.migrate.conversion.sharing import shared_in
    from shunter.migrate.proof.given import each_with_given, with_given

    source, names = source.with_paths(names)
    source.require_one_source()
    given, faults = source.read()
    jobs = _named(given.jobs, names)
    if not jobs:
        from shunter.cli.output.console import errors

        text = f"no job of kubeflow.org/v1 among {count(len(given.objects), 'object')}: nothing was compared"
        errors().print(text, soft_wrap=True, markup=False, highlight=False)
    with counting("converting", len(jobs)) as advance:
        batch = batches.converted(jobs, options, [other.value for other in given.others], advance)
    batch, faults = taken_on(batch, [*given.findings, *given.unrendered, *faults], configuration)
    batch = shared_in(given, batch)
    unread = [finding for outcome in batch.outcomes if outcome.conversion is None for finding in outcome.findings]
    found = [outcome.conversion for outcome in batch.outcomes if outcome.conversion is not None]
    if against:
        objects, unreadable = _objects(against, source)
        if len(jobs) == 1:
            found = [with_given(conversion, objects) for conversion in found]
        else:
            found, missing = each_with_given(found, objects)
            unreadable += missing
        faults = [*faults, *unreadable]
    # Thousands of manifests and schemas stay until the end: without them every look for garbage is short.
    gc.freeze()
    return Proven(found, [*faults, *unread], [other.value for other in given.others])


def _named(jobs: list[SourceObject], names: Sequence[str]) -> list[SourceObject]:
    from shunter.errors import InputError

    if not names:
        return jobs
    found = []
    for name in names:
        kind, _, own = name.rpartition("/")
        meant = [job for job in jobs if job.name == own and kind.lower() in ("", job.kind.lower())]
        if not meant:
            there = ", ".join(f"{job.kind}/{job.name}" for job in jobs[:5]) or "none"
            raise InputError(f"{name}: no such v1 job in the input; there are {there}.", "Write KIND/NAME or NAME.")
        found += meant
    return found


def _objects(against: Sequence[str], source: InputOptions) -> tuple[list[Json], list[Finding]]:
    """TrainJobs and runtimes of files, and of the cluster where it is named; and what there is to tell of reading files."""
    from shunter.migrate.conversion.source import provider

    files = [name for name in against if name != CLUSTER]
    given = provider.read(files)
    objects = [found.value for found in given.objects]
    if CLUSTER not in against:
        return objects, given.findings
    import asyncio

    from shunter.api.resources import CLUSTER_TRAINING_RUNTIMES, TRAIN_JOBS, TRAINING_RUNTIMES

    target, namespace = source.target()

    async def listed() -> list[Json]:
        async with target.client as client:
            found: list[Json] = []
            for resource in (TRAIN_JOBS, TRAINING_RUNTIMES, CLUSTER_TRAINING_RUNTIMES):
                items = (await client.list(resource, namespace if resource.namespaced else "")).items
                found += [{**item, "apiVersion": resource.api_version, "kind": resource.kind} for item in items]
            return found

    return [*objects, *asyncio.run(listed())], given.findings
