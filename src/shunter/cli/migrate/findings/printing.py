"""Prints findings on standard error: place, message and remedy."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from shunter.api.formats.counts import count, listed
from shunter.api.meta import Json
from shunter.cli.output.console import errors
from shunter.migrate.conversion.batch import Outcome
from shunter.migrate.conversion.one_job import Conversion
from shunter.migrate.conversion.rules.profiles import SHORTER
from shunter.migrate.conversion.unread_code import together
from shunter.migrate.findings import Finding
from shunter.migrate.grouping import Group, blocks, grouped, once_per_cause

if TYPE_CHECKING:
    from rich.text import Text

COLOURS = {"error": "bold red", "warning": "yellow", "info": "cyan"}


def print_findings(findings: Iterable[Finding], *, with_notes: bool) -> None:
    """Prints the findings in the order of the input, equal ones together. Suppressed ones, and notes unless `with_notes`, are
    only counted (`summary`)."""
    shown = [finding for finding in findings if not finding.suppressed and (with_notes or finding.topic.severity != "info")]
    groups = grouped(shown)
    if not sys.stderr.isatty():
        sys.stderr.write("".join(f"{line}\n" for group in groups for line in _words(group)))
        return
    for group in groups:
        for line in _coloured(group):
            errors().print(line, soft_wrap=True)


def finding_json(finding: Finding) -> Json:
    """A finding in JSON."""
    return {"id": finding.topic.id, "place": str(finding.place), "field": finding.field, "message": finding.message}


def print_blocks(outcomes: Iterable[Outcome]) -> None:
    """Prints which jobs are blocked, by which findings, and the option that suppresses these."""
    for found in blocks((outcome.source.title, outcome.findings) for outcome in outcomes):
        sys.stderr.write("".join(f"{line}\n" for line in found.lines))


def unchecked_code(conversions: Iterable[Conversion]) -> str:
    """`Not checked: the contents of 2 images (a, b), what git clone fetches. ...`, once per run; empty if all was read."""
    code = together(conversion.unread_code for conversion in conversions)
    parts = [_contents(kind, names) for kind, names in (("image", code.images), ("volume", code.volumes)) if names]
    if code.fetches:
        parts.append(f"what {listed(code.fetches)} {'fetches' if len(code.fetches) == 1 else 'fetch'}")
    if not parts:
        return ""
    return f"Not checked: {', '.join(parts)}. Programs there may read names, ports or files that differ in v2."


def _contents(kind: str, names: Sequence[str]) -> str:
    return f"the contents of {f'{kind} {names[0]}' if len(names) == 1 else f'{len(names)} {kind}s ({listed(names)})'}"


def shorter_forms(conversions: Sequence[Conversion]) -> list[str]:
    """`Shorter for 3 of 4 jobs: --profile=idiomatic ...`: the options with which they need no runtime of their own, and the
    conditions under which they train the same."""
    jobs = Counter(one.shorter for one in conversions if one.shorter)
    return [
        f"Shorter for {number} of {count(len(conversions), 'job')}: {' '.join(options)}, on a shipped runtime. Trains the same "
        f"if {', and if '.join(SHORTER[option] for option in options)}."
        for options, number in sorted(jobs.items())
    ]


def reads_of(findings: Sequence[Finding]) -> str:
    """`HOST009 at jobs/bert.yaml:12:7, POD007 at ...`: the first three of the findings."""
    first = [f"{finding.topic.id} at {finding.place}" for finding in findings[:3]]
    return ", ".join(first) + (f", and {len(findings) - 3} more" if len(findings) > 3 else "")


def summary(findings: Sequence[Finding]) -> str:
    """`2 blocking, 3 warnings, 5 notes`, each cause once; empty if there are no findings."""
    findings = once_per_cause(findings)
    active = [finding for finding in findings if not finding.suppressed]
    counts = Counter(_severity(finding) for finding in active)
    parts = [
        (counts["blocking"], "blocking", "blocking"),
        (counts["error"], "error", "errors"),
        (counts["warning"], "warning", "warnings"),
        (counts["info"], "note", "notes"),
        (len(findings) - len(active), "suppressed", "suppressed"),
    ]
    return ", ".join(f"{number} {one if number == 1 else many}" for number, one, many in parts if number)


def _words(group: Group) -> list[str]:
    finding = group.first
    return [f"{finding.place}: {_severity(finding)} {finding.topic.id} {finding.message}", *_below(group)]


def _below(group: Group) -> list[str]:
    lines = [group.first.advice] * _has_advice(group.first) + [group.line] * bool(group.line)
    return [f"    {line}" for line in lines]


def _coloured(group: Group) -> list[Text]:
    from rich.text import Text  # for a terminal only

    finding = group.first
    colour = COLOURS["error" if finding.is_blocking else finding.topic.severity]
    head = Text.assemble(f"{finding.place}: ", (f"{_severity(finding)} {finding.topic.id}", colour), f" {finding.message}")
    return [head, *(Text(line, style="dim") for line in _below(group))]


def _severity(finding: Finding) -> str:
    return "blocking" if finding.is_blocking else finding.topic.severity


def _has_advice(finding: Finding) -> bool:
    return bool(finding.advice) and finding.topic.severity != "info"
