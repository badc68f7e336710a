"""The figures at the top of a report, for all forms that people read."""

from __future__ import annotations

from collections import Counter

from shunter.migrate.survey.report.contents import Contents, ReportedFinding

_SEVERITIES = ("error", "warning", "info")


def figures(contents: Contents) -> list[tuple[str, str]]:
    """Names and values, in reading order."""
    summary = contents.summary
    found = [("Errors", str(summary.errors)), ("Warnings", str(summary.warnings)), ("Notes", str(summary.infos))]
    if summary.suppressed:
        found.append(("Suppressed", str(summary.suppressed)))
    if contents.about != "conversion":
        return [("Files with findings", str(len(contents.items))), *found]
    share = f" ({summary.converted * 100 // summary.objects} %)" if summary.objects else ""
    return [
        ("Jobs", str(summary.objects)),
        ("Converted", f"{summary.converted}{share}"),
        ("Blocked", str(summary.blocked)),
        ("Unreadable", str(summary.unreadable)),
        *found,
        ("Effort", f"{summary.effort} points"),
    ]


def topic_counts(contents: Contents) -> list[tuple[str, str, str, int, str]]:
    """Id, severity, impact, number of findings that are not suppressed, and title: blocking, severe and frequent topics first."""
    counts: Counter[str] = Counter()
    of_topic: dict[str, ReportedFinding] = {}
    for _, finding in contents.findings:
        if not finding.suppressed:
            counts[finding.id] += 1
            of_topic[finding.id] = finding

    def order(id: str) -> tuple[bool, int, int, str]:
        finding = of_topic[id]
        return not finding.is_blocking, _SEVERITIES.index(finding.severity), -counts[id], id

    return [(id, of_topic[id].severity, of_topic[id].impact, counts[id], of_topic[id].title) for id in sorted(counts, key=order)]
