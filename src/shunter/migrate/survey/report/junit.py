"""The report as JUnit XML, which CI servers show: an object is a test case, and fails when it is blocked."""

from __future__ import annotations

import re
from xml.sax.saxutils import escape, quoteattr

from shunter.migrate.survey.report.contents import Contents, Item, ReportedFinding

_NOT_IN_XML = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def written(contents: Contents) -> str:
    """A test case for each object or file. It fails for blocking findings; its other findings are its output."""
    failures = sum(any(finding.is_blocking for finding in item.standing) for item in contents.items)
    counts = f'tests="{len(contents.items)}" failures="{failures}" errors="0"'
    name = _attribute(f"shunter migrate: {contents.about}")
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', f"<testsuites {counts}>", f"  <testsuite name={name} {counts}>"]
    for item in contents.items:
        lines += _case(item)
    return "\n".join([*lines, "  </testsuite>", "</testsuites>"]) + "\n"


def _case(item: Item) -> list[str]:
    place = f" file={_attribute(item.source)}" + (f' line="{item.line}"' if item.line else "")
    lines = [f"    <testcase classname={_attribute(item.source)} name={_attribute(item.title)}{place}>"]
    blocking = [finding for finding in item.standing if finding.is_blocking]
    if blocking:
        message = _attribute(f"{len(blocking)} blocking: {', '.join(dict.fromkeys(finding.id for finding in blocking))}")
        lines.append(f'      <failure type="blocking" message={message}>{_text(blocking)}</failure>')
    others = [finding for finding in item.findings if not finding.is_blocking]
    if others:
        lines.append(f"      <system-out>{_text(others)}</system-out>")
    return [*lines, "    </testcase>"]


def _text(findings: list[ReportedFinding]) -> str:
    return _printable(escape("\n".join(_line(finding) for finding in findings)))


def _line(finding: ReportedFinding) -> str:
    suppressed = f" (suppressed: {finding.suppressed})" if finding.suppressed else ""
    return f"{finding.place}: {finding.severity} {finding.id}: {finding.message} {finding.remedy}{suppressed}"


def _attribute(text: str) -> str:
    return quoteattr(_printable(text))


def _printable(text: str) -> str:
    """The text without the control characters that XML 1.0 cannot contain."""
    return _NOT_IN_XML.sub("\N{REPLACEMENT CHARACTER}", text)
