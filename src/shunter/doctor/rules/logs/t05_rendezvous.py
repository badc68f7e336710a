"""T05: not all ranks joined the rendezvous.

Names the missing ranks only if their pods do not run; never by the rank in the keys that others waited for (see T06).
"""

from __future__ import annotations

import re

from shunter.doctor.case import Case
from shunter.doctor.rank_locations import rank_list
from shunter.doctor.rules.logs.t07_address import CLIENT, JOINED
from shunter.doctor.rules.logs.texts import line, log_excerpt, matching, verdict
from shunter.doctor.rules.rule import Rule, logs_of_failures
from shunter.doctor.verdicts import Verdict

KEYS = re.compile(r"wait timeout after \d+ms, keys: (\S*/(\d+))\b")
"""The message of ranks that wait in the store for another; it names no rank while the store still waits for clients."""


def judge(case: Case) -> list[Verdict]:
    """Verdicts based on `n/m clients joined` in the errors of failed ranks: how many are missing. None if a rank could not
    connect (T07)."""
    found = [(ending, match) for ending, match in matching(case, JOINED) if int(match[1]) < int(match[2])]
    if not found or matching(case, CLIENT):
        return []
    joined, size = max((int(match[1]), int(match[2])) for _, match in found)
    ones = [*(ending for ending, _ in found), *(ending for ending, _ in matching(case, KEYS))]
    absent, there = _absent(case), len(case.all_ranks)
    text = f"{size - joined} of {size} ranks did not join the rendezvous"
    if absent and len(absent) == size - joined:
        text += f": {rank_list(absent)}"
    elif 0 < there < size:
        text += f": the program waits for {size}, and the job has {there}"
    if absent:
        remedy = "Find out why they do not run."
    elif there == size:
        remedy = "The number is right: all ranks must use the MASTER_ADDR and MASTER_PORT that the job sets."
    else:
        remedy = "WORLD_SIZE, --nnodes and --nproc-per-node must agree with the job's replicas."
    return [
        verdict(
            case,
            "T05",
            "RANKS ARE MISSING",
            text,
            ones,
            confidence="likely",
            ranks=absent,
            evidence=[log_excerpt(ending, line(match)) for ending, match in found],
            remedy=remedy,
        )
    ]


def _absent(case: Case) -> tuple[int, ...]:
    """Ranks whose pods never ran."""
    started = {one.pod for one in case.endings}
    names = [
        pod["metadata"]["name"]
        for pod in case.ranked
        if pod.get("status", {}).get("phase") == "Pending" and pod["metadata"]["name"] not in started
    ]
    return case.ranks_of(names)


RULE = Rule("T05", judge, logs_of_failures, explains=True)
