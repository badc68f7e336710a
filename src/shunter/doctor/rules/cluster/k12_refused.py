"""K12: an object of the job is rejected, or cannot be created, because a ServiceAccount, a PriorityClass or a runtime is missing,
for example."""

from __future__ import annotations

from shunter.doctor.case import Case
from shunter.doctor.rules.carried import of_job
from shunter.doctor.rules.cluster import k10_queue, k13_peers, k14_node, k15_stopped
from shunter.doctor.rules.rule import Rule, pods_and_events
from shunter.doctor.verdicts import Verdict

OTHERS = frozenset({*k10_queue.WORDS, *k13_peers.WORDS, *k14_node.WORDS, *k15_stopped.WORDS, "QuotaExceeded"})
"""Causes of a job as a whole that other rules report. The rest are rejections; a TrainJob's condition may have any reason."""


def judge(case: Case) -> list[Verdict]:
    """Verdicts based on the cause of the job as a whole, in the words of the server or of a condition, if no other rule reports
    it. None if single pods are blocked."""
    cause = case.cause
    return [] if cause is None or cause.word in OTHERS else of_job(case, "K12", "CANNOT START", (cause.word,))


RULE = Rule("K12", judge, pods_and_events)
