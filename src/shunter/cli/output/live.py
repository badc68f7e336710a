"""A screen that is drawn again and again until Ctrl-C. Where there is none (a pipe, TERM=dumb), commands say so or draw once."""

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
"""What was read, columns, lines -> what is shown, in no more lines."""

SECONDS = 2.0
"""Between two looks; longer where a look itself takes long."""
SHARE = 4
"""A look takes at most this part of the time: one of 4 seconds is followed by 16 without."""
LATE_SECONDS = 5.0
"""After so long without an answer the screen says so."""
WIDTH, HEIGHT = 100, 40
"""Of what is drawn where there is no terminal."""


def is_screen() -> bool:
    """Whether standard output is a terminal whose lines can be drawn again: not with TERM=dumb."""
    return output().is_terminal and not output().is_dumb_terminal


def refuse_without_screen(remedy: str) -> None:
    """InputError where nothing can be drawn over."""
    if not is_screen():
        raise InputError("-w redraws the screen and needs a terminal, which standard output is not (or TERM is dumb).", remedy)


def screen_size() -> tuple[int, int]:
    """Columns and lines; without a terminal COLUMNS and LINES, else fixed ones."""
    size = shutil.get_terminal_size((WIDTH, HEIGHT))
    return size.columns, size.lines


def cut(line: Text, width: int) -> Text:
    """The text in one line of at most `width` columns."""
    line.no_wrap = True
    line.expand_tabs(8)
    line.truncate(width, overflow="ellipsis")
    return line


def refuse_without_braille(stream: TextIO, instead: str) -> None:
    """EnvironmentProblem where the output cannot show what curves are drawn with."""
    try:
        "\u2840\u2524".encode(stream.encoding or "ascii")
    except UnicodeEncodeError as error:
        raise EnvironmentProblem(
            f"curves are drawn with braille characters, and the output's encoding is {stream.encoding}.",
            f"Set LANG=C.UTF-8; {instead}.",
        ) from error


def show_live(client: Client, read: Callable[[], Awaitable[T]], draw: Draw[T]) -> None:
    """Reads with the client, which it opens, and draws, until Ctrl-C."""
    try:
        asyncio.run(_shown(client, read, draw))
    except KeyboardInterrupt:
        return


async def _shown(client: Client, read: Callable[[], Awaitable[T]], draw: Draw[T]) -> None:
    """What could not be read again stays, with its age. Raises what the first look raises, and later what is no outage."""
    async with client:
        seen, seen_at = await read(), datetime.now(UTC)
        with Live(console=output(), screen=True, auto_refresh=False) as live:

            def redraw(trouble: str = "") -> None:
                width, height = output().size
                late = f"as of {age(seen_at)} ago; {trouble}"
                note = [Text(late, style="bold red", no_wrap=True, overflow="ellipsis")] if trouble else []
                live.update(Group(*note, *draw(seen, width, height - len(note))), refresh=True)

            redraw()
            took = 0.0
            while True:
                await asyncio.sleep(max(SECONDS, SHARE * took))
                begun = time.monotonic()
                looking = asyncio.ensure_future(read())
                while not (await asyncio.wait({looking}, timeout=LATE_SECONDS))[0]:
                    redraw("the cluster has not answered yet")
                try:
                    seen, seen_at = looking.result(), datetime.now(UTC)
                except PASSING as problem:
                    redraw(f"{problem.message} Trying again.")
                else:
                    redraw()
                took = time.monotonic() - begun
