"""T90: ranks that only lost a peer. Said by itself when nothing that was seen says why; never a cause."""

from __future__ import annotations

from shunter.doctor.case import Case
from shunter.doctor.places import rank_list
from shunter.doctor.rules.logs import t15_left_early
from shunter.doctor.rules.logs.texts import verdict
from shunter.doctor.rules.rule import Rule, logs_of_failures, ranks_of
from shunter.doctor.verdicts import Verdict


def judge(case: Case) -> list[Verdict]:
    if not case.failures or case.reasons or t15_left_early.judge(case):
        return []
    text = f"{rank_list(ranks_of(case.failures))} ended because a peer was lost, or on a signal; the first cause is not visible"
    remedy = "The rank that ended first left no log: see the events of the job and of the nodes of its pods."
    return [verdict(case, "T90", "LOST A PEER", text, case.failures, confidence="possible", remedy=remedy)]


RULE = Rule("T90", judge, logs_of_failures, yields=True)
