"""`jobs`: training jobs of both generations in one list."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

import typer
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from shunter.api.collector import collect_seldom
from shunter.cli.options.job_list import JobChoice
from shunter.cli.options.option_groups import grouped
from shunter.cli.options.watch import WatchOption
from shunter.cli.output.console import Output, print_as, print_table, say
from shunter.cli.output.display import STATE_COLOURS
from shunter.cli.output.live import cut, refuse_without_screen, show_live
from shunter.cli.output.saved import saved_by
from shunter.cli.target import ContextOption, KubeconfigOption, NamespaceOption, connect
from shunter.cluster.target import Target
from shunter.errors import InputError
from shunter.jobs.ages import age, duration
from shunter.jobs.failure_record import cell
from shunter.jobs.listing import Listing, Row, listed
from shunter.jobs.logs.visible_text import visible_line
from shunter.jobs.lookup import OnRefusal, ignore
from shunter.jobs.pods_up import up_text
from shunter.jobs.progress_text import cells

WIDE = 120
"""The least width of a screen, in columns, that has room for all columns of the list."""


@grouped
def jobs(
    *,
    choice: JobChoice,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = "",
    namespace: NamespaceOption = "",
    form: Annotated[Output, typer.Option("-o", "--output", help="table, json or yaml.")] = Output.table,
    watch: WatchOption = False,
) -> None:
    """List training jobs of every kind, by default in all namespaces.

    WHY is the reason why a job does not train, or why it failed: the rank that failed first, and how; see describe for details.
    UP/WANTED is the number of ranks with a running pod and the number requested. FAILURES (count and latest) and RESTARTS (count
    and limit of restarts of all pods) appear if there were any. PROGRESS, LOSS, LEFT and CHECKPOINT appear if a program
    reports its progress or logs it; (log) marks values from logs. Kubernetes Jobs are listed if they are Indexed
    (completionMode: Indexed).
    """
    collect_seldom()
    if watch and form is not Output.table:
        raise InputError("-w redraws a table; it cannot be used with -o.", "Leave one of the two out.")
    if watch:
        refuse_without_screen("Leave -w out.")
    target = connect(kubeconfig, context)
    if watch:
        show_live(
            target.client,
            lambda: read(target, namespace),
            lambda listing, width, height: screen(choice, listing, namespace, width, height),
        )
        return
    found = asyncio.run(all_listed(target, namespace))
    rows = choice.chosen(found.rows)
    if form is not Output.table:
        print_as([row.as_json() for row in rows], form)
        return
    if not rows:
        say(choice.empty_text(len(found.rows), namespace))
        return
    print_table(table_of(rows, found.at))
    for note in notes(found):
        say(note)


def notes(found: Listing) -> list[str]:
    """Notes about what the list does not show."""
    unread = f"WHY is ? if unknown: {' and '.join(found.unread)} could not be listed"
    unread_logs = (
        f"PROGRESS and LOSS are missing if only logs show them: {found.unread_logs} were not read; use describe for a single job"
    )
    return [*([unread] if found.unread else []), *([unread_logs] if found.unread_logs else [])]


def table_of(rows: Sequence[Row], now: datetime) -> Table:
    """The list for `-o table`; it has columns for progress, failures and restarts only if a job has any."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    reports, restarted = any(row.progress for row in rows), any(row.restarts for row in rows)
    failed = any(row.failures for row in rows)
    progress_columns = ("PROGRESS", "LOSS", "LEFT", "CHECKPOINT") if reports else ()
    counts = (*(("FAILURES",) if failed else ()), *(("RESTARTS",) if restarted else ()))
    for column in ("NAMESPACE", "NAME", "KIND", "STATE", "WHY", "UP/WANTED", *counts, *progress_columns, "AGE", "RAN"):
        table.add_column(column)
    for row in rows:
        job, why = row.job, row.why
        word = why.cause.short if why.cause else "?" * bool(why.unread)
        used = [cell(row.failures, now)] if failed else []
        used += [row.restarts.short if row.restarts else ""] if restarted else []
        progress = cells(row.progress, now, is_running=job.is_running) if reports else ()
        table.add_row(
            job.namespace,
            job.name,
            job.kind,
            coloured(job.state),
            word,
            up_text(row.up, row.wanted),
            *used,
            *progress,
            age(job.created, now),
            duration(job.ran),
        )
    return table


def coloured(state: str) -> Text:
    """The state in its colour."""
    return Text(state, style=STATE_COLOURS.get(state, "default"))


def screen(choice: JobChoice, found: Listing, namespace: str, width: int, height: int) -> list[RenderableType]:
    """The list of a namespace, or of all if that is empty, with a line for each job, in at most `height` lines."""
    rows = choice.chosen(found.rows)
    if not rows:
        return [choice.empty_text(len(found.rows), namespace)]
    missing = [cut(Text(note, style="dim"), width) for note in notes(found)]
    return [*screen_list(rows, found.at, width, height - len(missing), "narrow the list with --state, --kind or -n"), *missing]


def screen_list(rows: Sequence[Row], now: datetime, width: int, height: int, remedy: str) -> list[RenderableType]:
    """The list in at most `height` lines (3 at least): its heading, a line for each job, how many are left out and `remedy`."""
    if len(rows) < height:
        return [screen_table(rows, now, width)]
    most = max(height - 2, 1)
    more = f"and {len(rows) - most} more; {remedy}"
    return [screen_table(rows[:most], now, width), cut(Text(more, style="dim"), width)]


def screen_table(rows: Sequence[Row], now: datetime, width: int) -> Table:
    """The list for a screen: a line for each job, the last column cut at the width."""
    table = Table(box=None, pad_edge=False, header_style="bold", expand=True)
    is_wide = width >= WIDE
    for column in ("STATE", "NAME", "NAMESPACE", *(("KIND",) if is_wide else ()), "UP/WANTED", "PROGRESS", "LEFT", "AGE"):
        table.add_column(column, no_wrap=True)
    table.add_column("WHY", no_wrap=True, overflow="ellipsis", ratio=1)
    for row in rows:
        job, why = row.job, row.why
        progress = cells(row.progress, now, is_running=job.is_running)
        line = visible_line(why.cause.sentence) if why.cause else "?" * bool(why.unread)
        kind = (job.kind,) if is_wide else ()
        named = (coloured(job.state), job.name, job.namespace, *kind)
        table.add_row(*named, up_text(row.up, row.wanted), progress.step, progress.remaining, age(job.created, now), line)
    return table


async def all_listed(target: Target, namespace: str) -> Listing:
    """The jobs of the namespace (empty: of all). Closes the target's client; prints refusals on standard error."""
    async with target.client:
        return await read(target, namespace, on_refusal=say)


async def read(target: Target, namespace: str, on_refusal: OnRefusal = ignore) -> Listing:
    """Reads the list as `all_listed` does, but leaves the client open, and passes refusals to `on_refusal`."""
    return await listed(target.client, namespace, with_saved=saved_by(target), on_refusal=on_refusal)
