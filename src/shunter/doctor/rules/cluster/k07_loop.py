"""K07: a container fails repeatedly.

Calls it the same error each time only if the logs of two runs show it; an equal exit code is not the same error.
"""

from __future__ import annotations

from shunter.api.formats.counts import count
from shunter.api.grouping import grouped_by
from shunter.doctor.case import Case
from shunter.doctor.endings import Ending
from shunter.doctor.rules.rule import Rule, logs_command, of_error, of_pods, pods_and_events, pods_of, ranks_of, ranks_text
from shunter.doctor.verdicts import Excerpt, Verdict
from shunter.operator import needs as program_needs
from shunter.operator.causes.pods import LOOP_RESTARTS
from shunter.operator.overview import limits
from shunter.operator.program_logs.ends import last_error_in
from shunter.operator.remedies import remedy_for


def judge(case: Case) -> list[Verdict]:
    """Verdicts based on restarts and replaced pods that failed: who fails repeatedly, ranks first."""
    loops = _loops(case)
    if not loops:
        return []
    groups = grouped_by(loops, lambda ending: _again(case, ending))
    found = [_verdict(case, text, ones) for text, ones in groups.items()]
    return sorted(found, key=lambda one: not one.ranks)


def _loops(case: Case) -> list[Ending]:
    found = [one for one in case.reasons if case.is_looping(one) or one.restarts >= LOOP_RESTARTS]
    return found or [one for one in case.failures if case.is_looping(one)]


def _again(case: Case, ending: Ending) -> str:
    """The error that two runs have in common; empty if their logs do not show one."""
    texts = [case.logs.get((ending.pod, ending.container, previous)) for previous in (False, True)]
    lines = [line for text in texts if text is not None and (line := last_error_in(text))]
    by_rank = [one.log_error for one in case.endings if one.ranks == ending.ranks and one.log_error]
    same = lines if len(lines) > 1 else by_rank
    return same[0] if len(same) > 1 and len(set(same)) == 1 else ""


def _verdict(case: Case, text: str, ones: list[Ending]) -> Verdict:
    ranks = ranks_of(ones)
    codes = {one.exit_code for one in ones}
    ends = "end" if len(ranks) > 1 else "ends"
    last = {one.log_error for one in ones if one.log_error}
    how = f"with {text} each time" if text else f"repeatedly{f' with exit code {codes.pop()}' if len(codes) == 1 else ''}"
    if not text and len(last) == 1:
        how += f", the last time with {next(iter(last))}"
    runs = f"see the last lines of each run: {logs_command(case, ones[0], '--previous')}"
    why = "the error is the same each time." if text else runs
    message = text or (last.pop() if len(last) == 1 else "")
    known = program_needs.for_missing(how) or remedy_for(message)
    remedy = known or f"Restarting {'cannot' if text else 'may not'} help: {why}"
    return Verdict(
        id="K07",
        title="RESTARTS IN A LOOP",
        cause=f"{ranks_text(ones)} {ends} {how}",
        confidence="certain",
        ranks=ranks,
        pods=pods_of(ones),
        evidence=(*(_restarts(case, one) for one in ones), *(of_error(one) for one in ones if one.error is not None)),
        remedy=remedy,
    )


def _restarts(case: Case, ending: Ending) -> Excerpt:
    limit = limits(case.job)
    restarted = f"restarted {count(ending.restarts, 'time')}" if ending.restarts else "recreated after it failed"
    (excerpt,) = of_pods("pod", f"{restarted}{f'; {limit}' if limit else ''}", [ending.pod])
    return excerpt


RULE = Rule("K07", judge, pods_and_events, yields=True)
