"""Delays notes about a job so that they do not appear within the output of a rank, such as a traceback.

`NoteTiming` decides, and gets the time as an argument; `BufferedNotes` is the display that uses it.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable

from shunter.jobs.following.pipe_display import Display
from shunter.operator.overview import Overview
from shunter.operator.pod_places import Member

QUIET = 0.25
"""A note is shown after so many seconds without a log line."""
LONGEST = 2.0
"""The longest delay, in seconds, while there are log lines, but no traceback."""
LONGEST_TRACEBACK = 6.0
"""The longest delay, in seconds, within a traceback."""
_RANK = r"(?:\[[^\]]*\]:(?: |$))?"
"""The prefix that torch writes before the lines of a rank's exception."""
_HEAD = re.compile(_RANK + r"(Traceback \(most recent call last\):|Exception in thread|terminate called|\*\*\* )")
_CONTINUATION = re.compile(
    _RANK + r"(\s|$|The above exception was|During handling of the above|Stack trace|frame #\d|C\+\+ CapturedT)"
)


class NoteTiming:
    """When a note may be shown, after the lines so far. Times are seconds of one clock."""

    def __init__(self) -> None:
        self._last = float("-inf")
        self._open: set[str] = set()
        """Sources whose last line was within a traceback."""

    def line(self, source: str, text: str, now: float) -> None:
        """Records a line of a source."""
        self._last = now
        if _HEAD.match(text):
            self._open.add(source)
        elif not _CONTINUATION.match(text):
            self._open.discard(source)

    def due(self, since: float) -> float:
        """The time at which a note that waits since then is shown if no further line comes."""
        if self._open:
            return since + LONGEST_TRACEBACK
        return min(self._last + QUIET, since + LONGEST)


class BufferedNotes:
    """Passes everything on to another display, notes with a delay, as `NoteTiming` decides."""

    def __init__(self, screen: Display) -> None:
        self._screen = screen
        self._loop = asyncio.get_running_loop()
        self._timing = NoteTiming()
        self._buffered: list[tuple[float, Callable[[], None]]] = []
        self._timer: asyncio.TimerHandle | None = None

    def log(self, member: Member, container: str, line: str) -> None:
        """Shows the line at once, after notes that are due."""
        now = self._loop.time()
        if self._buffered and self._timing.due(self._buffered[0][0]) <= now:
            self._flush()
        self._timing.line(f"{member.label} {container}", line, now)
        self._screen.log(member, container, line)
        if self._buffered:
            self._schedule()

    def note(self, text: str) -> None:
        """Shown with a delay, in order."""
        self._buffer(lambda: self._screen.note(text))

    def problem(self, text: str) -> None:
        """Shown with a delay, in order with the notes."""
        self._buffer(lambda: self._screen.problem(text))

    def progress(self, job: Overview, phases: dict[str, str], ranks: str) -> None:
        """Passed on at once: it adds no line to the output."""
        self._screen.progress(job, phases, ranks)

    def close(self) -> None:
        """Shows the remaining notes, then closes the other display."""
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
        due = self._timing.due(self._buffered[0][0])
        if due <= self._loop.time():
            self._flush()
        else:
            self._timer = self._loop.call_at(due, self._schedule)

    def _flush(self) -> None:
        buffered, self._buffered = self._buffered, []
        for _, show in buffered:
            show()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
