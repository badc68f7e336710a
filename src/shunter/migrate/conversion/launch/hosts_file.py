"""Lines that shell text adds to /etc/hosts unless they are there: `grep -q "$(hostname)" /etc/hosts || echo LINE >> /etc/hosts`.

Whatever the search finds, the file has the name behind it, in either generation, and nothing else depends on what was found.
"""

from __future__ import annotations

import re

from shunter.api.late_patterns import late_pattern
from shunter.migrate.conversion.launch.reads import HOSTS_FILE
from shunter.migrate.conversion.launch.shell import Command
from shunter.migrate.conversion.launch.shell_programs import PRINTERS, program
from shunter.migrate.conversion.launch.shell_words import Word

_SEARCHES = frozenset({"grep", "egrep", "fgrep"})
_OPTIONS = late_pattern(r"-[EFGPiqswx]+|--")
_IF_NOT = late_pattern(r"\bif[ \t]+![ \t]+\Z")
_NEAR = 80
"""Characters before a command in which that stands."""
_UNSHOWN = r"(?P<hidden>[ \t]*(?:[12&]?>[ \t]*/dev/null|2>&1))*[ \t]*"
_OTHERWISE = late_pattern(rf"{_UNSHOWN}\|\|[ \t\\\n]*(?P<opened>\{{\s+)?")
_THEN = late_pattern(rf"{_UNSHOWN}[;\n]\s*then\s+(?P<opened>)")
_ADDS = late_pattern(
    r"[ \t]*(?:>>|\|[ \t]*(?:sudo[ \t]+)?tee[ \t]+(?:-a|--append)[ \t])[ \t]*[\"']?/etc/hosts[\"']?(?=[\s;&|})]|\Z)"
)
_CLOSED = late_pattern(r"(?:[ \t]*>[ \t]*/dev/null)?\s*(?:;\s*)?(?:fi\b|\})")
_DECORATION = late_pattern(r"[\"'{}^]|\\[bs<>]\+?|\[\[:space:\]\][+*]?|\$?[\"']?\Z")
"""What a pattern has beside the name that it looks for, and how a variable may be written in two ways."""
_OF_PODS = late_pattern(
    r"(?:master|chief|launcher|worker|ps|evaluator|node|svc|cluster|local)(?![a-z])|\A[\d.:-]*\Z", re.IGNORECASE
)
"""Parts of names of pods that v1 and v2 do not have in common, and mere numbers."""


def adds_once(text: str, command: Command, following: Command) -> bool:
    """Whether the command looks for a name in /etc/hosts, and the following one only adds it there if it is missing."""
    name = _sought(command)
    if name is None or not following.words or following.assignments or program(following.words[0]) not in PRINTERS:
        return False
    is_if = _IF_NOT.search(text, max(command.start - _NEAR, 0), command.start) is not None
    between = (_THEN if is_if else _OTHERWISE).match(text, command.words[-1].end, following.start)
    if between is None or between.end() != following.start:
        return False
    added = _ADDS.match(text, following.words[-1].end)
    is_quiet = between["hidden"] is not None or any("q" in (word.literal or "") for word in _options(command))
    if added is None or not is_quiet or ((is_if or between["opened"]) and not _CLOSED.match(text, added.end())):
        return False
    pattern = _bare(text, name)
    is_own = name.literal is None or not _OF_PODS.search(pattern)
    return is_own and bool(pattern) and any(pattern in _bare(text, word) for word in following.words[1:])


def _sought(command: Command) -> Word | None:
    """What the command looks for in /etc/hosts, and in no other file."""
    if not command.words or program(command.words[0]) not in _SEARCHES or command.assignments or command.inputs:
        return None
    operands = [word for word in command.words[1:] if word not in _options(command)]
    return operands[0] if len(operands) == 2 and operands[1].literal == HOSTS_FILE else None


def _options(command: Command) -> list[Word]:
    return [word for word in command.words[1:] if word.literal and _OPTIONS.fullmatch(word.literal)]


def _bare(text: str, word: Word) -> str:
    return _DECORATION.sub("", text[word.start : word.end]).strip()
