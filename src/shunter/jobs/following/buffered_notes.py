"""Keeps notes about a job out of the middle of what its ranks write: a traceback is read as one piece.

`NoteTiming` decides, without a clock of its own; `BufferedNotes` is the display around it.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable

from shunter.jobs.following.display import Display
from shunter.operator.overview import Member, Overview

QUIET = 0.25
"""Seconds without a log line after which a note is shown."""
LONGEST = 2.0
"""Seconds that a note waits at most while lines keep coming; between two of them, but in no traceback, it is shown then."""
LONGEST_TRACEBACK = 6.0
"""Seconds that it waits at most for the end of a traceback."""
_RANK = r"(?:\[[^\]]*\]:(?: |$))?"
"""What torch puts before the lines of an exception that ends a rank."""
_HEAD = re.compile(_RANK + r"(Traceback \(most recent call last\):|Exception in thread|terminate called|\*\*\* )")
_GO_ON = re.compile(_RANK + r"(\s|$|The above exception was|During handling of the above|Stack trace|frame #\d|C\+\+ CapturedT)")


class NoteTiming:
    """When the lines so far leave room for a note. Times are seconds of one clock."""

    def __init__(self) -> None:
        self._last = float("-inf")
        self._open: set[str] = set()
        """Sources in the middle of a traceback."""

    def line(self, source: str, text: str, now: float) -> None:
        """A source wrote a line."""
        self._last = now
        if _HEAD.match(text):
            self._open.add(source)
        elif not _GO_ON.match(text):
            self._open.discard(source)

    def room_at(self, since: float) -> float:
        """The time at which a note that has waited since then may be shown, if no further line comes."""
        if self._open:
            return since + LONGEST_TRACEBACK
        return min(self._last + QUIET, since + LONGEST)


class BufferedNotes:
    """Another display whose notes come between the log lines of ranks, never within a traceback."""

    def __init__(self, screen: Display) -> None:
        self._screen = screen
        self._loop = asyncio.get_running_loop()
        self._timing = NoteTiming()
        self._buffered: list[tuple[float, Callable[[], None]]] = []
        self._timer: asyncio.TimerHandle | None = None

    def log(self, member: Member, container: str, line: str) -> None:
        """Shows the line at once, after the notes that have waited long enough."""
        now = self._loop.time()
        if self._buffered and self._timing.room_at(self._buffered[0][0]) <= now:
            self._flush()
        self._timing.line(f"{member.label} {container}", line, now)
        self._screen.log(member, container, line)
        if self._buffered:
            self._schedule()

    def note(self, text: str) -> None:
        """Shown once the ranks leave room for it, after those that wait already."""
        self._buffer(lambda: self._screen.note(text))

    def trouble(self, text: str) -> None:
        """Waits as a note does, and among them in its turn."""
        self._buffer(lambda: self._screen.trouble(text))

    def progress(self, job: Overview, phases: dict[str, str]) -> None:
        """Goes on at once: it puts no line between those of ranks."""
        self._screen.progress(job, phases)

    def close(self) -> None:
        """Shows the notes that still wait, then closes the other display."""
        self._flush()
        self._screen.close()

    def _buffer(self, show: Callable[[], None]) -> None:
        self._buffered.append((self._loop.time(), show))
        self._schedule()

    def _schedule(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if not self._buffered:
            return
        now, room = self._loop.time(), self._timing.room_at(self._buffered[0][0])
        if room <= now:
            self._flush()
        else:
            self._timer = self._loop.call_at(room, self._schedule)

    def _flush(self) -> None:
        buffered, self._buffered = self._buffered, []
        for _, show in buffered:
            show()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
