"""The launchers that a container's words start, also in shell texts and by other launchers. Pure.

Words alone are read: neither the container's variables nor files. Only a command's program counts, behind wrappers such as
`exec` or `env`. A variable has the value that the text gave it last; any other stays `$NAME`, also one with a default, which the
operator may set. The migration also follows scripts of ConfigMaps (migrate/conversion/commands/understanding.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import msgspec

from shunter.jobs.commands import shell
from shunter.jobs.commands.arguments import Argument, SourceRange
from shunter.jobs.commands.launcher_options import program_name
from shunter.jobs.commands.launchers import Started, started, starts_programs
from shunter.jobs.commands.shell_words import HereDocument, Word
from shunter.jobs.commands.shells import SETTERS, SHELLS, shell_operands
from shunter.jobs.commands.wrappers import is_wrapper, unwrapped

_DEEPEST = 12
"""Shells and launchers within each other that are followed."""
_MOST = 400_000
"""Characters that are read of one container, with what variables add to words: `x=$x$x` doubles a word."""
_NOWHERE = SourceRange()


@lru_cache(maxsize=256)
def launchers_in(words: tuple[str, ...]) -> tuple[Started, ...]:
    """The launchers that a container's command and arguments start, in order; one that starts another stands before it. Their
    arguments have no places."""
    reader = _Reader()
    reader.read_words(_arguments(words), {}, None, 0)
    return tuple(reader.found)


def is_recognised(word: str) -> bool:
    """Whether a word names a program whose command line is read: an interpreter, launcher, shell or wrapper."""
    return starts_programs(word) or is_wrapper(word) or program_name(word) in SHELLS


class _Reader(msgspec.Struct):
    found: list[Started] = []
    characters_left: int = _MOST

    def read_words(self, words: Sequence[Argument], values: Mapping[str, str], document: HereDocument | None, depth: int) -> None:
        """A command; `document` is what its standard input is."""
        inner, assigned = unwrapped(words)
        if not inner or depth > _DEEPEST:
            return
        values = {**values, **dict(assigned)} if assigned else values
        name = program_name(inner[0].value)
        if name in SHELLS:
            operands = shell_operands([word.value for word in inner])
            rest = inner[operands.start :]
            if operands.is_text and rest:
                parameters = {str(number): word.value for number, word in enumerate(rest[1:])}
                self.read_text(rest[0].value, {**values, **parameters}, [word.value for word in rest[2:]], depth + 1)
            elif document and (not rest or rest[0].value == "-"):
                self.read_text(document.text, {**values}, (), depth + 1)
        elif name == "eval":
            self.read_text(" ".join(word.value for word in inner[1:]), {**values}, (), depth + 1)
        elif (started_here := started(inner)) and started_here.launcher == "unknown":
            if len(inner) > 1 and is_recognised(inner[1].value):
                self.read_words(inner[1:], values, None, depth + 1)
        elif started_here and started_here.launcher != "python":
            self.found.append(started_here)
            self.read_words(started_here.program, values, None, depth + 1)

    def read_text(self, text: str, values: dict[str, str], parameters: Sequence[str], depth: int) -> None:
        """Shell text; `parameters` is what `"$@"` stands for. What the text sets is added to `values`."""
        if not self._takes(len(text)):
            return
        for command in shell.script(text).commands:
            words = [value for word in command.words for value in self._expanded(word, values, parameters)]
            # Before a command it holds for that one only, after the shell has replaced the variables of its words.
            there = {**values} if command.assignments and command.words else values
            for name, value in command.assignments:
                there[name] = " ".join(self._expanded(value, there, parameters))
            if words and words[0] in SETTERS:
                assigned = (word.partition("=") for word in words[1:])
                values.update((name, value) for name, is_given, value in assigned if is_given)
            elif words:
                self.read_words(_arguments(words), there, command.input, depth)

    def _expanded(self, word: Word, values: Mapping[str, str], parameters: Sequence[str]) -> Sequence[str]:
        """The word as the shell passes it on, as long as its variables add few characters."""
        pieces = tuple(piece._replace(default="") for piece in word.pieces)
        if [(piece.kind, piece.value) for piece in pieces if piece.value] in ([("variable", "@")], [("variable", "*")]):
            return parameters
        added = sum(len(values.get(piece.value, "")) for piece in pieces if piece.kind == "variable")
        return shell.expanded(word._replace(pieces=pieces), values if not added or self._takes(added) else {})

    def _takes(self, characters: int) -> bool:
        """Whether so many more may be read, which it counts."""
        is_room = characters <= self.characters_left
        self.characters_left -= characters if is_room else 0
        return is_room


def _arguments(words: Sequence[str]) -> list[Argument]:
    return [Argument(word, _NOWHERE) for word in words]
