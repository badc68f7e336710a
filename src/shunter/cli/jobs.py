"""`jobs`, `describe`, `logs`, `delete`: training jobs of both generations in one view."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from shunter.cli.job_list import JobChoice
from shunter.cli.options.completion import job_names, ranks
from shunter.cli.options.log_options import LogOptions, PreviousOption, SinceOption, TailOption, TimestampsOption
from shunter.cli.options.option_groups import grouped
from shunter.cli.output.console import Output, errors, output, print_as, print_table, say
from shunter.cli.target import ContextOption, KubeconfigOption, NamespaceOption

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rich.table import Table

    from shunter.api.meta import Json
    from shunter.cluster.target import Target
    from shunter.jobs.listing import Listing, Row
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
    """List training jobs of every kind, by default in all namespaces.

    WHY is the reason why a job does not train, or why it failed: the rank that failed first, and how; see describe for details.
    UP/WANTED is the number of ranks with a running pod and the number requested. FAILURES (count and latest) and RESTARTS (count
    and limit of restarts of all pods) appear if there were any. PROGRESS, LOSS, LEFT and CHECKPOINT appear if a program
    reports its progress or logs it; (log) marks values from logs. Kubernetes Jobs are listed if they are Indexed
    (completionMode: Indexed).
    """
    import asyncio

    from shunter.cli.target import connect

    target = connect(kubeconfig, context)
    found = asyncio.run(all_listed(target, namespace))
    rows = choice.chosen(found.rows, of=lambda row: row.job)
    if form is not Output.table:
        print_as([row.as_json() for row in rows], form)
        return
    if not rows:
        say(choice.nothing(len(found.rows)))
        return
    print_table(table_of(rows))
    if found.unread:
        say(f"WHY is ? if unknown: {' and '.join(found.unread)} could not be listed")
    if found.unread_logs:
        say(
            f"PROGRESS and LOSS are missing if only logs show them: {found.unread_logs} were not read; use "
            f"describe for a single job"
        )


def table_of(rows: Sequence[Row]) -> Table:
    """The list for people; progress has columns only where some program reports it."""
    from datetime import UTC, datetime

    from rich.table import Table

    from shunter.cli.output.display import STATE_COLOURS
    from shunter.jobs.ages import age
    from shunter.jobs.failure_record import cell
    from shunter.jobs.progress_text import cells

    now, table = datetime.now(UTC), Table(box=None, pad_edge=False, header_style="bold")
    reports, restarted = any(row.progress for row in rows), any(row.restarts for row in rows)
    failed = any(row.failures for row in rows)
    progress = ("PROGRESS", "LOSS", "LEFT", "CHECKPOINT") if reports else ()
    counts = (*(("FAILURES",) if failed else ()), *(("RESTARTS",) if restarted else ()))
    for column in ("NAMESPACE", "NAME", "KIND", "STATE", "WHY", "UP/WANTED", *counts, *progress, "AGE", "RAN"):
        table.add_column(column)
    for row in rows:
        job, why = row.job, row.why
        state = f"[{STATE_COLOURS.get(job.state, 'default')}]{job.state}[/]"
        ran = age(job.created, job.finished) if job.finished else ""
        word = why.cause.short if why.cause else "?" * bool(why.unread)
        used = [cell(row.failures, now)] if failed else []
        used += [row.restarts.short if row.restarts else ""] if restarted else []
        ranks = f"{'?' if row.up is None else row.up}/{row.wanted}"
        how_far = cells(row.progress, now, is_finished=job.is_finished) if reports else ()
        table.add_row(job.namespace, job.name, job.kind, state, word, ranks, *used, *how_far, age(job.created), ran)
    return table


def describe(
    job: JobArgument, kubeconfig: KubeconfigOption = None, context: ContextOption = "", namespace: NamespaceOption = ""
) -> None:
    """Show one job: state, conditions, pods by rank, failures with their last log lines, events."""
    import asyncio

    from rich.markup import escape

    from shunter.cli.target import connect

    for line in asyncio.run(described(connect(kubeconfig, context), job, namespace)):
        output().print(escape(line) if line.startswith(" ") else f"[bold]{escape(line)}[/]", soft_wrap=True)


def logs(
    job: JobArgument,
    rank: Annotated[int | None, typer.Option("--rank", autocompletion=ranks, help="Only this rank.")] = None,
    follow: Annotated[bool, typer.Option("-f", "--follow", help="Follow the logs until the job ends.")] = False,
    tail: TailOption = -1,
    since: SinceOption = "",
    previous: PreviousOption = False,
    timestamps: TimestampsOption = False,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = "",
    namespace: NamespaceOption = "",
) -> None:
    """Print the logs of one rank or all ranks of a job, each line prefixed with its rank.

    Only existing pods have logs: the log of a deleted or replaced pod is lost.
    """
    import asyncio

    from shunter.cli.output.log_printing import print_logs
    from shunter.cli.target import connect

    options = LogOptions(tail, since, previous, timestamps)
    options.part(follow=follow)
    asyncio.run(print_logs(connect(kubeconfig, context).client, job, namespace, rank, follow=follow, options=options))


def delete(
    job: JobArgument,
    now: Annotated[bool, typer.Option("--now", help="Give pods one second to end instead of their grace period.")] = False,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = "",
    namespace: NamespaceOption = "",
) -> None:
    """Delete a job and its pods, and wait until they are gone.

    Pods have their terminationGracePeriodSeconds (default 30) to end after SIGTERM. Prints the latest saved checkpoint of a job
    that ran, if its directory, log or reports show one.
    """
    import asyncio

    from rich.markup import escape

    from shunter.cli.target import connect
    from shunter.launch.marks import DIGEST, PROGRAM

    async def run() -> str:
        from shunter.cli.deleting import delete_and_wait, delete_leftovers
        from shunter.errors import InputError
        from shunter.jobs.finding import find

        target = connect(kubeconfig, context)
        async with target.client as client:
            try:
                resource, found = await find(client, job, namespace, on_refusal=say)
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


async def all_listed(target: Target, namespace: str) -> Listing:
    from shunter.jobs.listing import listed

    async with target.client as client:
        return await listed(client, namespace, with_saved=saved_by(target), on_refusal=say)


async def described(target: Target, wanted: str, namespace: str) -> list[str]:
    import asyncio
    from datetime import UTC, datetime

    from shunter.cli.output.diagnosed import diagnosed
    from shunter.fabrics.chosen import asked_profile, network_lines
    from shunter.jobs.description import description
    from shunter.jobs.evidence import evidence_of
    from shunter.jobs.finding import find, own_pods
    from shunter.jobs.last_log_lines import last_log_lines
    from shunter.jobs.logs.network import networks_in_log
    from shunter.jobs.logs.progress import progress_in_logs
    from shunter.launch.marks import FABRIC
    from shunter.operator.training_progress import progress

    client = target.client
    async with client:
        _, job = await find(client, wanted, namespace, on_refusal=say)
        evidence = await evidence_of(client, job)
        pods = own_pods(job, evidence.pods)
        logs, logged, networks = await asyncio.gather(
            last_log_lines(client, job, pods), progress_in_logs(client, [job]), networks_in_log(client, job, pods)
        )
    how_far = saved_by(target)(progress(job) or logged.found.get(job["metadata"]["uid"]), job)
    network, warning = network_lines(networks, asked_profile((job["metadata"].get("annotations") or {}).get(FABRIC, ""), pods))
    beside = (("MLflow", mlflow_run(job)), ("Network", network), ("Warning", warning))
    return list(description(job, evidence, logs, datetime.now(UTC), how_far, beside, diagnosed(job, evidence)))


def mlflow_run(job: Json) -> str:
    """Where the job logs to; empty when it does not."""
    from shunter.cli.tracking import shown_run
    from shunter.launch.tracking import tracked_run

    run = tracked_run(job)
    return "" if run is None else shown_run(run)


def saved_by(target: Target) -> Callable[[Progress | None, Json], Progress | None]:
    """Adds to the progress of a job its newest checkpoint, where the directory is on this machine."""

    def with_newest(told: Progress | None, job: Json) -> Progress | None:
        if not (job["spec"].get("trainer") or {}).get("env"):
            return told  # Most lists have no job that was given a place, and the import takes a tenth of a second.
        from shunter.launch.checkpoints import with_saved

        return with_saved(told, job)

    return with_newest if target.embedded is not None else lambda told, _: told
