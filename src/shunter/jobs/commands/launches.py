"""The launchers that a container's words start, also in shell texts and by other launchers. Pure.

Words alone are read: neither the container's variables nor files, but a here-document that the text writes and then runs. Only a
command's program counts, behind wrappers such as `exec` or `env`; behind a program that is not known also a launcher with options
of its own. A variable has the value that the text gave it last, where that is certain; any other stays `$NAME`, also one with a
default, which the operator may set. The migration also follows scripts of ConfigMaps, but no launcher behind an unknown program
(migrate/conversion/commands/understanding.py).
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from functools import lru_cache

import msgspec

from shunter.api.late_patterns import late_pattern
from shunter.jobs.commands import shell
from shunter.jobs.commands.arguments import Argument, SourceRange
from shunter.jobs.commands.launcher_options import FORMS, MODULES, program_name
from shunter.jobs.commands.launchers import Started, started, starts_programs
from shunter.jobs.commands.shell_words import HereDocument, Word
from shunter.jobs.commands.shells import SETTERS, SHELLS, shell_operands, text_words
from shunter.jobs.commands.wrappers import is_wrapper, unwrapped

_DEEPEST = 12
"""Shells and launchers within each other that are followed."""
_MOST = 400_000
"""Characters that are read of one container, with what variables add to words: `x=$x$x` doubles a word."""
_NOWHERE = SourceRange()
_NAME = late_pattern(r"[A-Za-z_][A-Za-z0-9_]*")
_READERS = frozenset({"read", "unset", "let", "getopts", "mapfile", "readarray"})
"""Commands that give the variables they name values that are not known."""
_INCLUDERS = frozenset({".", "source", "eval", "shift"})
"""Commands that may set any variable or parameter."""


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
    files: dict[str, str] = {}
    """Here-documents that the texts have written, by path."""

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
            elif rest:
                self._read_script(rest, values, depth)
        elif name in {".", "source"}:
            self._read_script(inner[1:2], values, depth)
        elif name == "eval":
            self.read_text(" ".join(word.value for word in inner[1:]), {**values}, (), depth + 1)
        else:
            self._read_program(words, inner, values, depth)

    def _read_program(self, words: Sequence[Argument], inner: Sequence[Argument], values: Mapping[str, str], depth: int) -> None:
        """A program that is no shell; `words` are those with the wrappers."""
        found = started(inner)
        if program_name(inner[0].value) == "xargs" or (found and found.launcher == "unknown"):
            text = next(text_words([word.value for word in words]), None)
            if text is not None:
                self.read_text(words[text].value, {**values}, (), depth + 1)
            elif len(inner) > 1 and is_recognised(inner[1].value):
                self.read_words(inner[1:], values, None, depth + 1)
            else:
                self._read_script(inner, values, depth)
        elif found and found.launcher != "python":
            self.found.append(found)
            self.read_words(found.program, values, None, depth + 1)
        elif found and found.kind == "module":
            self._read_later(found.program, values, depth, by_module=True)

    def _read_script(self, words: Sequence[Argument], values: Mapping[str, str], depth: int) -> None:
        """A program that is not known, or a script: one that the text has written, or one that may run its arguments."""
        path = posixpath.normpath(words[0].value) if words else ""
        if path in self.files:
            self.read_text(self.files[path], {**values}, [word.value for word in words[1:]], depth + 1)
        else:
            self._read_later(words, values, depth)

    def _read_later(self, words: Sequence[Argument], values: Mapping[str, str], depth: int, *, by_module: bool = False) -> None:
        """The first launcher among the words behind a program, with options of its own or a script. `by_module`: only `-m MODULE`
        counts."""
        for place in range(1, len(words)):
            word = words[place].value
            is_module = word == "-m" and place + 1 < len(words) and words[place + 1].value in MODULES
            if is_module or (not by_module and starts_programs(word)):
                if not self._takes(len(words) - place):
                    return
                rest = [*([Argument("python", words[place].spot)] if is_module else ()), *words[place:]]
                if (found := started(rest)) and _is_started(found, has_input=program_name(words[0].value) == "xargs"):
                    self.read_words(rest, values, None, depth + 1)
                    return
            elif not by_module and "/" not in word and started(words[place : place + 1]) is None:
                return  # `xargs pip install deepspeed`

    def read_text(self, text: str, values: dict[str, str], parameters: Sequence[str], depth: int) -> None:
        """Shell text; `parameters` is what `"$@"` stands for. What the text sets is added to `values`."""
        if not self._takes(len(text)):
            return
        script = shell.script(text)
        looped = {loop.name for loop in script.loops}
        for name in looped:
            values.pop(name, None)
        for command in script.commands:
            words = [value for word in command.words for value in self._expanded(word, values, parameters)]
            # Before a command it holds for that one only, after the shell has replaced the variables of its words.
            there = {**values} if command.assignments and command.words else values
            for name, value in command.assignments:
                there[name] = " ".join(self._expanded(value, there, parameters))
            assigned = {} if words else dict.fromkeys((name for name, _ in command.assignments), "")
            if words and words[0] in SETTERS:
                assigned = {name: value for name, is_given, value in (word.partition("=") for word in words[1:]) if is_given}
                values.update(assigned)
            elif words:
                if command.input and command.outputs:
                    path = " ".join(self._expanded(command.outputs[-1], values, parameters))
                    self.files[posixpath.normpath(path)] = command.input.text
                self.read_words(_arguments(words), there, command.input, depth)
                if words[0] in _INCLUDERS:
                    values.clear()
                elif words[0] in _READERS or words[0].startswith("$(("):
                    for name in _NAME.findall(" ".join(words)):
                        values.pop(name, None)
            for name in assigned:
                if name in looped or not command.is_certain:
                    values.pop(name, None)

    def _expanded(self, word: Word, values: Mapping[str, str], parameters: Sequence[str]) -> Sequence[str]:
        """The word as the shell passes it on, as long as its variables add few characters."""
        pieces = tuple(piece._replace(default="") for piece in word.pieces)
        if [(piece.kind, piece.value) for piece in pieces if piece.value] in ([("variable", "@")], [("variable", "*")]):
            return parameters if self._takes(sum(map(len, parameters)) + len(parameters)) else ()
        added = sum(len(values.get(piece.value, "")) for piece in pieces if piece.kind == "variable")
        return shell.expanded(word._replace(pieces=pieces), values if not added or self._takes(added) else {})

    def _takes(self, characters: int) -> bool:
        """Whether so many more may be read, which it counts."""
        is_room = characters <= self.characters_left
        self.characters_left -= characters if is_room else 0
        return is_room


def _is_started(found: Started, *, has_input: bool) -> bool:
    """Whether it is a launcher that starts something, and no mere word. `has_input`: its program may come from elsewhere."""
    form = next((form for launcher, form in FORMS.items() if launcher == found.launcher), None)
    if form is None or not (found.program or has_input):
        return False
    return found.name.endswith(".py") or not found.options.keys().isdisjoint(form.values | form.pairs | {"module"})


def _arguments(words: Sequence[str]) -> list[Argument]:
    return [Argument(word, _NOWHERE) for word in words]
