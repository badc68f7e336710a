"""K04: a container's command does not exist, or cannot be executed."""

from __future__ import annotations

from shunter.api.grouping import grouped_by
from shunter.doctor.case import Case
from shunter.doctor.endings import Ending
from shunter.doctor.rules.carried import of_blocked_pods
from shunter.doctor.rules.rule import Rule, of_error, pods_and_events, pods_of, ranks_of, ranks_text
from shunter.doctor.verdicts import Verdict
from shunter.operator import needs as program_needs

REASONS = ("StartError", "ContainerCannotRun", "RunContainerError")
CODES = {126: "cannot be executed", 127: "was not found", 128: "cannot be started"}
"""Exit codes of a shell, and of runtimes, that name the command."""


def judge(case: Case) -> list[Verdict]:
    """Verdicts based on containers that cannot start, and failures with a runtime's reason or exit code 126, 127 or 128. Names
    the command only if the runtime's message, or the last lines of the log, do."""
    live = of_blocked_pods(case, "K04", "CANNOT START", ("StartError",), state="not started")
    groups = grouped_by((ending for ending in case.failures if ending.reason in REASONS or ending.exit_code in CODES), _text)
    ended = [
        Verdict(
            id="K04",
            title="CANNOT START",
            cause=f"{ranks_text(ones)}: {text}",
            confidence="certain",
            ranks=ranks_of(ones),
            pods=pods_of(ones),
            evidence=tuple(map(of_error, ones)),
            remedy=program_needs.for_missing(text) or "Correct the container's command, or use an image that has it.",
        )
        for text, ones in groups.items()
    ]
    return [*live, *ended]


def _text(ending: Ending) -> str:
    if ending.reason in REASONS and ending.message.strip():
        return ending.message.strip().splitlines()[0]
    line = next((one for one in reversed(ending.last_lines) if "not found" in one or "ermission denied" in one), "")
    command = CODES.get(ending.exit_code, "cannot be started")
    return f"a command {command} (exit code {ending.exit_code}){f': {line.strip()}' if line else ''}"


RULE = Rule("K04", judge, pods_and_events, explains=True)
