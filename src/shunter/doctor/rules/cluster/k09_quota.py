"""K09: a ResourceQuota of the namespace rejects the pods: which, and how much is used, in the server's words."""

from __future__ import annotations

from shunter.doctor.case import Case
from shunter.doctor.rules.carried import of_job
from shunter.doctor.rules.rule import Rule, pods_and_events
from shunter.doctor.verdicts import Verdict


def judge(case: Case) -> list[Verdict]:
    """Verdicts based on the cause of the job as a whole: at most one verdict, in the server's words."""
    return of_job(case, "K09", "CANNOT START", ("QuotaExceeded",))


RULE = Rule("K09", judge, pods_and_events)
