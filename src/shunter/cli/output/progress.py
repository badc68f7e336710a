"""A progress bar with count, rate and time left on standard error. Only in a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from shunter.cli.output.console import errors

Advance = Callable[[int], None]
"""Adds to the number of items done."""


@contextmanager
def counting(what: str, total: int | None = None) -> Iterator[Advance]:
    """Shows a bar while the block runs: `converting  812/1000  640/s`. Without a total it only counts."""
    if not sys.stderr.isatty():  # checked before importing rich, which takes longer than converting a file
        yield lambda count: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
    from rich.text import Text

    class Rate(ProgressColumn):
        def render(self, task: Task) -> Text:
            speed = task.finished_speed or task.speed
            return Text(f"{speed:,.0f}/s" if speed else "")

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), Rate(), TimeRemainingColumn())
    # Refreshed by `advance`, not by a thread: a process with threads cannot safely fork workers.
    with Progress(*columns, console=errors(), transient=True, auto_refresh=False) as bar:
        task = bar.add_task(what, total=total)
        bar.refresh()
        drawn = time.monotonic()

        def advance(count: int) -> None:
            nonlocal drawn
            bar.advance(task, count)
            if time.monotonic() - drawn > 0.1:
                bar.refresh()
                drawn = time.monotonic()

        yield advance
