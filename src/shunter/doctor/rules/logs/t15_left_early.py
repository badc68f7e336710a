"""T15: a rank ended with exit code 0 while others still needed it: every rank that failed lost a peer after that."""

from __future__ import annotations

from shunter.doctor.case import Case
from shunter.doctor.left_early import left_early
from shunter.doctor.rank_locations import rank_list
from shunter.doctor.rules.rule import Rule, logs_of_failures
from shunter.doctor.verdicts import Excerpt, Verdict


def judge(case: Case) -> list[Verdict]:
    """Verdicts based on `left_early`, also if the others were restarted since, and cannot meet again. Only likely, or
    possible if it had ended long before they failed."""
    found = left_early(case)
    if found is None:
        return []
    ranks = case.ranks_of(found.pods)
    return [
        Verdict(
            id="T15",
            title="LEFT EARLY",
            cause=f"{rank_list(ranks)} ended with exit code 0 while others still needed {'it' if len(ranks) == 1 else 'them'}",
            confidence="likely" if found.is_soon else "possible",
            ranks=ranks,
            pods=tuple(found.pods),
            evidence=(
                *(Excerpt(source="pod", text="exit code 0", pod=name, at=at) for name, at in found.pods.items()),
                *([Excerpt(source="job", text=found.restarted)] if found.restarted else []),
            ),
            remedy="All ranks must run the same number of steps: compare the lengths of their data, and look for early returns.",
            victims=found.victims,
        )
    ]


RULE = Rule("T15", judge, logs_of_failures, explains=True)
