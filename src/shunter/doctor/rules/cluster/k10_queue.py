"""K10: a gang or a queue keeps the job waiting. Does not claim that gangs block each other."""

from __future__ import annotations

from shunter.doctor.case import Case
from shunter.doctor.rules.carried import of_blocked_pods, of_job
from shunter.doctor.rules.rule import Rule, pods_and_events
from shunter.doctor.verdicts import Verdict

WORDS = (
    "WaitingForGang",
    "PodGroupMissing",
    "WaitingForQuota",
    "QuotaTooSmall",
    "Inadmissible",
    "WaitingForAdmissionCheck",
    "Deactivated",
    "Queued",
    "NoQueue",
)


def judge(case: Case) -> list[Verdict]:
    """Verdicts based on the causes of pods that wait for their gang, else by that of the job in its queue. Never that gangs block
    each other."""
    gang = of_blocked_pods(case, "K10", "WAITS FOR ITS GANG", ("WaitingForGang",), state="not scheduled")
    title = "WAITS FOR ITS GANG" if case.cause is not None and case.cause.word == "WaitingForGang" else "WAITS IN A QUEUE"
    return gang or of_job(case, "K10", title, WORDS)


RULE = Rule("K10", judge, pods_and_events)
