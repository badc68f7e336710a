"""T01: ranks call different collectives, or with different shapes, by torch's message with TORCH_DISTRIBUTED_DEBUG=DETAIL."""

from __future__ import annotations

import re

from shunter.doctor.case import Case
from shunter.doctor.rank_locations import rank_list
from shunter.doctor.rules.logs.texts import log_excerpt, matching, verdict
from shunter.doctor.rules.rule import Rule, logs_of_failures
from shunter.doctor.verdicts import Verdict

_TEXT = re.compile(r"Detected mismatch between collectives on ranks?\..*", re.DOTALL)
_RANK = re.compile(r"Rank (\d+) is running (?:inconsistent )?collective: CollectiveFingerPrint\(([^)]*)\)")
_OPERATION = re.compile(r"OpType=(\w+)(?:, TensorShape=(\[[^\]]*\]))?(?:, TensorDtypes=(\w+))?")


def judge(case: Case) -> list[Verdict]:
    """Verdicts based on torch's own message in the errors of failed ranks: which ranks called what. Not which of them is
    right."""
    found = matching(case, _TEXT)
    if not found:
        return []
    calls: dict[int, str] = {}
    for _, match in found:
        calls |= {int(one[1]): _operation(one[2]) for one in _RANK.finditer(match[0])}
    ones = [ending for ending, _ in found]
    by_call: dict[str, list[int]] = {}
    for rank, call in sorted(calls.items()):
        by_call.setdefault(call, []).append(rank)
    parts = [f"{rank_list(ranks)} {'calls' if len(ranks) == 1 else 'call'} {call}" for call, ranks in by_call.items()]
    text = "; ".join(parts) or "ranks call different collectives"
    return [
        verdict(
            case,
            "T01",
            "MISMATCH",
            text,
            ones,
            confidence="certain",
            ranks=tuple(sorted(calls)),
            evidence=[log_excerpt(ending, match[0].splitlines()[0]) for ending, match in found],
            remedy="Look for a collective under `if rank == ...`: the traceback names the call of each rank.",
        )
    ]


def _operation(fingerprint: str) -> str:
    match = _OPERATION.search(fingerprint)
    if match is None:
        return fingerprint
    return match[1].lower() + "".join(f" {part}" for part in match.groups()[1:] if part)


RULE = Rule("T01", judge, logs_of_failures, explains=True)
