"""The report as JUnit XML, which CI servers show: an object is a test case, and fails when it is blocked."""

from __future__ import annotations

import re
from xml.sax.saxutils import escape, quoteattr

from shunter.migrate.survey.report.contents import Contents, Item, ReportedFinding

_UNSPEAKABLE = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def written(contents: Contents) -> str:
    """A test case for each object or file. It fails for blocking findings; its other findings are its output."""
    failures = sum(any(told.is_blocking for told in item.standing) for item in contents.items)
    counts = f'tests="{len(contents.items)}" failures="{failures}" errors="0"'
    name = _attribute(f"shunter migrate: {contents.about}")
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', f"<testsuites {counts}>", f"  <testsuite name={name} {counts}>"]
    for item in contents.items:
        lines += _case(item)
    return "\n".join([*lines, "  </testsuite>", "</testsuites>"]) + "\n"


def _case(item: Item) -> list[str]:
    place = f" file={_attribute(item.source)}" + (f' line="{item.line}"' if item.line else "")
    lines = [f"    <testcase classname={_attribute(item.source)} name={_attribute(item.title)}{place}>"]
    blocking = [told for told in item.standing if told.is_blocking]
    if blocking:
        message = _attribute(f"{len(blocking)} blocking: {', '.join(dict.fromkeys(told.id for told in blocking))}")
        lines.append(f'      <failure type="blocking" message={message}>{_text(blocking)}</failure>')
    others = [told for told in item.findings if not told.is_blocking]
    if others:
        lines.append(f"      <system-out>{_text(others)}</system-out>")
    return [*lines, "    </testcase>"]


def _text(findings: list[ReportedFinding]) -> str:
    return _printable(escape("\n".join(_line(told) for told in findings)))


def _line(told: ReportedFinding) -> str:
    accepted = f" (suppressed: {told.suppressed})" if told.suppressed else ""
    return f"{told.place}: {told.severity} {told.id}: {told.message} {told.remedy}{accepted}"


def _attribute(text: str) -> str:
    return quoteattr(_printable(text))


def _printable(text: str) -> str:
    """XML 1.0 has no way to say control characters."""
    return _UNSPEAKABLE.sub("\N{REPLACEMENT CHARACTER}", text)
