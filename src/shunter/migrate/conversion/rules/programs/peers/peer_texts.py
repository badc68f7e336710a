"""A text of a program: what its variables hold, and what it makes of the answers of DNS and of the cluster."""

from __future__ import annotations

import re
from collections.abc import Mapping, Set
from functools import partial
from typing import NamedTuple

from shunter.api.late_patterns import late_pattern
from shunter.api.meta import Json
from shunter.jobs.commands.arguments import SourceRange
from shunter.jobs.commands.shells import as_shell, is_makefile
from shunter.migrate.conversion.commands.mounted_files import path_in
from shunter.migrate.conversion.commands.pod_reads import python_texts
from shunter.migrate.conversion.commands.python_code import is_python_code
from shunter.migrate.conversion.draft import Draft
from shunter.migrate.conversion.rules.programs.peers.peer_numbers import Files, Found
from shunter.migrate.conversion.rules.programs.peers.results_in_javascript import found_in_javascript, is_javascript
from shunter.migrate.conversion.rules.programs.peers.results_in_python import found_in_python
from shunter.migrate.conversion.rules.programs.peers.results_in_shell import found_in_shell
from shunter.migrate.conversion.rules.programs.texts import Programs, all_programs, without_comments

_LONGEST = 400
"""Characters of a value that are read."""
_ASSIGNMENT = late_pattern(r"(?<![\w$.])([A-Za-z_]\w*)[ \t]?=(?!=)(?=[ \t]?[^\n;])")
VARIABLE = late_pattern(r"\$\{?(\w+)\}?|os\.environ\[[\"'](\w+)[\"']\]|os\.(?:environ\.get|getenv)\([\"'](\w+)[\"'][^)]*\)")
"""A variable of a shell, or of the environment in Python."""
_JOINS = late_pattern(r"^[rbuf]{0,2}[\"']|[\"']$|[\"']\s*\+\s*|\s*\+\s*[rbuf]{0,2}[\"']|[{}]|(?<=[^\s])[\"']$")
"""What stands between the parts of a text that Python puts together."""
_CALL = late_pattern(r"\b(\w{1,80})\(\s{0,20}[\"']([\w-]{1,63})[\"'.]")
_CONTINUATION = late_pattern(r"\\\n|(?<=[(\[,])[ \t]*\n\s*|\n\s*(?=[)\]])")
"""Where a line goes on in the next."""
_ONE_POD = frozenset({"MASTER_ADDR", "PET_MASTER_ADDR", "COORDINATOR_ADDRESS", "CHIEF_ADDR", "HOSTNAME", "POD_NAME", "POD_IP"})
"""One pod in both generations: the first one, or the pod itself."""
_OF_THE_POD = frozenset({"metadata.name", "status.podIP", "status.hostIP", "spec.nodeName"})
"""Fields of a pod that name it, or its node."""


class Text(NamedTuple):
    """A program, and what is asked of it at each look-up: found once."""

    code: str
    """Without comments."""
    assigned: Mapping[str, int]
    """Where the value of each variable begins; -1 where it has several."""
    calls: Set[tuple[str, str]]
    """Functions, and the texts that they are given first, up to the first dot."""
    values: Mapping[str, str]
    """The values of the container's environment."""
    of_one_pod: Set[str]
    """Variables that hold the name or address of one pod."""


def made(draft: Draft, programs: Programs, text: str, spot: SourceRange) -> Found:
    """What the text, one of the programs', makes of its look-ups and requests, and other programs of the pod of the files that it
    writes."""
    found = Found()
    own = _made(draft, programs, text, spot, frozenset())
    found.commands_left = own.commands_left
    found.take(own, 0)
    for path, values in own.files.items():
        if number := _number_of_file(draft, programs, text, path, is_number=any(one.is_number for one in values)):
            for one in values:
                found.numbers.setdefault(one.place, number)
    return found


def _number_of_file(draft: Draft, writer: Programs, written: str, path: str, *, is_number: bool) -> str:
    """The number that another text of the pod makes of what is in the file; empty for none."""
    for programs in all_programs(draft):
        place = path_in(programs.container, path, writer.container) if programs.roles == writer.roles else ""
        for text, spot in programs.texts if place else ():
            if text == written or place not in text:
                continue
            found = _made(draft, programs, text, spot, frozenset({(place, is_number)}))
            if number := next((found.numbers[at] for at in sorted(found.read) if at in found.numbers), ""):
                return number
    return ""


def _made(draft: Draft, programs: Programs, text: str, spot: SourceRange, files: Files) -> Found:
    in_python = partial(found_in_python, files=files) if files else found_in_python
    codes = [
        (0 if spot.is_decoded else code.spot.start - spot.start, code.text)
        for code in python_texts(programs.container, programs.volumes, draft.texts_of)
        if (code.spot.file, code.spot.path) == (spot.file, spot.path)
    ]
    if (0, text) in codes or (not codes and is_python_code(text)):
        return in_python(text)[0]
    if is_javascript([*(programs.container.get("command") or ()), *(programs.container.get("args") or ())], spot):
        return found_in_javascript(text)
    if is_makefile(spot):
        text = as_shell(text)
    in_shell, _ = found_in_shell(text, in_python, files)
    found = Found(commands_left=in_shell.commands_left)
    found.take(in_shell, 0)
    for begin, code in codes:
        found.take(in_python(code)[0], begin)
    return found


def read(text: str, container: Json) -> Text:
    """The text as a program of the container."""
    code = _CONTINUATION.sub(lambda match: " " * len(match[0]), without_comments(text))
    assigned: dict[str, int] = {}
    for match in _ASSIGNMENT.finditer(code):
        assigned[match[1]] = -1 if match[1] in assigned else match.end()
    environment = container.get("env") or ()
    values = {str(one.get("name")): one["value"][:_LONGEST] for one in environment if isinstance(one.get("value"), str)}
    own = {str(one.get("name")) for one in environment if _field(one) in _OF_THE_POD}
    calls = {(match[1], match[2]) for match in _CALL.finditer(code)}
    return Text(code, assigned, calls, values, _ONE_POD | own)


def _field(variable: Json) -> str:
    return str(((variable.get("valueFrom") or {}).get("fieldRef") or {}).get("fieldPath"))


def resolved(text: Text, word: str) -> tuple[str, bool]:
    """The word with what its variables hold, and whether that is all of it."""
    is_known = True

    def held(match: re.Match[str]) -> str:
        nonlocal is_known
        name = match[1] or match[2] or match[3]
        found = value_of(text, name) or text.values.get(name)
        is_known = is_known and found is not None
        return found if found is not None else match[0]

    alone = value_of(text, word)
    if alone is not None:
        word = alone
    elif word in text.assigned:
        is_known = False
    replaced = VARIABLE.sub(held, word)
    for _ in range(3):
        replaced = _JOINS.sub("", replaced.strip())
    first = re.match(r"[A-Za-z_]\w*(?=-)", replaced)
    if first and (known := value_of(text, first[0]) or None):
        replaced = VARIABLE.sub(held, known).strip("\"'") + replaced[first.end() :]
    return replaced, is_known and not re.search(r"[$`(\[]", replaced)


def value_of(text: Text, name: str) -> str | None:
    """What the text gives a variable, if it does so once."""
    start = text.assigned.get(name, -1)
    if start < 0:
        return None
    value = re.split(r"[\n;]", text.code[start : start + _LONGEST], maxsplit=1)[0]
    return value.split(" if ")[0].strip().strip("\"'")
