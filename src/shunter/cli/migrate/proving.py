"""What `validate` and `diff` have in common: which jobs they are about, and what those became."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from shunter.api.meta import Json
    from shunter.migrate.conversion import Conversion
    from shunter.migrate.findings import Finding
    from shunter.migrate.options import Options
    from shunter.migrate.source.objects import SourceObject

JobsArgument = Annotated[
    list[str] | None, typer.Argument(metavar="[[KIND/]NAME]...", help="Only these v1 jobs [default: all of the input].")
]
FilesOption = Annotated[
    list[str] | None,
    typer.Option("-f", "--filename", help="v1 jobs: a file, a directory with all below it, or - for standard input; repeatable."),
]
KustomizeOption = Annotated[list[str] | None, typer.Option("--kustomize", "-k", help="A directory that kustomize builds.")]
ClusterOption = Annotated[bool, typer.Option("--cluster", help="The v1 jobs of a cluster.")]
NamespaceOption = Annotated[str, typer.Option("-n", "--namespace", help="Namespace of the cluster's jobs.")]
AllNamespacesOption = Annotated[bool, typer.Option("-A", "--all-namespaces", help="All namespaces.")]
AgainstOption = Annotated[
    list[str] | None,
    typer.Option(
        "--against",
        help="TrainJobs and runtimes to take in the place of our own conversion: a file, a directory or `cluster`; repeatable.",
    ),
]
CLUSTER = "cluster"


class Proven(NamedTuple):
    conversions: list[Conversion]
    faults: list[Finding]
    """What there is to tell of what could not be read."""
    others: list[Json]
    """The other objects of the input."""


def taken_on(configuration: Path | None) -> Callable[[Iterable[Finding]], tuple[Finding, ...]]:
    """What marks the findings that `migration.yaml` takes on."""
    from datetime import UTC, datetime

    from shunter.migrate import suppression

    path = configuration or Path(suppression.FILE_NAME)
    entries = suppression.read(path) if configuration is not None or path.exists() else ()
    today = datetime.now(UTC).date()
    return lambda findings: suppression.marked(findings, entries, today)


def proven(
    names: Sequence[str],
    options: Options,
    *,
    files: list[str] | None,
    kustomize: list[str] | None,
    cluster: bool,
    namespace: str,
    all_namespaces: bool,
    against: Sequence[str],
    kubeconfig: Path | None,
    context: str,
    configuration: Path | None,
) -> Proven:
    """The jobs with what they became, in the order of the input. InputError when nothing was named, or there is no such job."""
    import gc

    from shunter.cli.migrate.convert import read, take_on
    from shunter.cli.progress import counting
    from shunter.errors import InputError
    from shunter.migrate import batch as batches
    from shunter.migrate.proof.given import with_given

    if not (files or kustomize or cluster):
        raise InputError("no v1 job was named.", "Name files with -f, or use --cluster or --kustomize.")
    if cluster and (files or kustomize):
        raise InputError("--cluster goes with no other input.", "Leave one of them out.")
    given, faults = read(files, kustomize, "", cluster, namespace, all_namespaces, "", kubeconfig, context)
    jobs = _named(given.jobs, names)
    if not jobs:
        from shunter.cli.console import errors

        text = f"no job of kubeflow.org/v1 among {len(given.objects)} objects: nothing was compared"
        errors().print(text, soft_wrap=True, markup=False, highlight=False)
    with counting("converting", len(jobs)) as advance:
        batch = batches.converted(jobs, options, [source.value for source in given.others], advance)
    batch, faults = take_on(batch, [*given.findings, *faults], configuration)
    unread = [finding for outcome in batch.outcomes if outcome.conversion is None for finding in outcome.findings]
    found = [outcome.conversion for outcome in batch.outcomes if outcome.conversion is not None]
    if against:
        objects = _objects(against, namespace, all_namespaces, kubeconfig, context)
        found = [with_given(conversion, objects) for conversion in found]
    # Thousands of manifests and schemas stay until the end: without them every look for garbage is short.
    gc.freeze()
    return Proven(found, [*faults, *unread], [source.value for source in given.others])


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


def _objects(against: Sequence[str], namespace: str, all_namespaces: bool, kubeconfig: Path | None, context: str) -> list[Json]:
    """TrainJobs and runtimes of files, and of the cluster where it is named."""
    from shunter.migrate.source import provider

    files = [name for name in against if name != CLUSTER]
    objects = [found.value for found in provider.read(files).objects] if files else []
    if CLUSTER not in against:
        return objects
    import asyncio

    from shunter.api.resources import CLUSTER_TRAINING_RUNTIMES, TRAIN_JOBS, TRAINING_RUNTIMES
    from shunter.cli.target import connect

    target = connect(kubeconfig, context)
    space = "" if all_namespaces else namespace or target.client.namespace

    async def listed() -> list[Json]:
        async with target.client as client:
            found: list[Json] = []
            for resource in (TRAIN_JOBS, TRAINING_RUNTIMES, CLUSTER_TRAINING_RUNTIMES):
                items = (await client.list(resource, space if resource.namespaced else "")).items
                found += [{**item, "apiVersion": resource.api_version, "kind": resource.kind} for item in items]
            return found

    return [*objects, *asyncio.run(listed())]
