"""What rules about log messages share. Pure.

A warning is no error: torch logs one for each retry. Nor is a line after which the rank logged a step (`lines.errors`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from shunter.doctor.case import Case
from shunter.doctor.endings import Ending
from shunter.doctor.rules.rule import of_error, pods_of, ranks_of
from shunter.doctor.verdicts import Confidence, Excerpt, Verdict


def matching(case: Case, pattern: re.Pattern[str]) -> list[tuple[Ending, re.Match[str]]]:
    """The failures whose error matches, in the order of time."""
    return [(one, match) for one in case.failures if (match := pattern.search(one.whole)) is not None]


def line(match: re.Match[str]) -> str:
    """The whole line in which a match begins. Patterns themselves have no `.*`, which is quadratic in the length of a line."""
    text = match.string
    begin, end = text.rfind("\n", 0, match.start()) + 1, text.find("\n", match.start())
    return text[begin : end if end >= 0 else None]


def verdict(
    case: Case,
    id: str,
    title: str,
    text: str,
    ones: Sequence[Ending],
    *,
    confidence: Confidence,
    remedy: str,
    ranks: tuple[int, ...] | None = None,
    evidence: Sequence[Excerpt] = (),
) -> Verdict:
    """The verdict about these endings; `ranks` if it is about other ranks than those that ended."""
    named = ranks_of(ones) if ranks is None else ranks
    return Verdict(
        id=id,
        title=title,
        cause=text,
        confidence=confidence,
        ranks=named,
        pods=pods_of(ones),
        evidence=tuple(evidence) or tuple(map(of_error, ones)),
        remedy=remedy,
        victims=tuple(rank for rank in case.victims if rank not in named),
    )


def log_excerpt(ending: Ending, text: str) -> Excerpt:
    """The line of an ending's error as an excerpt."""
    rank = ending.failed_ranks[0] if len(ending.failed_ranks) == 1 else None
    at = ending.error.at if ending.error is not None else ending.at
    return Excerpt(source="log", text=text.strip(), pod=ending.pod, container=ending.container, at=at, rank=rank)
