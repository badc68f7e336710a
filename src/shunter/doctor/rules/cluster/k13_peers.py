"""K13: ranks run on while others have succeeded: if they wait for those, they wait for ever."""

from __future__ import annotations

import msgspec

from shunter.doctor.case import Case
from shunter.doctor.rules.carried import of_job
from shunter.doctor.rules.rule import Rule, pods_and_events
from shunter.doctor.verdicts import Verdict

WORDS = ("PeersSucceeded",)


def judge(case: Case) -> list[Verdict]:
    """By pods that have succeeded while others run on. Only likely: whether those wait for their peers does not show."""
    return [msgspec.structs.replace(one, confidence="likely") for one in of_job(case, "K13", "PEERS ARE DONE", WORDS)]


RULE = Rule("K13", judge, pods_and_events)
