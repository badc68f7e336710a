"""Parses log lines into time, rank and text, and finds errors and warnings among them. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from shunter.api.grouping import grouped_by
from shunter.api.late_patterns import late_pattern
from shunter.api.meta import Struct
from shunter.kube.pods.log_times import split_time
from shunter.operator.diagnosis import VICTIM
from shunter.operator.program_logs.patterns import ESCAPES, POSITIONS, VALUE

_RANK = late_pattern(r"\[(?:default|rank)(\d+)\]:? ?")
_WARNING = late_pattern(r"^\[?W\d{4} |\bWARN(?:ING)?\b|\b\w*Warning: |^\[rank\d+\]:\[W\d{4} ")
_TRACEBACK = "Traceback (most recent call last)"
_NAMES = ("Error", "Exception", "Interrupt", "Exit", "Failure", "Expired", "Warning")
"""What the names of exceptions end with."""
_EXCEPTION = late_pattern(rf"[A-Za-z_][\w.]*(?:{'|'.join(_NAMES)})\b(?::|$)")
_ANY_NAME = late_pattern(r"[A-Za-z_]\w*(?:\.\w+)*(?:: |$)")
_SUMMARY = ("ChildFailedError",)
_SUMMARIES = ("wandb: ",)
"""How lines begin in which a library sums a run up after its end, whatever ended it."""
_IGNORED = "Exception ignored "
_ABORTS = (
    *("terminate called after throwing", "what(): ", "Fatal Python error", "Bus error", "Segmentation fault"),
    *("double free or corruption", "*** stack smashing detected", "corrupted size vs"),
)
_HEAP_CALLS = ("malloc(): ", "realloc(): ", "free(): ", "munmap_chunk(): ")
"""How the C library begins a message about heap corruption."""
_ABORT = late_pattern(f"{'|'.join(map(re.escape, _ABORTS))}|^(?:{'|'.join(map(re.escape, _HEAP_CALLS))})")
_SAYS_WHY = late_pattern(r"what\(\):|^Error while \S+(?: to)? shared memory segment ")
"""A line of a message that says more than its first: NCCL calls a lack of shared memory a system error, as a lost peer."""
MOST_LINES = 60
"""Lines of one error at most: an exception may have a long message."""
END_LINES = 2 * MOST_LINES
"""More than MOST_LINES, as some may be warnings or another rank's."""
_WORDS = (_TRACEBACK, *_ABORTS, *_HEAP_CALLS, *_NAMES)
"""Every line at which an error begins contains one of these: a log without them needs no parsing."""
_FRAME = late_pattern(r'File "([^"]+)", line (\d+), in (\S+)')
_CHAINED = late_pattern(r"(?:During handling of the above exception|The above exception was the direct cause)")
_HINT = late_pattern(r"step|epoch|iter|loss|batch|round|%\||\d/\d|it[=: ]", re.IGNORECASE)


class Line(Struct, frozen=True):
    """One line of a log."""

    text: str
    at: str = ""
    rank: int | None = None
    """The rank that torchrun, or torch itself, writes before the line."""


class Error(Struct, frozen=True):
    """An exception, or an abort, in a log."""

    text: str
    """The line with the message, as `ValueError: no data`."""
    lines: tuple[str, ...]
    """From its traceback's beginning to the end of its message."""
    at: str = ""
    rank: int | None = None
    """The rank in the prefix of its lines; None if there is none."""
    went_on: bool = False
    """Whether a step was logged after it, or Python ignored it: then it did not end the program."""

    @property
    def whole(self) -> str:
        """All its lines as one text, the traceback included."""
        return "\n".join(self.lines)

    @property
    def is_victim(self) -> bool:
        """Whether it only reports that a peer was lost."""
        return VICTIM.search(self.text) is not None

    @property
    def frames(self) -> list[tuple[str, int, str]]:
        """File, line and function of its traceback, outermost first."""
        return [(match[1], int(match[2]), match[3]) for match in map(_FRAME.search, self.lines) if match]


def parsed(log: str) -> list[Line]:
    """The non-empty lines of a log, without colours and prefixes."""
    found = []
    for raw in log.splitlines():
        at, text = split_time(raw)
        if "\x1b" in text or "\x08" in text or "\x9b" in text:
            text = ESCAPES.sub("", text)
        rank = None
        while text.startswith("[") and (prefix := _RANK.match(text)):
            rank, text = int(prefix[1]), text[prefix.end() :]
        if text and not text.isspace():
            found.append(Line(text=text, at=at, rank=rank))
    return found


def parsed_end(log: str) -> list[Line]:
    """The last lines of a log: at least END_LINES, from END_LINES before the first possible error on."""
    begin = min((at for word in _WORDS if (at := log.find(word)) >= 0), default=len(log))
    for _ in range(END_LINES + 1):
        begin = log.rfind("\n", 0, begin)
        if begin < 0:
            return parsed(log)
    return parsed(log[begin + 1 :])


def is_warning(text: str) -> bool:
    """Whether a line is a warning: torch logs one for each retry."""
    return "W" in text and _WARNING.search(text) is not None


def is_step(text: str) -> bool:
    """Whether a line reports progress of the training: a position, or a loss."""
    if not _HINT.search(text) or text.startswith(_SUMMARIES):
        return False
    return any(one.pattern.search(text) for one in POSITIONS) or VALUE.search(text) is not None


def errors(lines: Sequence[Line]) -> list[Error]:
    """The exceptions and aborts of a log in order, each with its traceback; of a chain of exceptions the last. A launcher's
    summary of its children is not an error."""
    found: list[Error] = []
    by_rank = grouped_by((line for line in lines if not is_warning(line.text)), lambda line: line.rank)
    for rank, own in by_rank.items():
        found += _errors(own, rank)
    return sorted(found, key=lambda error: error.at)


def _errors(lines: Sequence[Line], rank: int | None) -> list[Error]:
    found: list[Error] = []
    begin = 0
    """Where the traceback of the error that is being read began."""
    number = 0
    while number < len(lines):
        text = lines[number].text.strip()
        if text.startswith(_TRACEBACK):
            begin = number
        elif _ABORT.search(text) or (
            (_EXCEPTION.match(text) or _is_raised(lines, begin, number)) and not any(word in text for word in _SUMMARY)
        ):
            end = _end(lines, number)
            start = max(begin, number - MOST_LINES, 0)
            block = tuple(line.text for line in lines[start:end])
            text = next((line.text.strip() for line in lines[number:end] if _SAYS_WHY.search(line.text)), text)
            if text.endswith(":") and number + 1 < end:
                text = f"{text} {lines[number + 1].text.strip()}"  # torch lists what does not fit in the lines that follow
            went_on = _is_ignored(lines, begin) or _goes_on(lines[:number], lines[end:])
            if found and _CHAINED.match(found[-1].lines[-1]):
                block = (*found.pop().lines, *block)
            found.append(Error(text=text, lines=block, at=lines[number].at, rank=rank, went_on=went_on))
            begin, number = end, end - 1
        number += 1
    return found


def _is_ignored(lines: Sequence[Line], begin: int) -> bool:
    """Whether Python ignored the exception whose traceback begins there: it was raised where nobody can catch it, mostly while
    the program ends already."""
    return begin > 0 and lines[begin].text.startswith(_TRACEBACK) and lines[begin - 1].text.startswith(_IGNORED)


def _goes_on(before: Sequence[Line], after: Sequence[Line]) -> bool:
    """Whether an error was followed by a step other than the last before it: a progress bar is printed again when it closes."""
    steps = {_position(line.text) for line in after if is_step(line.text)}
    return bool(steps) and steps != {next((_position(line.text) for line in reversed(before) if is_step(line.text)), None)}


def _position(text: str) -> tuple[str | None, ...]:
    """What a step line says of where the training is; the line itself if it says nothing of it."""
    match = next((match for one in POSITIONS if (match := one.pattern.search(text.strip()))), None)
    return (text,) if match is None else tuple(match.groupdict().get(name) for name in ("epoch", "step"))


def _is_raised(lines: Sequence[Line], begin: int, number: int) -> bool:
    """Whether the line follows the frames of a traceback: an exception of any name, as `socket.gaierror` or `queue.Empty`."""
    text, before = lines[number].text, lines[number - 1].text
    return (
        lines[begin].text.startswith(_TRACEBACK)
        and number > begin + 1
        and before[:1] == " "
        and _ANY_NAME.match(text) is not None
    )


def _end(lines: Sequence[Line], number: int) -> int:
    """The index after the last line of the message that begins here."""
    for end in range(number + 1, min(len(lines), number + MOST_LINES)):
        text = lines[end].text
        if (
            text.startswith(_TRACEBACK)
            or is_step(text)
            or _EXCEPTION.match(text.strip())
            or re.match(r"[=*-]{10,}|[EIW]\d{4} ", text)
        ):
            return end
    return min(len(lines), number + MOST_LINES)
