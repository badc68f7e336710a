"""T02: ranks pass tensors of different sizes to one collective. gloo does not report which rank is wrong, so none is named."""

from __future__ import annotations

import re

from shunter.doctor.case import Case
from shunter.doctor.rules.logs.texts import log_excerpt, matching, verdict
from shunter.doctor.rules.rule import Rule, logs_of_failures
from shunter.doctor.verdicts import Verdict

_TEXT = re.compile(r"op\.preamble\.length <= op\.nbytes\. (\d+) vs (\d+)|Received data size doesn't match expected size")


def judge(case: Case) -> list[Verdict]:
    """Verdicts based on gloo's message in the errors of failed ranks: that sizes differ, with both in bytes if it has them. Not
    which is wrong."""
    found = matching(case, _TEXT)
    if not found:
        return []
    sizes = next((f" ({match[1]} and {match[2]} bytes)" for _, match in found if match[1]), "")
    return [
        verdict(
            case,
            "T02",
            "MISMATCH",
            f"ranks pass tensors of different sizes to one collective{sizes}",
            [ending for ending, _ in found],
            confidence="certain",
            evidence=[log_excerpt(ending, match[0]) for ending, match in found],
            remedy="Compare shapes and dtypes before the call on each rank; TORCH_DISTRIBUTED_DEBUG=DETAIL prints both.",
        )
    ]


RULE = Rule("T02", judge, logs_of_failures, explains=True)
