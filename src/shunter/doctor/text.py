"""A report for people, as lines of text. Pure."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from shunter.api.formats.counts import joined, listed
from shunter.api.grouping import grouped_by
from shunter.doctor.rank_locations import spans
from shunter.doctor.verdicts import Excerpt, Report, Verdict

WIDTH = 100
"""Columns of a headline before its confidence."""
MOST_EVIDENCE = 8
"""Lines of evidence shown of one verdict; JSON has them all."""
MOST_NAMES = 3
LONGEST = 240
"""Characters of one line of evidence; JSON has all."""


def report_lines(report: Report) -> Iterator[str]:
    """The report: the job, the verdicts with their evidence and what to do, and what was not checked."""
    count = f"{report.ranks or 'unknown number of'} {'rank' if report.ranks == 1 else 'ranks'}"
    yield f"{report.job}  {report.state}  {count}"
    for verdict in report.verdicts:
        yield from verdict_lines(verdict)
    if not report.verdicts:
        yield _no_verdict(report)
        if report.failures:
            yield f"failed before: {report.failures}"
    for one in report.not_checked:
        yield f"not checked: {one.what} ({one.why}): {joined(one.rules)} cannot be judged"


def _no_verdict(report: Report) -> str:
    """The line of a report without verdicts: `no problem found` stands alone only where everything was checked."""
    if not report.is_well:
        return "no cause found in the evidence"
    if report.is_undecided:
        return "undecided: no problem found, but what would show one was not checked"
    return "no problem found in what was checked" if report.not_checked else "no problem found"


def verdict_lines(verdict: Verdict) -> Iterator[str]:
    """One verdict: a headline, its evidence, its victims, what to do."""
    headline = f"{verdict.title}  {verdict.cause}"
    yield f"{headline:<{WIDTH}}  {verdict.confidence:<8} {verdict.id}"
    groups = grouped_by(verdict.evidence, lambda one: (one.source, one.text))
    source = ""
    for (kind, text), ones in list(groups.items())[:MOST_EVIDENCE]:
        label = kind if kind != source else ""
        source = kind
        yield f"  {label:<6} {_who(ones)}{_clipped(text)}"
    if len(groups) > MOST_EVIDENCE:
        yield f"         and {len(groups) - MOST_EVIDENCE} more (-o json has all)"
    lost = [rank for rank in verdict.victims if all(one.rank != rank for one in verdict.evidence)]
    if lost and verdict.id.startswith("T"):
        many = len(lost) > 1
        yield f"  then   {'ranks' if many else 'rank'} {', '.join(spans(lost))} lost {'their' if many else 'its'} peer"
    if verdict.remedy:
        first, *rest = textwrap.wrap(f"{verdict.remedy[0].upper()}{verdict.remedy[1:]}", WIDTH)
        yield f"  do     {first}"
        yield from (f"         {line}" for line in rest)


def _who(ones: Sequence[Excerpt]) -> str:
    """The ranks that the evidence is about if known, else the pods."""
    ranks = [one.rank for one in ones if one.rank is not None]
    if ranks and len(ranks) == len(ones):
        return f"{', '.join(spans(ranks))}: "
    names = list(dict.fromkeys(one.pod for one in ones if one.pod))
    if not names:
        return ""
    return f"{listed(names, MOST_NAMES)}: "


def _clipped(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
