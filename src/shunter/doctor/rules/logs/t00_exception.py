"""T00: the rank that ended first, and its last exception.

An exit code by itself is no cause. Does not order ranks that ended within a second of each other unless their log lines have
finer times.
"""

from __future__ import annotations

from shunter.api.grouping import grouped_by
from shunter.doctor.case import Case
from shunter.doctor.endings import TOGETHER, Ending
from shunter.doctor.rank_locations import rank_list
from shunter.doctor.rules.logs.texts import log_excerpt, verdict
from shunter.doctor.rules.rule import Rule, logs_command, logs_of_failures, of_error, ranks_of, ranks_text
from shunter.doctor.verdicts import Excerpt, Verdict
from shunter.operator import needs as program_needs
from shunter.operator.diagnosis import SIGNALS
from shunter.operator.program_logs.lines import is_step
from shunter.operator.remedies import remedy_for

KILL, ILLEGAL_INSTRUCTION = 137, 132


def judge(case: Case) -> list[Verdict]:
    """Verdicts based on the exception, signal or refusal with which containers ended that are no victims, one verdict for each
    way. Only possible if nothing but an exit code is known."""
    groups = grouped_by(case.reasons, _how)
    return [_verdict(case, how, ones) for how, ones in groups.items()]


def _how(ending: Ending) -> str:
    if ending.error is not None and not ending.error.is_victim:
        return f"ended with {ending.error.text}"
    if ending.exit_code in SIGNALS:
        return f"was ended by {SIGNALS[ending.exit_code]} (exit code {ending.exit_code})"
    return f"ended with exit code {ending.exit_code}{f': {ending.refusal}' if ending.refusal else ''}"


def _verdict(case: Case, how: str, ones: list[Ending]) -> Verdict:
    ranks = ranks_of(ones)
    how = how.replace("was ", "were ", 1) if len(ranks) > 1 else how
    return verdict(
        case,
        "T00",
        "FAILED",
        f"{ranks_text(ones)} {how}{_order(case, ones)}",
        ones,
        confidence="certain" if ones[0].error is not None or ones[0].exit_code in SIGNALS or ones[0].refusal else "possible",
        remedy=_remedy(case, ones[0]),
        evidence=[item for one in ones for item in (of_error(one), *_place(one))][:6],
    )


def _order(case: Case, ones: list[Ending]) -> str:
    """The ranks that ended in another way within the same second, as part of a sentence."""
    first = min((one.time for one in ones if one.time is not None), default=None)
    if first is None:
        return ""
    is_fine = all(_is_fine(one) for one in case.reasons)
    others = [one for one in case.reasons if one not in ones and one.time is not None]
    close = [one for one in others if one.time is not None and abs(one.time - first) < TOGETHER and not is_fine]
    return f"; {rank_list(ranks_of(close))} within the same second" if close else ""


def _is_fine(ending: Ending) -> bool:
    """Whether its time is finer than whole seconds."""
    return ending.error is not None and "." in ending.error.at


def _place(ending: Ending) -> list[Excerpt]:
    """The innermost frame of the program's own code; without an exception its refusal, else its last line."""
    if ending.error is None:
        words = ending.refusal or _last_words(ending)
        return [log_excerpt(ending, words)] if words and ending.exit_code not in SIGNALS else []
    own = [frame for frame in ending.error.frames if "site-packages" not in frame[0] and "/lib/python" not in frame[0]]
    return [log_excerpt(ending, f'File "{own[-1][0]}", line {own[-1][1]}, in {own[-1][2]}')] if own else []


def _last_words(ending: Ending) -> str:
    """The last line of a log without an exception, as `sys.exit("no data")` writes it; empty if it only reports progress."""
    last = ending.last_lines[-1].strip() if ending.last_lines else ""
    return "" if is_step(last) else last


def _remedy(case: Case, ending: Ending) -> str:
    if need := program_needs.for_missing("\n".join((ending.text, ending.whole))):
        return need
    message = ending.error.text if ending.error is not None else ending.refusal
    if known := remedy_for(message or SIGNALS.get(ending.exit_code, "")):
        return known
    if ending.error is None and ending.exit_code == ILLEGAL_INSTRUCTION:
        return "The program or a library was built for a newer CPU than the node's: use another build, or nodes with newer CPUs."
    if ending.error is None and ending.exit_code == KILL:
        return "It was killed by kill -9, or at the end of its grace period. Kubernetes does not report a lack of memory."
    if not ending.has_log:
        is_skipped = any(one.what == "logs" and not one.is_refused for one in case.evidence.missing)
        return "" if is_skipped else "Its log could not be read."
    if ending.error is None:
        return "Correct the container's command, or what it reads." if ending.refusal else ""
    if not _place(ending):
        return ""
    return f"Read the traceback above that line: {logs_command(case, ending)}"


RULE = Rule("T00", judge, logs_of_failures, yields=True)
