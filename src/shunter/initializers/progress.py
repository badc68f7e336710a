"""How far a fetch is: lines for the log, and reports to the status server where the pod has a way to it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

from shunter.initializers.files import RemoteFile

SECONDS_BETWEEN = 5.0

Report = Callable[[int | None, int | None], None]
"""Told the percentage and the seconds left, as far as they are known."""


class Progress:
    """The progress of one fetch; used by several threads."""

    def __init__(
        self,
        print_line: Callable[[str], None],
        *,
        report: Report = lambda percentage, left: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.print_line = print_line
        self._report = report
        self._clock = clock
        self._lock = threading.Lock()
        self._started = self._last_printed = clock()
        self._files = self._files_done = 0
        self._bytes = self._fetched = self._present = 0
        self._knows_size = True

    def start(self, files: Sequence[RemoteFile], missing: Sequence[RemoteFile]) -> None:
        """Says how much there is. `missing` are those of `files` that are not there yet. Rates count from here."""
        self._files, self._files_done = len(files), len(files) - len(missing)
        self._knows_size = all(file.size is not None for file in files)
        self._bytes = sum(file.size or 0 for file in files)
        self._present = self._bytes - sum(file.size or 0 for file in missing)
        self._started = self._last_printed = self._clock()
        there = f", of which {self._files_done} already exist" if self._files_done else ""
        size = f", {amount(self._bytes)}" if self._knows_size else ""
        self.print_line(f"{_files(self._files)}{size}{there}.")

    def advance(self, count: int) -> None:
        """Counts bytes that have arrived; negative for bytes that must be fetched again. Reports at most every 5 seconds."""
        with self._lock:
            self._fetched += count
            now = self._clock()
            if now - self._last_printed < SECONDS_BETWEEN:
                return
            self._last_printed = now
        self._print_progress(now)

    def completed(self) -> None:
        """One more file is there, and right."""
        with self._lock:
            self._files_done += 1

    def end(self) -> None:
        """Says what was fetched and how long it took, and reports 100 %."""
        seconds = self._clock() - self._started
        self.print_line(f"Complete: {_files(self._files)}, {amount(self._fetched)} fetched in {seconds:.1f} s.")
        self._report(100, 0)

    def _print_progress(self, now: float) -> None:
        rate = self._fetched / max(now - self._started, 1e-9)
        done = f"{self._files_done} of {_files(self._files)}, {amount(self._present + self._fetched)}"
        if not self._knows_size:
            self.print_line(f"{done}, {amount(rate)}/s.")
            self._report(None, None)
            return
        left = max(self._bytes - self._present - self._fetched, 0)
        percentage = min(100, 100 * (self._bytes - left) // max(self._bytes, 1))
        seconds = round(left / rate) if rate > 0 else None
        end = "" if seconds is None else f", {seconds} s left"
        self.print_line(f"{done} of {amount(self._bytes)} ({percentage} %), {amount(rate)}/s{end}.")
        self._report(percentage, seconds)


def amount(count: float) -> str:
    """Bytes for people: `1.5 GB`."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"


def _files(count: int) -> str:
    return "1 file" if count == 1 else f"{count} files"
