"""T06: all ranks joined and wait for one rank, which does not exist: another rank is used twice.

Only if no rank's store says `n/m clients joined`: until then the rank in the key may exist. Does not say which pod has the wrong
rank.
"""

from __future__ import annotations

from shunter.doctor.case import Case
from shunter.doctor.rules.logs.t05_rendezvous import KEYS
from shunter.doctor.rules.logs.t07_address import JOINED
from shunter.doctor.rules.logs.texts import line, log_excerpt, matching, verdict
from shunter.doctor.rules.rule import Rule, logs_of_failures
from shunter.doctor.verdicts import Verdict


def judge(case: Case) -> list[Verdict]:
    """Verdicts based on the store keys that failed ranks waited for: the one rank that all ranks, two or more, waited for. Never
    which pod has the wrong rank."""
    found = matching(case, KEYS)
    absent = {int(match[2]) for _, match in found}
    ranks = {rank for ending, _ in found for rank in ending.ranks}
    if len(found) < 2 or len(absent) != 1 or matching(case, JOINED) or len(ranks) < len(case.all_ranks):
        return []
    (rank,) = absent
    return [
        verdict(
            case,
            "T06",
            "RANK TAKEN TWICE",
            f"all ranks wait for rank {rank}, which does not exist: two processes have the same rank",
            [ending for ending, _ in found],
            confidence="likely",
            ranks=(rank,),
            evidence=[log_excerpt(ending, line(match)) for ending, match in found],
            remedy="Do not set RANK in scripts or arguments: use the RANK that the job sets in each pod.",
        )
    ]


RULE = Rule("T06", judge, logs_of_failures, explains=True)
