"""Displays of a followed job: the protocol, and the display for pipes and files; for terminals: cli/output/display.py."""

from __future__ import annotations

import sys
from typing import Protocol

from shunter.jobs.following.log_prefix import log_prefix
from shunter.operator.overview import Overview
from shunter.operator.pod_places import Member


class Display(Protocol):
    """Shows a followed job."""

    def log(self, member: Member, container: str, line: str) -> None:
        """A log line of a container."""

    def note(self, text: str) -> None:
        """A message about the job: a condition, a warning event."""

    def problem(self, text: str) -> None:
        """A problem: what keeps the job from training, or why logs and events are missing."""

    def progress(self, job: Overview, phases: dict[str, str], ranks: str) -> None:
        """The state of the job, the phase of each of its pods, by label, and how many ranks are up (`up_text`)."""

    def close(self) -> None:
        """No more output."""


class PipeDisplay:
    """Plain lines, flushed one by one: logs on standard output, messages about the job on standard error."""

    def log(self, member: Member, container: str, line: str) -> None:
        """`[worker-1] loss=0.5` on standard output."""
        sys.stdout.write(f"{log_prefix(member, container)} {line}\n")
        sys.stdout.flush()

    def note(self, text: str) -> None:
        """`-- TEXT` on standard error."""
        sys.stderr.write(f"-- {text}\n")
        sys.stderr.flush()

    def problem(self, text: str) -> None:
        """Prints a note."""
        self.note(text)

    def progress(self, job: Overview, phases: dict[str, str], ranks: str) -> None:
        """Not shown: a written line cannot be updated."""
        return

    def close(self) -> None:
        """Does nothing: every line has been flushed."""
        return
