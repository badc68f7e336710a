"""`top`: jobs and, of one job, the ranks, a curve and the last log lines, live on one screen."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, NamedTuple

import typer
from rich.console import RenderableType
from rich.text import Text

from shunter.api.collector import collect_seldom
from shunter.cli.jobs import screen_list, screen_table
from shunter.cli.options.completion import job_names
from shunter.cli.options.job_list import JobChoice, Order
from shunter.cli.output.console import output
from shunter.cli.output.job_screen import job_lines
from shunter.cli.output.live import cut, is_screen, refuse_without_braille, screen_size, show_live
from shunter.cli.output.saved import saved_by
from shunter.cli.target import ContextOption, KubeconfigOption, NamespaceOption, connect
from shunter.cluster.target import Target
from shunter.errors import InputError
from shunter.jobs.job_view import JobView, JobViewReader
from shunter.jobs.listing import Row, listed
from shunter.jobs.lookup import find

LIST_SHARE = 3
"""The list takes at most a third of the screen."""
LEAST_WITH_LIST = 6
"""The least height of a screen, in lines, that shows the list besides a job."""
LOG_LINES = 20_000
"""How many of the last lines of a log are read at first."""


class TopView(NamedTuple):
    """What the screen shows."""

    rows: Sequence[Row]
    """All jobs, the worst state first; empty if a job was named."""
    view: JobView | None
    """One job in detail; None if there is none."""
    at: datetime
    """When it was read, by the server's clock."""


def top(
    job: Annotated[
        str, typer.Argument(metavar="[JOB]", autocompletion=job_names, help="Job to show [default: the list and the first job].")
    ] = "",
    metric: Annotated[str, typer.Option("--metric", help="Metric of the curve [default: the loss].")] = "",
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = "",
    namespace: NamespaceOption = "",
) -> None:
    """Show jobs live on one screen: the list, and of one job its ranks, the ranks that differ, a curve and the last log lines.

    Without JOB the first job of the list is shown that has not ended. Press Ctrl-C to quit. In a pipe or a dumb terminal the
    screen is printed once.
    """
    refuse_without_braille(sys.stdout, "shunter jobs needs none")
    collect_seldom()
    target = connect(kubeconfig, context)
    reader = TopReader(target, job, namespace)
    if is_screen():
        show_live(target.client, reader.read, lambda view, width, height: drawn(view, metric, width, height))
        return
    width, height = screen_size()
    for line in drawn(asyncio.run(reader.read_once()), metric, width, height - 1):  # The prompt takes one.
        output().print(line, width=width)


class TopReader:
    """Reads what the screen shows, repeatedly."""

    def __init__(self, target: Target, name: str, namespace: str) -> None:
        """`name` is that of the job; empty: of the first in the list."""
        self._target = target
        self._name = name
        self._namespace = namespace
        self._readers: dict[str, JobViewReader] = {}
        """The reader of the job that is shown, by its uid. It keeps what was read of the job's logs."""

    async def read(self) -> TopView:
        """What to show now. Raises InputError if there is no job of the name."""
        if self._name:
            return await self._view_of(self._name, self._namespace, [])
        found = await listed(self._target.client, self._namespace, with_saved=saved_by(self._target))
        rows = JobChoice(sort=Order.state).chosen(found.rows)
        if not rows:
            return TopView(rows, None, found.at)
        first = next((row.job for row in rows if not row.job.is_finished), rows[0].job)
        try:
            return await self._view_of(f"{first.kind}/{first.name}", first.namespace, rows)
        except InputError:  # It was deleted after it was listed.
            return TopView([row for row in rows if row.job is not first], None, found.at)

    async def _view_of(self, named: str, namespace: str, rows: Sequence[Row]) -> TopView:
        _, job = await find(self._target.client, named, namespace)
        uid = job["metadata"]["uid"]
        if uid not in self._readers:
            self._readers = {uid: JobViewReader(self._target.client, most_lines=LOG_LINES)}
        view = await self._readers[uid].read(job)
        return TopView(rows, view, self._target.client.now())

    async def read_once(self) -> TopView:
        """Reads once, as `read` does, and closes the client."""
        async with self._target.client:
            return await self.read()


def drawn(top_view: TopView, metric: str, width: int, height: int) -> list[RenderableType]:
    """The screen in at most `height` lines of `width` characters."""
    rows, view, now = top_view
    if view is None:
        if rows:
            return screen_list(rows, now, width, height, "list them with: shunter jobs")
        return ["no jobs; run one with: shunter run FILE"]
    lines: list[RenderableType] = []
    if rows and height >= LEAST_WITH_LIST:
        most = max(height // LIST_SHARE - 2, 1)
        left = len(rows) - most
        note = f"{left} more jobs; below: {view.row.name}" if left > 0 else f"below: {view.row.name}"
        lines = [screen_table(rows[:most], now, width), cut(Text(note, style="dim"), width)]
        height -= min(most, len(rows)) + 2
    return [*lines, *job_lines(view, metric, width, height, now)]
