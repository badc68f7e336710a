"""K15: the job is not meant to run: suspended, left to another controller, or being deleted."""

from __future__ import annotations

from shunter.doctor.case import Case
from shunter.doctor.rules.carried import of_job
from shunter.doctor.rules.rule import Rule
from shunter.doctor.verdicts import Verdict

WORDS = ("Suspended", "ScaleInterrupted", "ManagedByOther", "Deleting")


def judge(case: Case) -> list[Verdict]:
    """Verdicts based on the cause of the job as a whole: what stops it on purpose."""
    return of_job(case, "K15", "NOT MEANT TO RUN", WORDS)


RULE = Rule("K15", judge)
