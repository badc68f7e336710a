"""K14: a pod is not started: scheduling gates, no running scheduler, a node that does not respond, a sandbox that fails."""

from __future__ import annotations

from shunter.doctor.case import Case
from shunter.doctor.rules.carried import of_blocked_pods
from shunter.doctor.rules.rule import Rule, pods_and_events
from shunter.doctor.verdicts import Verdict

WORDS = ("SchedulingGated", "NoScheduler", "NodeNotResponding", "PodSandbox")


def judge(case: Case) -> list[Verdict]:
    """Verdicts based on the causes of blocked pods, one verdict for each text. Not whether the scheduler or node will come
    back."""
    return of_blocked_pods(case, "K14", "NOT STARTED", WORDS, state="not started")


RULE = Rule("K14", judge, pods_and_events)
