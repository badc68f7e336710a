"""The line of a log that says why its program ended. Pure.

The status of a job, its record of failures, `jobs`, `describe` and the doctor all have it from here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shunter.api.late_patterns import late_pattern
from shunter.operator.program_logs.lines import Error, Line, errors, is_warning, parsed

_NAME = late_pattern(
    r"(?:\[[^\]]*\]:? *)*(?P<name>[A-Za-z_][\w.]*(?:[Ee]rror|Exception|Interrupt|Exit|Failure|Expired)\b"
    r"|(?:[a-z_]\w*\.)+_?[A-Z]\w*)(?::|$)"
)
"""The name of an exception: by its end, or with its module."""
ERROR_LINE = late_pattern(
    r"\s*(?:\S+: )?(?:error: \S|can't open file '|No module named |Error while finding module specification)"
    r"|.*\bexec format error$"
)
"""The line in which a program says what is wrong: it begins with `error:`, or with the program's name and that, as argparse's;
what Python says of a program that is not there, and a container runtime of one that is for another processor."""
LAUNCHER_LINE = late_pattern(r"\bfailed \(exitcode: -?\d+\) local_rank: \d+ ")
"""What torchrun says first of ranks that failed; its own traceback and summary follow, up to a hundred lines."""
LAST_LINES = 20
_SUMMARY = "ChildFailedError"
_RULE = late_pattern(r"([=*_-])\1{4,}$")


def reason(lines: Sequence[Line]) -> Error | None:
    """The error that ended the program: of those after the last step the first that is no victim's, if all are victims' the last.
    Where torchrun answered a failure with a restart, errors of the run after it come first."""
    last: list[Error] = []
    for part in _runs(lines):
        last = [error for error in errors(part) if not error.went_on]
        if (found := next((error for error in last if not error.is_victim), None)) is not None:
            return found
    return last[-1] if last else None


def refusal(lines: Sequence[str]) -> str:
    """The error message of a program that ends without an exception: its last line that begins with `error:`, as the recipes
    write it, or with the program's name and `error:`, as argparse does; or Python's message about a missing program."""
    return next((line.strip() for line in reversed(lines) if ERROR_LINE.match(line)), "")


def exception_line(lines: Sequence[str]) -> str:
    """The line that best says why a process ended: `last_error_in`, else its last line. Lines of a launcher do not count."""
    log = "\n".join(lines)
    last = [line.strip() for line in last_lines(parsed(log)) if not _RULE.match(line.strip())]
    return last_error_in(log) or (last[-1] if last else "")


def last_error_in(log: str) -> str:
    """The error that ended the program of this log, else its `refusal`; empty if it has neither."""
    lines = parsed(log)
    error = reason(lines)
    return error.text if error is not None else refusal(last_lines(lines))


def last_lines(lines: Sequence[Line]) -> tuple[str, ...]:
    """What the program wrote last, without warnings and what a launcher wrote."""
    return tuple(without_launcher([line.text for line in lines if not is_warning(line.text)])[-LAST_LINES:])


def exception_name(line: str) -> str:
    """`OutOfMemoryError` of `torch.OutOfMemoryError: CUDA out of memory`; empty for a line that names no exception."""
    match = _NAME.match(line)
    return match["name"].rpartition(".")[2] if match else ""


def without_launcher(lines: Sequence[str]) -> Sequence[str]:
    """What the program wrote before torchrun reported its end; all where it wrote nothing, or did not run under torchrun. What
    follows a failure that torchrun answered with a restart is the program's own."""
    reports = _reports(lines)
    return lines[: reports[-1]] if reports and any(_SUMMARY in line for line in lines[reports[-1] :]) else lines


def _runs(lines: Sequence[Line]) -> Iterator[Sequence[Line]]:
    """The lines since torchrun last restarted the program, if it did, then all."""
    texts = [line.text for line in lines]
    if before := [number for number in _reports(without_launcher(texts)) if number]:
        yield lines[before[-1] + 1 :]
    yield lines


def _reports(lines: Sequence[str]) -> list[int]:
    """Where torchrun reports ranks that failed."""
    return [number for number, line in enumerate(lines) if number and LAUNCHER_LINE.search(line)]
