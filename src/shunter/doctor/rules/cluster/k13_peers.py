"""K13: ranks still run while others have succeeded: if they wait for those, they wait forever."""

from __future__ import annotations

import msgspec

from shunter.doctor.case import Case
from shunter.doctor.left_early import left_early
from shunter.doctor.rules.carried import of_job
from shunter.doctor.rules.rule import Rule, pods_and_events
from shunter.doctor.verdicts import Verdict
from shunter.doctor.waiting import group, has_ended

WORDS = ("PeersSucceeded",)


def judge(case: Case) -> list[Verdict]:
    """Verdicts based on pods that have succeeded while others still run. Only likely: it is unknown whether those wait for their
    peers. None if stacks show why they run on (H05), or logs why they were restarted (T15)."""
    if left_early(case) is not None:
        return []
    ranks = group(case)
    if ranks is not None and any(rank.is_same and has_ended(rank) for rank in ranks.ranks):
        return []
    return [msgspec.structs.replace(one, confidence="likely") for one in of_job(case, "K13", "PEERS ARE DONE", WORDS)]


RULE = Rule("K13", judge, pods_and_events)
