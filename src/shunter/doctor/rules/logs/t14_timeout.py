"""T14: a collective timed out, and nothing else says why.

Names a rank only where the ranks' own messages differ: NCCL's watchdog says which call each of them was in.
"""

from __future__ import annotations

import re

from shunter.doctor.case import Case
from shunter.doctor.places import rank_list
from shunter.doctor.rules.logs.texts import line, matching, said, verdict
from shunter.doctor.rules.rule import Rule, logs_of_failures, ranks_of
from shunter.doctor.verdicts import Verdict

_TEXT = re.compile(
    r"(?:Watchdog caught collective operation timeout: WorkNCCL\((?P<work>[^)]*)\)"
    r"|Timed out waiting (?P<gloo>\d+)ms for (?:recv|send))"
)
_CALL = re.compile(r"SeqNum=(\d+), OpType=(\w+)")


def judge(case: Case) -> list[Verdict]:
    found = matching(case, _TEXT)
    if not found:
        return []
    ones = [ending for ending, _ in found]
    calls = {
        rank: (int(call[1]), call[2].lower())
        for ending, match in found
        if match["work"] and (call := _CALL.search(match["work"]))
        for rank in ending.failed_ranks
    }
    evidence = [said(ending, line(match)) for ending, match in found]
    by_call: dict[tuple[int, str], list[int]] = {}
    for rank, one in sorted(calls.items()):
        by_call.setdefault(one, []).append(rank)
    if len(by_call) > 1:
        rarest, *others = sorted(by_call, key=lambda one: len(by_call[one]))
        parts = [f"{rank_list(by_call[one])} in {one[1]} (call number {one[0]})" for one in (rarest, *others)]
        ranks = tuple(by_call[rarest]) if len(by_call[rarest]) < len(by_call[others[0]]) else ranks_of(ones)
        return [
            verdict(
                case,
                "T14",
                "COLLECTIVE TIMED OUT",
                f"ranks timed out in different collectives: {', '.join(parts)}",
                ones,
                confidence="likely",
                ranks=ranks,
                evidence=evidence,
                remedy=REMEDY,
            )
        ]
    absent = tuple(rank for rank in case.all_ranks if rank not in ranks_of(ones))
    waited = rank_list(ranks_of(ones))
    text = f"{waited} waited in a collective until it timed out"
    if absent and len(absent) < len(case.all_ranks):
        text += f"; {rank_list(absent)} did not report it"
    return [verdict(case, "T14", "COLLECTIVE TIMED OUT", text, ones, confidence="possible", evidence=evidence, remedy=REMEDY)]


REMEDY = (
    "Run shunter doctor while the job hangs: it then compares the stacks of all ranks. TORCH_DISTRIBUTED_DEBUG=DETAIL, set "
    "before torch is imported, names calls that differ."
)

RULE = Rule("T14", judge, logs_of_failures, yields=True, explains=True)
