"""Findings on standard error: where, what, and what to do about it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from shunter.cli.console import errors

if TYPE_CHECKING:
    from rich.text import Text

    from shunter.migrate.findings import Finding

COLOURS = {"error": "bold red", "warning": "yellow", "info": "cyan"}


def tell(findings: Iterable[Finding], *, with_notes: bool) -> None:
    """Each finding in the order of the input. What is suppressed, and notes unless `with_notes`, is only counted (`summary`)."""
    for finding in findings:
        if finding.suppressed or (finding.topic.severity == "info" and not with_notes):
            continue
        for line in _lines(finding):
            errors().print(line, soft_wrap=True)


def summary(findings: Sequence[Finding]) -> str:
    """`2 blocking, 3 warnings, 5 notes`; empty when there is nothing to say."""
    standing = [finding for finding in findings if not finding.suppressed]
    counts = Counter("blocking" if finding.is_blocking else finding.topic.severity for finding in standing)
    parts = [
        (counts["blocking"], "blocking", "blocking"),
        (counts["error"], "error", "errors"),
        (counts["warning"], "warning", "warnings"),
        (counts["info"], "note", "notes"),
        (len(findings) - len(standing), "taken on", "taken on"),
    ]
    return ", ".join(f"{count} {one if count == 1 else many}" for count, one, many in parts if count)


def _lines(finding: Finding) -> Iterable[Text]:
    from rich.text import Text

    severity = "blocking" if finding.is_blocking else finding.topic.severity
    colour = COLOURS["error" if finding.is_blocking else finding.topic.severity]
    head = Text.assemble(f"{finding.place}: ", (f"{severity} {finding.topic.id}", colour), f" {finding.message}")
    yield head
    if finding.advice and finding.topic.severity != "info":
        yield Text(f"    {finding.advice}", style="dim")
