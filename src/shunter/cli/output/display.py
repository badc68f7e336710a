"""Shows a followed job in a terminal: log lines with a coloured rank before them, conditions, a line of progress at the bottom.

Without a terminal, `shunter.jobs.following.pipe_display.PipeDisplay` is used.
"""

from __future__ import annotations

import time

from rich.status import Status
from rich.text import Text

from shunter.cli.output.console import errors, output
from shunter.jobs.following.log_prefix import log_prefix
from shunter.jobs.following.pipe_display import Display, PipeDisplay
from shunter.operator.overview import Overview
from shunter.operator.pod_places import Member

RANK_COLOURS = ("cyan", "green", "magenta", "yellow", "blue", "bright_red", "bright_cyan", "bright_green")
STATE_COLOURS = {"Succeeded": "green", "Failed": "red", "Running": "cyan", "Restarting": "yellow", "Suspended": "yellow"}
PHASE_MARKS = {"Pending": ("◌", "dim"), "Running": ("●", "cyan"), "Succeeded": ("✓", "green"), "Failed": ("✗", "red")}


class TerminalDisplay:
    """Log lines scroll; a line at the bottom shows the state of the job."""

    def __init__(self) -> None:
        self._console = output()
        self._status: Status | None = None
        self._started = time.monotonic()

    def log(self, member: Member, container: str, line: str) -> None:
        """Prints a line after its prefix (`log_prefix`), which has the colour of its rank, without wrapping it."""
        colour = RANK_COLOURS[(member.rank if member.rank is not None else 0) % len(RANK_COLOURS)]
        self._console.print(Text.assemble((log_prefix(member, container), colour), f" {line}"), soft_wrap=True)

    def note(self, text: str) -> None:
        """Prints a line that begins with `--`."""
        self._console.print(Text.assemble(("--", "bold"), f" {text}"), soft_wrap=True)

    def problem(self, text: str) -> None:
        """Prints a note."""
        self.note(text)

    def progress(self, job: Overview, phases: dict[str, str], ranks: str) -> None:
        """Redraws the line at the bottom: state, a mark for each pod, ranks that are up, seconds since its creation."""
        colour = STATE_COLOURS.get(job.state, "default")
        marks = [PHASE_MARKS.get(phase, PHASE_MARKS["Pending"]) for _, phase in sorted(phases.items())]
        seconds = time.monotonic() - self._started
        text = Text.assemble(f"{job.kind} {job.name} ", (job.state, colour), " ", *marks, f" {ranks} ranks up, {seconds:.0f} s")
        if self._status is None:
            self._status = self._console.status(text)
            self._status.start()
        else:
            self._status.update(text)

    def close(self) -> None:
        """Removes the line at the bottom."""
        if self._status is not None:
            self._status.stop()


class SingleRankDisplay:
    """Passes on the log lines of one rank of a job (None: of all) to another display, and messages about missing lines."""

    def __init__(self, screen: Display, rank: int | None) -> None:
        self._screen = screen
        self._rank = rank

    def log(self, member: Member, container: str, line: str) -> None:
        """Passed on if the line comes from the rank."""
        if self._rank is None or self._rank == member.rank:
            self._screen.log(member, container, line)

    def note(self, text: str) -> None:
        """Not shown."""
        return

    def problem(self, text: str) -> None:
        """Passed on: it explains why lines are missing."""
        self._screen.problem(text)

    def progress(self, job: Overview, phases: dict[str, str], ranks: str) -> None:
        """Not shown."""
        return

    def close(self) -> None:
        """Closes the other display."""
        self._screen.close()


class RecordingDisplay:
    """Passes everything on to another display, and keeps the log lines."""

    def __init__(self, screen: Display) -> None:
        self._screen = screen
        self.lines: dict[str, list[str]] = {}
        """The lines of each pod, by label (`master-0`)."""

    def log(self, member: Member, container: str, line: str) -> None:
        """Passed on, and kept. Lines of all containers of a pod are in one list."""
        self.lines.setdefault(member.label, []).append(line)
        self._screen.log(member, container, line)

    def note(self, text: str) -> None:
        """Passed on, not kept."""
        self._screen.note(text)

    def problem(self, text: str) -> None:
        """Passed on, not kept."""
        self._screen.problem(text)

    def progress(self, job: Overview, phases: dict[str, str], ranks: str) -> None:
        """Passed on, not kept."""
        self._screen.progress(job, phases, ranks)

    def close(self) -> None:
        """Closes the other display; `lines` are kept."""
        self._screen.close()


def display() -> Display:
    """The display for standard output: for a terminal, or for a pipe or file."""
    return TerminalDisplay() if output().is_terminal and errors().is_terminal else PipeDisplay()
