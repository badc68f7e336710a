"""The report as Markdown: a summary, then a section for each object with findings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from shunter.migrate.survey.report.contents import Contents, Item, ReportedFinding
from shunter.migrate.survey.report.summary import figures, topic_counts


def written(contents: Contents) -> str:
    """The whole text; ends in a line break. Objects without findings are listed at its end."""
    lines = [f"# Migration report: {contents.about}", "", *table(("", ""), figures(contents))]
    counts = topic_counts(contents)
    if counts:
        lines += ["", "## Topics", "", *table(("id", "severity", "impact", "findings", "about"), counts)]
    for item in contents.items:
        if item.findings:
            lines += ["", *_section(item)]
    quiet = [item.title for item in contents.items if not item.findings]
    if quiet:
        lines += ["", "## No findings", "", *(f"- {inline(title)}" for title in quiet)]
    return "\n".join([*lines, "", f"Written by {contents.tool}."]) + "\n"


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    """A Markdown table; its cells are escaped."""
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    return [*lines, *(f"| {' | '.join(inline(str(cell)) for cell in row)} |" for row in rows)]


def inline(text: str) -> str:
    """Text on one line, with markup escaped."""
    for special in "\\`*_|<>[]":
        text = text.replace(special, f"\\{special}")
    return " ".join(text.split())


def code(text: str) -> str:
    """Text as inline code, with a fence longer than any run of backticks in it."""
    line = " ".join(text.split())
    fence = "`" * (1 + max(map(len, re.findall("`+", line)), default=0))
    space = " " if "`" in line else ""
    return f"{fence}{space}{line}{space}{fence}"


def _section(item: Item) -> list[str]:
    profile = f", profile {item.profile} ({item.reason})" if item.profile else ""
    place = f"{item.source}:{item.line}" if item.line else item.source
    head = [f"## {inline(item.title)}", "", f"{inline(place)}: {item.outcome}{inline(profile)}, grade {item.grade}", ""]
    if item.outcome == "found":
        head = [f"## {inline(item.title)}", ""]
    return [*head, *(line for finding in item.findings for line in _finding(finding))]


def _finding(finding: ReportedFinding) -> list[str]:
    where = f"{finding.line}:{finding.column} " if finding.line else ""
    field = f" {code(finding.field)}" if finding.field else ""
    blocking = ", **blocking**" if finding.is_blocking else ""
    suppressed = f" *Suppressed: {inline(finding.suppressed)}*" if finding.suppressed else ""
    text = f"{inline(finding.message)} {inline(finding.remedy)}"
    return [f"- {where}**{finding.id}** ({finding.severity}{blocking}){field}: {text}{suppressed}"]
