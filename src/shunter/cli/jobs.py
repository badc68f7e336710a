"""`jobs`, `describe`, `logs`, `delete`: training jobs of both generations in one view."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from shunter.cli.completion import job_names, ranks
from shunter.cli.console import Output, errors, output, print_as, print_table, say
from shunter.cli.job_list import JobChoice
from shunter.cli.log_options import LogOptions, PreviousOption, SinceOption, TailOption, TimestampsOption
from shunter.cli.option_groups import grouped
from shunter.cli.target import ContextOption, KubeconfigOption, NamespaceOption

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.table import Table

    from shunter.api.meta import Json
    from shunter.api.resources import Resource
    from shunter.cluster.target import Target
    from shunter.jobs.evidence import Why
    from shunter.kube.client import Client
    from shunter.operator.overview import Overview
    from shunter.operator.restarts import Restarts
    from shunter.operator.training_progress import Progress

JobArgument = Annotated[
    str, typer.Argument(metavar="JOB", autocompletion=job_names, help="Name of the job, or KIND/NAME when two kinds share it.")
]


@grouped
def jobs(
    *,
    choice: JobChoice,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = "",
    namespace: NamespaceOption = "",
    form: Annotated[Output, typer.Option("-o", "--output", help="table, json or yaml.")] = Output.table,
) -> None:
    """List training jobs of every kind, in all namespaces unless one is named.

    WHY says in a word what keeps a job from training; describe says more. STEP, LOSS, LEFT and CHECKPOINT are there when a
    program reports its progress, or else says it in its log: (log) marks that. RESTARTS is there where all pods of a job were
    made anew: how often, of how often they may be.
    Kubernetes' own Jobs are listed where they number their pods (completionMode: Indexed).
    """
    import asyncio

    from shunter.cli.target import connect

    target = connect(kubeconfig, context)
    found, unread, unread_logs = asyncio.run(listed(target, namespace))
    rows = choice.chosen(found, of=lambda row: row.job)
    if form is not Output.table:
        print_as([row.as_json() for row in rows], form)
        return
    if not rows:
        say(choice.nothing(len(found)))
        return
    print_table(table_of(rows))
    if unread:
        say(f"WHY is ? where it is not known: {' and '.join(unread)} could not be listed")
    if unread_logs:
        say(f"STEP and LOSS are missing where they stand in logs only: {unread_logs} were not read; describe reads one job's")


def table_of(rows: Sequence[Row]) -> Table:
    """The list for people; progress has columns only where some program reports it."""
    from datetime import UTC, datetime

    from rich.table import Table

    from shunter.cli.ages import age
    from shunter.cli.display import STATE_COLOURS
    from shunter.cli.training_progress import cells

    now, table = datetime.now(UTC), Table(box=None, pad_edge=False, header_style="bold")
    reports, restarted = any(row.progress for row in rows), any(row.restarts for row in rows)
    progress = ("STEP", "LOSS", "LEFT", "CHECKPOINT") if reports else ()
    counts = ("RESTARTS",) if restarted else ()
    for column in ("NAMESPACE", "NAME", "KIND", "STATE", "WHY", "RANKS", *counts, *progress, "AGE", "RAN"):
        table.add_column(column)
    for row in rows:
        job, why = row.job, row.why
        state = f"[{STATE_COLOURS.get(job.state, 'default')}]{job.state}[/]"
        ran = age(job.created, job.finished) if job.finished else ""
        word = why.cause.word if why.cause else "?" * bool(why.unread)
        used = [row.restarts.short if row.restarts else ""] if restarted else []
        how_far = cells(row.progress, now, is_finished=job.is_finished) if reports else ()
        table.add_row(job.namespace, job.name, job.kind, state, word, str(job.ranks), *used, *how_far, age(job.created), ran)
    return table


def describe(
    job: JobArgument, kubeconfig: KubeconfigOption = None, context: ContextOption = "", namespace: NamespaceOption = ""
) -> None:
    """Show one job: state, conditions, pods by rank, what failed and its last words, events."""
    import asyncio

    from rich.markup import escape

    from shunter.cli.target import connect

    for line in asyncio.run(described(connect(kubeconfig, context), job, namespace)):
        output().print(escape(line) if line.startswith(" ") else f"[bold]{escape(line)}[/]", soft_wrap=True)


def logs(
    job: JobArgument,
    rank: Annotated[int | None, typer.Option("--rank", autocompletion=ranks, help="Only this rank.")] = None,
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
    now: Annotated[bool, typer.Option("--now", help="Give its pods a second to end, not their own grace periods.")] = False,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = "",
    namespace: NamespaceOption = "",
) -> None:
    """Delete a job and its pods, and wait until they are gone.

    Pods get their terminationGracePeriodSeconds (30 by default) to end after SIGTERM. What a job that ran has saved is said,
    where its directory, its log or its reports tell.
    """
    import asyncio

    from rich.markup import escape

    from shunter.cli.target import connect
    from shunter.launch.marks import DIGEST, PROGRAM

    async def run() -> str:
        from shunter.cli.deleting import delete_and_wait, delete_leftovers
        from shunter.errors import InputError

        target = connect(kubeconfig, context)
        async with target.client as client:
            try:
                resource, found = await find(client, job, namespace)
            except InputError:
                if await delete_leftovers(client, namespace, job):
                    return f"what was sent for {job}; there is no such job"
                raise
            await delete_and_wait(client, resource, found, now=now, on_this_machine=target.embedded is not None)
            metadata = found["metadata"]
            if PROGRAM in (annotations := metadata.get("annotations") or {}):
                await delete_leftovers(client, metadata["namespace"], metadata["name"], annotations.get(DIGEST, ""))
            return f"{resource.kind} {found['metadata']['namespace']}/{found['metadata']['name']}"

    with errors().status(f"deleting {escape(job)}"):
        title = asyncio.run(run())
    say(f"deleted {title}")


WHY_FIELDS = ("why", "cause", "remedy")


class Row(NamedTuple):
    """One job of the list."""

    job: Overview
    why: Why
    progress: Progress | None
    restarts: Restarts | None = None

    def as_json(self) -> Json:
        """The job's overview. `why`, `cause` and `remedy` are empty when nothing keeps it from training, `unread` names the kinds
        that could not be read and might have told; `progress` is null when nothing tells of it, `restarts` for a job whose
        pods were not all made anew, and for one that has ended."""
        import msgspec

        found: Json = msgspec.to_builtins(self.job)
        cause = self.why.cause
        why = {"why": cause.word, "cause": cause.sentence, "remedy": cause.remedy} if cause else dict.fromkeys(WHY_FIELDS, "")
        return {
            **found,
            **why,
            "unread": list(self.why.unread),
            "progress": msgspec.to_builtins(self.progress),
            "restarts": msgspec.to_builtins(self.restarts),
        }


async def listed(target: Target, namespace: str) -> tuple[list[Row], list[str], int]:
    """Every job of every kind that the cluster serves; the kinds that could not be read and might have told why one of them does
    not train; and of how many jobs the logs were not read, which might have told how far they are."""
    import asyncio
    from datetime import UTC, datetime

    from shunter.cli.restart_counts import restarts_of_all
    from shunter.jobs.evidence import Why, why_of_all
    from shunter.jobs.log_progress import progress_in_logs
    from shunter.operator.overview import overview

    client = target.client
    async with client:
        found = [job for _, job in await all_jobs(client, namespace)]
        why, restarts, logged = await asyncio.gather(
            why_of_all(client, found, namespace, datetime.now(UTC)),
            restarts_of_all(client, found, namespace),
            progress_in_logs(client, found),
        )
    rows = [
        Row(overview(job), why.get(uid, Why(None)), how_far(target, job, logged.found), restarts.get(uid))
        for job in found
        for uid in [job["metadata"]["uid"]]
    ]
    rows.sort(key=lambda row: (row.job.namespace, str(row.job.created), row.job.name))
    return rows, sorted({kind for row in rows for kind in row.why.unread}), logged.unread


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
    from shunter.operator.overview import pod_selector

    page = await client.list(PODS, job["metadata"]["namespace"], label_selector=pod_selector(job))
    return own_pods(job, page.items)


def own_pods(job: Json, pods: Sequence[Json]) -> list[Json]:
    from shunter.operator.overview import is_pod_of

    return [pod for pod in pods if is_pod_of(job, pod)]


async def described(target: Target, wanted: str, namespace: str) -> list[str]:
    import asyncio
    from datetime import UTC, datetime

    from shunter.cli.reports import description
    from shunter.jobs.evidence import evidence_of
    from shunter.jobs.last_words import last_words
    from shunter.jobs.log_network import networks_in_log
    from shunter.jobs.log_progress import progress_in_logs

    client = target.client
    async with client:
        _, job = await find(client, wanted, namespace)
        evidence = await evidence_of(client, job)
        pods = own_pods(job, evidence.pods)
        logs, logged, networks = await asyncio.gather(
            last_words(client, job, pods), progress_in_logs(client, [job]), networks_in_log(client, job, pods)
        )
        return list(description(job, evidence, logs, datetime.now(UTC), how_far(target, job, logged.found), networks))


def how_far(target: Target, job: Json, logged: Mapping[str, Progress]) -> Progress | None:
    """What a job's program reports, else what its log (by the job's uid) says; its checkpoint is the newest one in its directory,
    where that is on this machine."""
    from shunter.launch.checkpoints import with_saved
    from shunter.operator.training_progress import progress

    told = progress(job) or logged.get(job["metadata"]["uid"])
    return told if target.embedded is None else with_saved(told, job)
