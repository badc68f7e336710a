"""A screen that is redrawn until Ctrl-C. Without a terminal (a pipe, TERM=dumb), commands refuse that or draw once."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from typing import TextIO, TypeVar

from rich.console import Group, RenderableType
from rich.live import Live
from rich.text import Text

from shunter.cli.output.console import output
from shunter.errors import EnvironmentProblem, InputError
from shunter.jobs.ages import age
from shunter.kube.client import Client
from shunter.kube.errors import PASSING

T = TypeVar("T")
Draw = Callable[[T, int, int], Sequence[RenderableType]]
"""What was read, columns, lines -> what is shown, in at most so many lines."""

SECONDS = 2.0
"""The pause between two readings; longer if a reading takes long."""
PAUSE_FACTOR = 4
"""The pause in times of the last reading: one of 4 seconds is followed by 16 without."""
LATE_SECONDS = 5.0
"""After so long without an answer the screen says so."""
WIDTH, HEIGHT = 100, 40
"""The size of what is drawn without a terminal."""


def is_screen() -> bool:
    """Whether standard output is a terminal that can be redrawn: not with TERM=dumb."""
    return output().is_terminal and not output().is_dumb_terminal


def refuse_without_screen(remedy: str) -> None:
    """Raises InputError if standard output cannot be redrawn."""
    if not is_screen():
        raise InputError("-w redraws the screen and needs a terminal, which standard output is not (or TERM is dumb).", remedy)


def screen_size() -> tuple[int, int]:
    """Columns and lines of the terminal; without one COLUMNS and LINES, or else fixed ones."""
    size = shutil.get_terminal_size((WIDTH, HEIGHT))
    return size.columns, size.lines


def cut(line: Text, width: int) -> Text:
    """The text, cut to one line of `width` columns."""
    line.no_wrap = True
    line.expand_tabs(8)
    line.truncate(width, overflow="ellipsis")
    return line


def refuse_without_braille(stream: TextIO, instead: str) -> None:
    """Raises EnvironmentProblem if the output's encoding lacks the characters that curves are drawn with."""
    try:
        "\u2840\u2524".encode(stream.encoding or "ascii")
    except UnicodeEncodeError as error:
        raise EnvironmentProblem(
            f"curves are drawn with braille characters, and the output's encoding is {stream.encoding}.",
            f"Set LANG=C.UTF-8; {instead}.",
        ) from error


def show_live(client: Client, read: Callable[[], Awaitable[T]], draw: Draw[T]) -> None:
    """Reads and draws repeatedly until Ctrl-C. Opens and closes the client."""
    try:
        asyncio.run(_shown(client, read, draw))
    except KeyboardInterrupt:
        return


async def _shown(client: Client, read: Callable[[], Awaitable[T]], draw: Draw[T]) -> None:
    """If a later reading fails because of an outage, the last result stays, with its age. Raises other errors, and any of the
    first reading."""
    async with client:
        found, read_at = await read(), datetime.now(UTC)
        with Live(console=output(), screen=True, auto_refresh=False) as live:

            def redraw(outage: str = "") -> None:
                width, height = output().size
                late = f"as of {age(read_at)} ago; {outage}"
                note = [Text(late, style="bold red", no_wrap=True, overflow="ellipsis")] if outage else []
                live.update(Group(*note, *draw(found, width, height - len(note))), refresh=True)

            redraw()
            duration = 0.0
            while True:
                await asyncio.sleep(max(SECONDS, PAUSE_FACTOR * duration))
                started = time.monotonic()
                reading = asyncio.ensure_future(read())
                while not (await asyncio.wait({reading}, timeout=LATE_SECONDS))[0]:
                    redraw("the cluster has not answered yet")
                try:
                    found, read_at = reading.result(), datetime.now(UTC)
                except PASSING as problem:
                    redraw(f"{problem.message} Trying again.")
                else:
                    redraw()
                duration = time.monotonic() - started
