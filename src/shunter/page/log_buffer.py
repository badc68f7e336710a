"""A buffer of log lines for one browser, limited in size: lines that come faster than they are sent are skipped, and counted.
Pure."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

import msgspec

from shunter.jobs.logs.visible_text import visible_line
from shunter.kube.pods.log_times import split_time, time_of
from shunter.page.wire import LogLines

FRAME_BYTES = 64 * 1024
"""The limit of one event, as JSON."""
FRAMES_A_SECOND = 20
WAITING_BYTES = 4 * FRAME_BYTES
"""The limit of lines that wait for the next frames; beyond it, the oldest are skipped."""
_OVERHEAD = len(msgspec.json.encode(LogLines(lines=(), skipped=10**12)))

Line = tuple[int | None, str, float, str]


class Source(NamedTuple):
    """Where a line comes from: the rank (None for a pod that does not train) and a label such as `worker-1`, with the container
    unless it is the one that trains."""

    rank: int | None
    label: str


class LogBuffer:
    """Lines that wait for the next frame; only those that contain `find`, in upper or lower case."""

    def __init__(self, find: str = "") -> None:
        self._find = find.casefold()
        self._waiting: deque[tuple[Line, int]] = deque()
        self._bytes = 0
        self._skipped = 0
        self._last: dict[Source, float] = {}

    @property
    def is_full(self) -> bool:
        """Whether another line, which is shorter than a frame, could cause the oldest ones to be skipped."""
        return self._bytes > WAITING_BYTES - FRAME_BYTES

    @property
    def is_empty(self) -> bool:
        """Whether there is no frame to send. Skipped lines alone also make a frame, which has their number."""
        return not self._waiting and not self._skipped

    def add(self, source: Source, line: str) -> None:
        """Adds a line, which begins with the time that the kubelet writes before it."""
        stamp, text = split_time(line)
        text = visible_line(text)
        if self._find and self._find not in text.casefold():
            return
        time = moment.timestamp() if (moment := time_of(stamp)) is not None else self._last.get(source, 0.0)
        self._last[source] = time
        shown: Line = (source.rank, source.label, time, text)
        size = len(msgspec.json.encode(shown)) + 1
        self._waiting.append((shown, size))
        self._bytes += size
        while self._bytes > WAITING_BYTES:
            self._bytes -= self._waiting.popleft()[1]
            self._skipped += 1

    def frame(self) -> LogLines | None:
        """The next lines, the waiting ones in the order of their times; None if there are none."""
        if self.is_empty:
            return None
        self._waiting = deque(sorted(self._waiting, key=lambda waiting: waiting[0][2]))
        taken: list[Line] = []
        room = FRAME_BYTES - _OVERHEAD
        while self._waiting and (room := room - self._waiting[0][1]) >= 0:
            line, size = self._waiting.popleft()
            self._bytes -= size
            taken.append(line)
        skipped, self._skipped = self._skipped, 0
        return LogLines(lines=tuple(taken), skipped=skipped)
