"""T10: the loss is not finite in the last two or more lines that report it. Which rank first, since which step; not the
reason."""

from __future__ import annotations

import re
from typing import NamedTuple

from shunter.doctor.case import Case
from shunter.doctor.rank_locations import rank_list
from shunter.doctor.rules.rule import Rule
from shunter.doctor.verdicts import Excerpt, Verdict
from shunter.operator.program_logs.lines import Line
from shunter.operator.program_logs.patterns import POSITIONS, VALUE

LINES = 2


class Turn(NamedTuple):
    """Where the loss of a rank stopped being finite."""

    pod: str
    line: Line
    step: str
    is_first: bool
    """Whether no line before it reports a loss: the log may be cut off."""


def judge(case: Case) -> list[Verdict]:
    """Verdicts based on the lines of running or failed ranks that report a loss: since which step, and on which rank first. Never
    why."""
    suspects = [pod for pod, text in case.rank_logs.items() if _names_other(text)]
    pods = [pod for pod in suspects if not _is_finite(case.last_lines[pod])]
    turns = [turn for pod in pods if (turn := _turn(pod, case.rank_lines[pod])) is not None]
    if not turns:
        return []
    first = min(turns, key=lambda turn: (int(turn.step) if turn.step.isdecimal() else 0, turn.line.at))
    ranks = case.ranks_of(turn.pod for turn in turns)
    earliest = [turn for turn in turns if turn.step == first.step]
    # Logs are read at different moments, from their ends: what was cut off of a rank's may be earlier than the first.
    may_be_earlier = any(turn.is_first for turn in turns if turn not in earliest)
    since = f"since step {first.step}{' or before' * (first.is_first or may_be_earlier)}" if first.step else "in its last lines"
    on = rank_list([rank for turn in (turns if may_be_earlier else earliest) for rank in _ranks(case, turn)])
    where = f", on {on} first" if len(earliest) < len(turns) and not may_be_earlier else f", on {on}"
    return [
        Verdict(
            id="T10",
            title="LOSS NOT FINITE",
            cause=f"the loss is not finite {since}{where}",
            confidence="certain",
            ranks=ranks,
            pods=tuple(turn.pod for turn in turns),
            evidence=tuple(Excerpt(source="log", text=turn.line.text.strip(), pod=turn.pod, at=turn.line.at) for turn in turns),
            remedy="Resume from a checkpoint before that step with a lower learning rate or clipped gradients.",
        )
    ]


def _ranks(case: Case, turn: Turn) -> tuple[int, ...]:
    return (turn.line.rank,) if turn.line.rank is not None else case.ranks_of([turn.pod])


def _names_other(text: str) -> bool:
    """Whether a log contains `nan` or `inf` as a word. Faster than parsing lines, and few logs do."""
    text = text.lower()
    for word in ("nan", "inf"):
        at = text.find(word)
        while at >= 0:
            after = text[at + 3 : at + 4]
            if not text[max(at - 1, 0) : at].isalpha() and (not after.isalpha() or text.startswith("inity", at + 3)):
                return True
            at = text.find(word, at + 1)
    return False


def _is_finite(lines: list[Line]) -> bool:
    """Whether the loss in the last line that reports one is finite."""
    last = next((values for line in reversed(lines) if (values := _losses(line.text))), None)
    return last is not None and not _has_other(last)


def _has_other(values: list[str]) -> bool:
    """Whether one of the values is not finite."""
    return any(value.lstrip("+-") in ("nan", "inf", "infinity") for value in values)


def _turn(pod: str, lines: list[Line]) -> Turn | None:
    """The first of the lines since which no reported loss is finite."""
    found: list[Line] = []
    was_finite = False
    for line in reversed(lines):
        if values := _losses(line.text):
            was_finite = not _has_other(values)
            if was_finite:
                break
            found.append(line)
    if len(found) < LINES:
        return None
    return Turn(pod, found[-1], _step(found[-1].text), not was_finite)


def _losses(text: str) -> list[str]:
    if "loss" not in text.lower():
        return []
    return [match["value"].lower() for match in VALUE.finditer(text) if "loss" in match["name"].lower()]


def _step(text: str) -> str:
    for position in POSITIONS:
        if match := position.pattern.search(text):
            return match.groupdict().get("step") or ""
    match = re.search(r"\bepoch[ =:]+(\d+)", text, re.IGNORECASE)
    return match[1] if match else ""


def needs(case: Case) -> tuple[str, ...]:
    """Logs, for a job that runs or has failed."""
    return ("logs",) if case.overview.state in ("Running", "Failed") else ()


RULE = Rule("T10", judge, needs)
