"""Where a followed job is shown, and the plainest of these places: standard output and standard error, as text."""

from __future__ import annotations

import sys
from typing import Protocol

from shunter.jobs.training_pods import TRAINING_CONTAINERS
from shunter.operator.overview import Member, Overview


class Display(Protocol):
    """Where a followed job is shown."""

    def log(self, member: Member, container: str, line: str) -> None:
        """One line that a rank wrote."""

    def note(self, text: str) -> None:
        """Something about the job: a condition, a warning event."""

    def trouble(self, text: str) -> None:
        """Why less is seen than there is: the server does not answer, or refuses something."""

    def progress(self, job: Overview, phases: dict[str, str]) -> None:
        """The state of the job and the phase of each of its pods, by label."""

    def close(self) -> None:
        """No more output."""


class PipeDisplay:
    """Plain lines, each written at once: logs to standard output, everything about the job to standard error."""

    def log(self, member: Member, container: str, line: str) -> None:
        """`[worker-1] loss=0.5` on standard output."""
        sys.stdout.write(f"{prefix(member, container)} {line}\n")
        sys.stdout.flush()

    def note(self, text: str) -> None:
        """`-- TEXT` on standard error."""
        sys.stderr.write(f"-- {text}\n")
        sys.stderr.flush()

    def trouble(self, text: str) -> None:
        """Looks like a note."""
        self.note(text)

    def progress(self, job: Overview, phases: dict[str, str]) -> None:
        """Shows nothing: a line that has been written cannot be brought up to date."""
        return

    def close(self) -> None:
        """Nothing is left to do: every line is out already."""
        return


def prefix(member: Member, container: str) -> str:
    """`[worker-1]`, or `[worker-1 sidecar]` for a container that does not train."""
    trains = container in TRAINING_CONTAINERS or container == member.container
    return f"[{member.label}]" if trains else f"[{member.label} {container}]"
