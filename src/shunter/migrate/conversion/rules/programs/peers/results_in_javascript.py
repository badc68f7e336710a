"""What JavaScript makes of the answers of look-ups in DNS, and of requests to the cluster: which numbers of ranks or shards.

Values are followed statement by statement: through names that are assigned, and parameters of functions that stand there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise

from shunter.api.late_patterns import late_pattern
from shunter.jobs.commands.arguments import SourceRange
from shunter.jobs.commands.launcher_options import program_name
from shunter.migrate.conversion.rules.programs.peers.cluster_results import answers_a_number, asks_cluster
from shunter.migrate.conversion.rules.programs.peers.peer_numbers import (
    NOTHING,
    Derived,
    Found,
    Values,
    key_before,
    moved,
    numbers_of,
)
from shunter.migrate.conversion.rules.programs.peers.results_in_python import found_in_python
from shunter.migrate.conversion.rules.programs.peers.results_in_shell import found_in_shell

LOOKS_UP = r"\b(?:dns(?:\.promises)?\.(?:lookup|resolve\w{0,5})|resolve(?:4|6|Srv|Any))\(\s{0,20}"
"""How the module `dns` is asked, up to the first argument."""
_PROGRAMS = frozenset({"node", "nodejs", "deno", "bun"})
_FILES = (".js", ".cjs", ".mjs", ".ts")
_SOURCE = late_pattern(
    rf"(?P<dns>{LOOKS_UP})|\b(?:exec|spawn)\w{{0,10}}\(\s{{0,20}}(?P<quote>[`'\"])(?P<command>[^\n]{{1,400}}?)(?P=quote)"
    r"|(?P<call>\b(?:list|read)Namespaced(?:Pod|Endpoints|EndpointSlice|Service)\w{0,20}\()"
    r"|(?P<web>\b(?:fetch|axios(?:\.get)?|got(?:\.get)?|https?\.get)\(\s{0,20}[`'\"][^\n]{0,300}?/apis?/)"
)
_NAME = late_pattern(r"(?<![\w$.'\"-])[A-Za-z_$][\w$]*")
_ASSIGNMENT = late_pattern(r"^\s*(?:export\s+)?(?:(?:const|let|var)\s+)?(?P<names>[\w$.]+|[{\[][\w$\s,:.]*[}\]])\s*\+?=(?![=>])")
_PARAMETERS = late_pattern(
    r"(?:\(\s*(?P<several>[\w$,\s{}\[\]]*)\)|(?P<one>[A-Za-z_$][\w$]*))\s*=>|\bfunction\s*\w*\((?P<old>[\w$,\s]*)\)"
)
_COUNTED = late_pattern(r"(?:\??\.\w+(?:\([^()]*\))?|\[[^\]]*\]|\))*\??\.(?:length|size)\b")
_WRAPPED = late_pattern(r"(?:\b(?:String|Number|parseInt|Math\.\w+)|\$|[\s+])[({]?\Z|[(`]\Z")
_OPTION = late_pattern(r"[`'\"](--?[A-Za-z][\w-]*)[`'\"]\s*,\s*\Z")
_END = late_pattern(r";|\n(?!\s*\.)")
"""What ends a statement."""
_MOST_STATEMENTS = 10_000


def is_javascript(command: list[str], spot: SourceRange) -> bool:
    """Whether a text of a container with that command is JavaScript: a file by its name, or a word that node is given."""
    last = str(spot.path[-1]).lower() if spot.path else ""
    return last.endswith(_FILES) if spot.file else bool(command) and program_name(command[0]) in _PROGRAMS


@lru_cache(maxsize=64)
def found_in_javascript(text: str) -> Found:
    """What the text makes of the answers. Never fails."""
    reader = _Reader()
    ends = [match.end() for match in _END.finditer(text)][:_MOST_STATEMENTS]
    for _ in range(2):  # functions may be used before they are written
        for begin, end in pairwise([0, *ends, len(text)]):
            reader.read(text[begin:end], begin)
    return reader.found


class _Reader:
    def __init__(self) -> None:
        self.found = Found()
        self._known: dict[str, Values] = {}

    def read(self, statement: str, begin: int) -> None:
        """Reads the statement that begins there."""
        values = [*self._sources(statement, begin)]
        if values or _PARAMETERS.search(statement):
            given = frozenset().union(*(held for _, held in values), *(held for _, _, held in self._names(statement)))
            for match in _PARAMETERS.finditer(statement):
                for name in re.findall(r"[A-Za-z_$][\w$]*", match["several"] or match["one"] or match["old"] or ""):
                    if given:
                        self._known[name] = self._known.get(name, NOTHING) | given
        used = [*values, *((end, held) for _, end, held in self._names(statement))]
        for end, held in used:
            self.found.counted |= {one.place for one in held if _COUNTED.match(statement, end) and not one.is_number}
        for start, end, held in self._names(statement):
            numbers = numbers_of(held) if _COUNTED.match(statement, end) else held
            self.found.name(_key(statement[:start]), numbers)
        if assigned := _ASSIGNMENT.match(statement):
            counts = re.search(r"\.(?:length|size)\b", statement[assigned.end() :]) is not None
            held = frozenset().union(*(one for end, one in used if end > assigned.end()))
            held = numbers_of(held) if counts else held
            for name in re.findall(r"[A-Za-z_$][\w$]*", assigned["names"]):
                self.found.name(name, held)
                self._known[name] = held

    def _sources(self, statement: str, begin: int) -> Iterator[tuple[int, Values]]:
        """What the statement asks for: where the call ends, as far as that is known, and the values."""
        for match in _SOURCE.finditer(statement):
            place = begin + (match.end() if match["dns"] else match.start())
            held = frozenset({Derived(place, is_number=False)})
            if match["dns"]:
                self.found.places.add(place)
            elif match["command"]:
                held = self._of_command(match, begin)
            else:
                self.found.requests.add(place)
            yield match.end(), held

    def _of_command(self, match: re.Match[str], begin: int) -> Values:
        start = begin + match.start("command")
        inner, printed = found_in_shell(match["command"], found_in_python)
        self.found.take(inner, start)
        behind = re.sub(r"[`'\",\[\]]+", " ", f"{match['command']} {match.string[match.end() :]}")
        if not inner.requests and asks_cluster(behind):  # execFileSync("kubectl", ["get", "pods"])
            self.found.requests.add(start)
            return frozenset({Derived(start, is_number=answers_a_number(behind))})
        return moved(printed, start)

    def _names(self, statement: str) -> Iterator[tuple[int, int, Values]]:
        """The names of the statement that hold something, with where they stand."""
        for match in _NAME.finditer(statement):
            if held := self._known.get(match[0]):
                yield match.start(), match.end(), held


def _key(before: str) -> str:
    """The name, or the option, that is given the value that follows."""
    before = before[-120:]
    for _ in range(6):
        if option := _OPTION.search(before):
            return option[1]
        if key := key_before(before):
            return key
        shorter = _WRAPPED.sub("", before)
        if shorter == before:
            break
        before = shorter
    return ""
