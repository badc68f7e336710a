"""T13: torch's monitored barrier names the ranks that did not reach it."""

from __future__ import annotations

import re

from shunter.doctor.case import Case
from shunter.doctor.rank_locations import rank_list
from shunter.doctor.rules.logs.texts import line, log_excerpt, matching, verdict
from shunter.doctor.rules.rule import Rule, logs_of_failures
from shunter.doctor.verdicts import Verdict

_TEXT = re.compile(r"\bRanks? (\d+(?:, ?\d+)*) failed to pass monitoredBarrier in (\d+) ms")

_REACHED = re.compile(r"successfully reached monitoredBarrier, but received errors")
"""The message of ranks that reached the barrier when another did not."""


def judge(case: Case) -> list[Verdict]:
    """Verdicts based on the barrier's message in the errors of failed ranks: which ranks did not reach it within how many
    seconds. Not what they did instead."""
    found = matching(case, _TEXT)
    if not found:
        return []
    ones = [*(ending for ending, _ in found), *(ending for ending, _ in matching(case, _REACHED))]
    ranks = tuple(sorted({int(number) for _, match in found for number in match[1].split(",")}))
    seconds = int(found[0][1][2]) / 1000
    look_at = "its log, and its stack" if len(ranks) == 1 else "their logs, and their stacks"
    return [
        verdict(
            case,
            "T13",
            "RANKS ARE MISSING",
            f"{rank_list(ranks)} did not reach the barrier within {seconds:g} s",
            ones,
            confidence="certain",
            ranks=ranks,
            evidence=[log_excerpt(ending, line(match)) for ending, match in found],
            remedy=f"Find out what {rank_list(ranks)} did instead: {look_at} while the job hangs (shunter doctor).",
        )
    ]


RULE = Rule("T13", judge, logs_of_failures, explains=True)
