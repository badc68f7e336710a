"""`jobs`, `describe`, `logs`, `delete`: training jobs of both generations in one view."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from shunter.cli.console import Output, errors, output, print_as, print_table, say
from shunter.cli.log_options import LogOptions, PreviousOption, SinceOption, TailOption, TimestampsOption
from shunter.cli.target import ContextOption, KubeconfigOption, NamespaceOption

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shunter.api.meta import Json
    from shunter.api.resources import Resource
    from shunter.kube.client import Client

JobArgument = Annotated[str, typer.Argument(metavar="JOB", help="Name of the job, or KIND/NAME when two kinds share it.")]


def jobs(
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = "",
    namespace: NamespaceOption = "",
    form: Annotated[Output, typer.Option("-o", "--output", help="table, json or yaml.")] = Output.table,
) -> None:
    """List training jobs of every kind, in all namespaces unless one is named.

    Kubernetes' own Jobs are among them where they number their pods (completionMode: Indexed).
    """
    import asyncio

    import msgspec

    from shunter.cli.target import connect
    from shunter.operator.overview import overview

    target = connect(kubeconfig, context)
    rows = [overview(job) for _, job in asyncio.run(listed(target.client, namespace))]
    rows.sort(key=lambda row: (row.namespace, str(row.created), row.name))
    if form is not Output.table:
        print_as([msgspec.to_builtins(row) for row in rows], form)
        return
    if not rows:
        say("no jobs; run one with: shunter run FILE")
        return
    from rich.table import Table

    from shunter.cli.display import STATE_COLOURS
    from shunter.cli.reports import age

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("NAMESPACE", "NAME", "KIND", "STATE", "RANKS", "AGE", "RAN"):
        table.add_column(column)
    for row in rows:
        state = f"[{STATE_COLOURS.get(row.state, 'default')}]{row.state}[/]"
        ran = age(row.created, row.finished) if row.finished else ""
        table.add_row(row.namespace, row.name, row.kind, state, str(row.ranks), age(row.created), ran)
    print_table(table)


def describe(
    job: JobArgument, kubeconfig: KubeconfigOption = None, context: ContextOption = "", namespace: NamespaceOption = ""
) -> None:
    """Show one job: state, conditions, pods by rank, what failed and its last words, events."""
    import asyncio

    from rich.markup import escape

    from shunter.cli.target import connect

    for line in asyncio.run(described(connect(kubeconfig, context).client, job, namespace)):
        output().print(escape(line) if line.startswith(" ") else f"[bold]{escape(line)}[/]", soft_wrap=True)


def logs(
    job: JobArgument,
    rank: Annotated[int | None, typer.Option("--rank", help="Only this rank.")] = None,
    follow: Annotated[bool, typer.Option("-f", "--follow", help="Go on until the job ends.")] = False,
    tail: TailOption = -1,
    since: SinceOption = "",
    previous: PreviousOption = False,
    timestamps: TimestampsOption = False,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = "",
    namespace: NamespaceOption = "",
) -> None:
    """Print the logs of all ranks of a job, or of one, each line after its rank.

    Logs are those of the pods that are there: a pod that was deleted or replaced took its log along.
    """
    import asyncio

    from shunter.cli.log_printing import print_logs
    from shunter.cli.target import connect

    options = LogOptions(tail, since, previous, timestamps)
    options.part(follow=follow)
    asyncio.run(print_logs(connect(kubeconfig, context).client, job, namespace, rank, follow=follow, options=options))


def delete(
    job: JobArgument,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = "",
    namespace: NamespaceOption = "",
) -> None:
    """Delete a job and its pods, and wait until they are gone."""
    import asyncio

    from rich.markup import escape

    from shunter.cli.target import connect

    async def run() -> str:
        from shunter.cli.applying import delete_and_wait

        async with connect(kubeconfig, context).client as client:
            resource, found = await find(client, job, namespace)
            await delete_and_wait(client, resource, found)
            return f"{resource.kind} {found['metadata']['namespace']}/{found['metadata']['name']}"

    with errors().status(f"deleting {escape(job)}"):
        title = asyncio.run(run())
    say(f"deleted {title}")


async def listed(client: Client, namespace: str) -> list[tuple[Resource, Json]]:
    """Every job of every kind that the cluster serves."""
    async with client:
        return await all_jobs(client, namespace)


async def all_jobs(client: Client, namespace: str, among: Sequence[Resource] = ()) -> list[tuple[Resource, Json]]:
    """Jobs of all kinds, or of those in `among`."""
    import asyncio

    from shunter.operator.overview import SHOWN_RESOURCES

    resources = among or SHOWN_RESOURCES
    found = await asyncio.gather(*(jobs_of(client, resource, namespace) for resource in resources))
    return [(resource, job) for resource, jobs in zip(resources, found, strict=True) for job in jobs]


async def jobs_of(client: Client, resource: Resource, namespace: str) -> list[Json]:
    """The jobs of one kind; none of a kind that the cluster does not serve."""
    from shunter.api.resources import JOBS
    from shunter.kube.errors import NotFound

    if resource == JOBS:
        from shunter.cli.native import native_jobs

        return await native_jobs(client, namespace)
    try:
        page = await client.list(resource, namespace)
    except NotFound:
        return []
    return [{"apiVersion": resource.api_version, "kind": resource.kind, **item} for item in page.items]


async def find(client: Client, wanted: str, namespace: str, *, among: Sequence[Resource] = ()) -> tuple[Resource, Json]:
    """The one job of this name, of the kinds in `among` if it names some; InputError when there is none (naming what is close) or
    more than one."""
    import difflib

    from shunter.errors import InputError

    kind, _, name = wanted.rpartition("/")
    every = await all_jobs(client, namespace, among)
    matches = [
        (resource, job)
        for resource, job in every
        if job["metadata"]["name"] == name and kind.lower() in ("", resource.kind.lower(), resource.plural)
    ]
    if len(matches) == 1:
        return matches[0]
    what = among[0].kind if len(among) == 1 else "job"
    where = f"in namespace {namespace}" if namespace else "in any namespace"
    if not matches:
        close = difflib.get_close_matches(name, [job["metadata"]["name"] for _, job in every], n=1)
        raise InputError(
            f"there is no {what} {wanted!r} {where}.", f"Did you mean {close[0]}?" if close else "List them with: shunter jobs"
        )
    titles = ", ".join(f"{resource.kind.lower()}/{name} -n {job['metadata']['namespace']}" for resource, job in matches)
    raise InputError(f"there are {len(matches)} jobs {name!r}: {titles}.", "Name one of them like this.")


async def pods_of(client: Client, job: Json) -> list[Json]:
    from shunter.api.resources import PODS
    from shunter.operator.overview import is_pod_of, pod_selector

    page = await client.list(PODS, job["metadata"]["namespace"], label_selector=pod_selector(job))
    return [pod for pod in page.items if is_pod_of(job, pod)]


async def described(client: Client, wanted: str, namespace: str) -> list[str]:
    from shunter.api.resources import CORE_EVENTS
    from shunter.cli.last_words import last_words
    from shunter.cli.reports import description, is_about

    async with client:
        _, job = await find(client, wanted, namespace)
        space = job["metadata"]["namespace"]
        pods = await pods_of(client, job)
        events = [event for event in (await client.list(CORE_EVENTS, space)).items if is_about(job, pods, event)]
        logs = await last_words(client, job, pods)
        return list(description(job, pods, events, logs))
