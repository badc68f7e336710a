"""`jobs`: training jobs of both generations in one list."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated

import typer
from rich.table import Table

from shunter.api.collector import collect_seldom
from shunter.cli.options.job_list import JobChoice
from shunter.cli.options.option_groups import grouped
from shunter.cli.output.console import Output, print_as, print_table, say
from shunter.cli.output.display import STATE_COLOURS
from shunter.cli.output.saved import saved_by
from shunter.cli.target import ContextOption, KubeconfigOption, NamespaceOption, connect
from shunter.cluster.target import Target
from shunter.jobs.ages import age
from shunter.jobs.failure_record import cell
from shunter.jobs.listing import Listing, Row, listed
from shunter.jobs.progress_text import cells


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
    collect_seldom()
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


async def all_listed(target: Target, namespace: str) -> Listing:
    async with target.client as client:
        return await listed(client, namespace, with_saved=saved_by(target), on_refusal=say)
