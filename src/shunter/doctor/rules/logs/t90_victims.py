"""T90: ranks that only lost a peer, if the evidence does not show why; never a cause.

Names deleted pods of a job whose operator deletes none: a deleted pod is not recorded as a failure.
"""

from __future__ import annotations

from shunter.doctor.case import Case
from shunter.doctor.rank_locations import rank_list
from shunter.doctor.rules.cluster import k08_disruption
from shunter.doctor.rules.logs import t15_left_early
from shunter.doctor.rules.logs.texts import verdict
from shunter.doctor.rules.rule import Rule, logs_of_failures, ranks_text
from shunter.doctor.verdicts import Verdict
from shunter.jobs.failures import missed_deadline
from shunter.jobs.pods_up import requested_ranks
from shunter.operator.overview import is_v1


def judge(case: Case) -> list[Verdict]:
    """Verdicts based on failures that only lost a peer, and pods that are gone. Only possible, and none if a failure has a reason
    of its own, or a rank left early (T15)."""
    if case.overview.state != "Failed" and not case.failures:
        return []
    if case.reasons or t15_left_early.judge(case):
        return []
    gone = _gone(case)
    if not case.failures:
        return [_deleted(gone)] if gone and not case.pods else []
    text = f"{ranks_text(case.failures)} ended because a peer was lost, or on a signal; "
    remedy = "The rank that ended first left no log: see the events of the job and of the nodes of its pods."
    if gone:
        text += f"the pod of {rank_list(gone)} no longer exists and no failure of it was recorded: it was probably deleted"
        remedy = REMEDY
    else:
        text += "the first cause is not visible"
    return [verdict(case, "T90", "LOST A PEER", text, case.failures, confidence="possible", remedy=remedy)]


REMEDY = "Look in the audit log of the API server to see who deleted it. A deleted pod counts as failed."


def _deleted(gone: tuple[int, ...]) -> Verdict:
    text = f"no pod is left and no failure of {rank_list(gone)} was recorded: the pods were probably deleted"
    remedy = REMEDY.replace("deleted it", "deleted them")
    return Verdict(id="T90", title="PODS ARE GONE", cause=text, confidence="possible", ranks=gone, remedy=remedy)


def _gone(case: Case) -> tuple[int, ...]:
    """Ranks without a pod and without a recorded failure, if a failed v1 job keeps its pods and has one rank in each."""
    policy = case.job["spec"].get("runPolicy") or {}
    if not is_v1(case.job) or case.overview.state != "Failed" or case.job["kind"] == "MPIJob":
        return ()
    if policy.get("cleanPodPolicy", "None") != "None" or "elasticPolicy" in case.job["spec"] or case.evidence.lacks("pods"):
        return ()
    if k08_disruption.judge(case) or missed_deadline(case.overview):
        return ()
    if any(len(ranks) != 1 for ranks in case.ranks.values()):
        return ()
    there = {case.members.of(pod).rank for pod in case.pods} | {rank for one in case.endings for rank in one.ranks}
    return tuple(rank for rank in range(requested_ranks(case.job) or 0) if rank not in there)


RULE = Rule("T90", judge, logs_of_failures, yields=True)
