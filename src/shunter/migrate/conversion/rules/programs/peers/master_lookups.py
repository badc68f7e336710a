"""Programs of Workers that look the Master up once: v1 held them back until its name was known, v2 starts all pods at once."""

from __future__ import annotations

import re
from collections.abc import Iterator

from shunter.api.late_patterns import late_pattern
from shunter.api.training.pytorch import KIND, MASTER
from shunter.migrate.conversion.commands.python_reads import ADDRESSES
from shunter.migrate.conversion.commands.reads import line_of
from shunter.migrate.conversion.commands.shell_programs import RESOLVES
from shunter.migrate.conversion.draft import Draft
from shunter.migrate.conversion.rules.programs.texts import all_programs, place, quoted, without_comments
from shunter.migrate.findings import Topic

ONCE = Topic(
    id="HOST020",
    title="a program looks up the Master before it may be known",
    severity="warning",
    change="semantic-change",
    grade="D",
    explanation=(
        "The program may look up the Master too early, because v2 starts all pods at once; v1 gave each Worker an init "
        "container that waits until the Master's name resolves. Frameworks retry until the name resolves. A program that looks "
        "it up only once may fail; whether it is restarted depends on the restart policy."
    ),
    remedy="Make the program retry, or pass MASTER_ADDR to the framework unchanged.",
    explains=("none",),
    limits_proof=True,
)
_LOOK_UP = late_pattern(
    rf"(?:\b(?:{'|'.join(sorted(ADDRESSES))})\([^\n]{{0,400}}|"
    rf"\b(?:{RESOLVES}|ping)\s[^\n|;&]{{0,400}})MASTER_ADDR\b"
)
"""What asks for the name. That the Master listens was not certain in v1 either."""
_RETRIES = late_pattern(r"retry|retries|tenacity|backoff", re.IGNORECASE)
_LOOP = late_pattern(r"\s*(?:async\s+)?(?:while|until|for|try)\b(?!.*\bdone\b)")
"""A line that begins one."""
_SHELL_LOOP = late_pattern(
    r"\b(?P<begins>while|until|for)\b(?=(?:(?!\bdone\b)[^\0]){0,400}?[;\n]\s*do\s)|(?:^|[;&}])\s*done\b", re.MULTILINE
)
_BRACED_LOOP = late_pattern(r"(?<![\w-])(?:while|until|for|try|do|loop)\b")
_MOST_CALLS = 50
"""Calls of the functions around a lookup that are looked at; no program has so many."""
_FUNCTION = late_pattern(r"\b(?:def|function|sub)\s+([A-Za-z_][\w-]*)|([A-Za-z_][\w-]*)\s*\(\s*\)\s*\{?\s*$")


def apply(draft: Draft) -> None:
    """Reports each text once."""
    if draft.kind != KIND.resource.kind:
        return
    for programs in all_programs(draft):
        if programs.field != "containers" or {*programs.roles} == {MASTER}:
            continue
        for text, spot in programs.texts:
            code = without_comments(text)
            match = _LOOK_UP.search(code)
            if match and not _asks_again(code, match.start()):
                path, offset = place(programs, spot, spot.offset(match.start()))
                says = f"{quoted(text, match.start(), spot)} looks up the Master's address once."
                draft.report(ONCE, path, says, offset=offset)


def _asks_again(code: str, place: int) -> bool:
    """Whether what stands there is done until it succeeds: in a loop, in a `try`, by a library for it, or in a function that is
    called so. The code is of any language, without comments."""
    places, functions, loops = [place], set[str](), _shell_loops(code)
    for _ in range(_MOST_CALLS):
        if not places:
            break
        at = places.pop(0)
        start = code.rfind("\n", 0, at) + 1
        headers, braced = [code[start:at], *_headers(code, start, at)], [*_braced_headers(code, at)]
        if _RETRIES.search("\n".join([line_of(code, at), *headers, *braced])):
            return True
        if any(start <= at < end for start, end in loops):
            return True
        if any(map(_LOOP.match, headers)) or any(map(_BRACED_LOOP.search, braced)):
            return True
        around = {match[1] or match[2] for line in (*headers[1:], *braced) for match in _FUNCTION.finditer(line)}
        for name in sorted(around - functions):
            functions.add(name)
            places += [call.start() for call in re.finditer(rf"(?<![\w$-]){re.escape(name)}\b", code)]
    return False


def _headers(code: str, start: int, place: int) -> Iterator[str]:
    """The lines that the line from `start` on is indented below, and the decorators of functions among them."""
    indent, is_function = _indent(code[start:place]), False
    for line in reversed(code[:start].splitlines()):
        text = line.strip()
        if _indent(line) < indent and text and text[0] not in ")]}":
            indent, is_function = _indent(line), text.startswith(("def ", "async def "))
            yield line
        elif is_function and _indent(line) == indent:
            if text.startswith("@"):
                yield line
            elif text and text[0] != ")":
                is_function = False


def _indent(line: str) -> int:
    line = line.expandtabs()
    return len(line) - len(line.lstrip())


def _braced_headers(code: str, place: int) -> Iterator[str]:
    """What stands on its line before each `{` that is open there."""
    closed = 0
    for brace in reversed([*re.finditer(r"[{}]", code[:place])]):
        closed += 1 if brace[0] == "}" else -1
        if closed < 0:
            closed = 0
            yield code[code.rfind("\n", 0, brace.start()) + 1 : brace.start()]


def _shell_loops(code: str) -> list[tuple[int, int]]:
    """Where each `while`, `until` or `for` of a shell begins and its `done` does."""
    found, begun = [], []
    for match in _SHELL_LOOP.finditer(code):
        if match["begins"]:
            begun.append(match.start())
        elif begun:
            found.append((begun.pop(), match.start()))
    return [*found, *((start, len(code)) for start in begun)]
