"""What a container starts, read from its command and arguments, shell texts, and scripts that its ConfigMaps hold.

No image is looked at: what stands in one (an ENTRYPOINT, a script) is unknown, and said to be.
"""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Literal, NamedTuple

import msgspec
from msgspec.structs import replace

from shunter.api.meta import Json
from shunter.cluster.node.content.expansion import expand, variable_references
from shunter.jobs.commands import shell
from shunter.jobs.commands.arguments import Argument, SourceRange
from shunter.jobs.commands.launcher_options import program_name
from shunter.jobs.commands.launchers import Launcher, Started, started
from shunter.jobs.commands.launches import is_recognised
from shunter.jobs.commands.shell_words import HereDocument, Word
from shunter.jobs.commands.shells import SETTERS, SHELLS, shell_operands
from shunter.jobs.commands.wrappers import unwrapped
from shunter.migrate.conversion.commands import python_code
from shunter.migrate.conversion.commands.mounted_files import File, FindObject, mounted_files, nowhere

ENTRYPOINT = "the image's ENTRYPOINT"

_DEEPEST = 12
"""Shells within scripts within shells that are followed."""
_DEEPEST_EVAL = 3
"""Texts of `eval` within each other that are followed: each one is read as a whole."""
_MOST_AGAIN = 400_000
"""Characters that are read of one container beside its texts, each read once: texts that are started again, those of `eval`, and
what variables add to words. `x=$x$x` doubles a word. What comes after is read with its variables as they stand."""


class Use(NamedTuple):
    """A variable that a text takes from the container's environment."""

    name: str
    spot: SourceRange
    by: Literal["kubernetes", "shell", "python"]
    """Who replaces or reads it: `$(RANK)` in command and args, `$RANK`, `os.environ["RANK"]`."""
    default: str | None = None
    """What it takes where there is none."""


class Text(NamedTuple):
    """A program that the container's words, or a file that it mounts, write out."""

    language: Literal["shell", "python"]
    text: str
    spot: SourceRange
    """Where it stands as a whole."""
    is_whole: bool = True
    """Whether all that it starts was followed: nothing nested too deep, and not too much in all."""


class Launch(NamedTuple):
    """What a container starts."""

    started: tuple[Started, ...]
    """In the order of the text; never empty."""
    uses: tuple[Use, ...]
    """Without those of programs that a launcher starts: it tells them."""
    texts: tuple[Text, ...] = ()
    """The programs that could be read, in the order in which they are started."""

    @property
    def main(self) -> Started:
        """What trains: what a launcher starts, else the last program of Python, else the last one."""
        return max(enumerate(self.started), key=lambda found: (_WEIGHT[found[1].launcher], found[0]))[1]

    @property
    def decisive(self) -> Started:
        """What says how processes are started: the main program, but beside plain Python the last unknown one. In `python
        download.py && bash train.sh` what train.sh starts is unknown."""
        unknown = [found for found in self.started if found.launcher == "unknown"]
        return unknown[-1] if unknown and self.main.launcher == "python" else self.main

    @property
    def launcher(self) -> Launcher:
        """The launcher of `decisive`: `unknown` if a program other than plain Python may start anything."""
        return self.decisive.launcher

    @property
    def also_starts_without(self) -> bool:
        """Whether plain Python starts what the launcher starts, too: in the other branch of an `if`."""
        launched = (self.main.kind, self.main.name)
        plain = [(found.kind, found.name) for found in self.started if found.launcher == "python"]
        return self.main.launcher not in {"python", "unknown"} and self.main.name != "" and launched in plain


_WEIGHT: dict[Launcher, int] = {
    "torchrun": 2,
    "accelerate": 2,
    "deepspeed": 2,
    "mpirun": 2,
    "horovodrun": 2,
    "python": 1,
    "unknown": 0,
}


def understood(
    container: Json, volumes: Sequence[Json] = (), find: FindObject = nowhere, *, set_by_operator: Collection[str] = ()
) -> Launch:
    """What the container starts; `volumes` are its pod's, `find` knows ConfigMaps and Secrets by title. `set_by_operator` are
    variables that an operator sets instead of the container's own; their values are not known here."""
    reader = _Reader(mounted_files(container, volumes, find))
    variables = [one for one in container.get("env") or () if one.get("name") not in set_by_operator]
    environment = {str(one.get("name")): one["value"] for one in variables if isinstance(one.get("value"), str)}
    words = []
    for name in ("command", "args"):
        for index, text in enumerate(container.get(name) or ()):
            spot = SourceRange((name, index), 0, len(text), is_exact=True, is_item=True)
            reader.read_kubernetes_references(text, spot)
            value = expand(text, environment)
            words.append(Argument(value, spot if value == text else spot._replace(is_exact=False)))
    place = _Place({**environment, **{name: f"${name}" for name in set_by_operator}}, container.get("workingDir") or "")
    if not container.get("command"):
        place = replace(place, through=(ENTRYPOINT,))
        if not words or not is_recognised(words[0].value):
            return Launch((Started("unknown", (), {}, "", tuple(words), place.through),), tuple(reader.uses))
    reader.read_words(words, place)
    unknown = Started("unknown", (), {}, "", tuple(words), place.through)
    texts = dict.fromkeys(text._replace(is_whole=text.spot not in reader.left_off) for text in reader.texts)
    return Launch(tuple(reader.started) or (unknown,), tuple(dict.fromkeys(reader.uses)), tuple(texts))


class _Place(msgspec.Struct, frozen=True):
    """Where the reader is: what is known there."""

    values: dict[str, str]
    """Of variables, so far as the text says them."""
    directory: str
    """Empty when it is the image's own."""
    through: tuple[str, ...] = ()
    parameters: tuple[Argument, ...] = ()
    """What `"$@"` stands for."""
    depth: int = 0
    opened: tuple[SourceRange, ...] = ()
    """The files that lead to it. One that calls itself, with other parameters maybe, is followed once."""
    text: SourceRange | None = None
    """The text that is read; that of `eval` is a part of the text around it."""

    def inside(self, name: str, parameters: Sequence[Argument] = ()) -> _Place:
        return replace(
            self, values={**self.values}, through=(*self.through, name), parameters=tuple(parameters), depth=self.depth + 1
        )


class _Reader(msgspec.Struct):
    files: dict[str, File]
    started: list[Started] = []
    uses: list[Use] = []
    texts: list[Text] = []
    left_off: set[SourceRange] = set()
    """The texts of which not all was followed."""
    read: set[SourceRange] = set()
    """Where the texts stand that were read."""
    characters_left: int = _MOST_AGAIN

    def read_kubernetes_references(self, text: str, spot: SourceRange) -> None:
        for name, start, end in variable_references(text):
            self.uses.append(Use(name, _within(spot, start, end), "kubernetes"))

    def read_words(
        self, words: Sequence[Argument], place: _Place, document: HereDocument | None = None, spot: SourceRange | None = None
    ) -> None:
        """A command; `document` is what its standard input is, standing at `spot`."""
        inner, assigned = unwrapped(words)
        if assigned:
            place = replace(place, values={**place.values, **dict(assigned)})
        if not inner:
            return
        if place.depth > _DEEPEST:
            self._leave_off(place)
            return
        name = program_name(inner[0].value)
        if name in SHELLS:
            self._read_shell(inner, place, document, spot)
        elif name in {".", "source"} and len(inner) > 1:
            self._read_file(inner[1].value, inner[2:], place, is_sourced=True)
        elif name == "eval" and place.through.count("eval") == _DEEPEST_EVAL:
            self._leave_off(place)
        elif name == "eval":
            self.read_text(" ".join(word.value for word in inner[1:]), _unplaced(inner[0].spot), place.inside("eval"))
        elif found := started(inner):
            self._read_program(found, place, document, spot)

    def read_text(self, text: str, spot: SourceRange, place: _Place) -> None:
        """Shell text; `spot` is where it stands as a whole."""
        is_new = False
        if place.through[-1:] != ("eval",):
            place = replace(place, text=spot)
            is_new = spot not in self.read
            self.read.add(spot)
            self.texts.append(Text("shell", text, spot))
        if not is_new and not self._takes(len(text), place):
            return
        script = shell.script(text)
        self._take_shell_references(text, script, spot)
        for command in script.commands:
            words = [argument for word in command.words for argument in self._arguments(word, spot, place)]
            # Before a command it holds for that one only, after the shell has replaced the variables of its words.
            there = replace(place, values={**place.values}) if command.assignments and command.words else place
            for name, value in command.assignments:
                there.values[name] = " ".join(self._expanded(value, there.values, place))
            if not words:
                continue
            if command.input and command.outputs:
                self._write_file(command.outputs[-1], command.input, spot, place)
            if words[0].value in SETTERS:
                assigned = (word.value.partition("=") for word in words[1:])
                place.values.update((name, value) for name, is_given, value in assigned if is_given)
            elif words[0].value == "cd" and len(words) > 1:
                place = replace(place, directory=posixpath.join(place.directory, words[1].value) or ".")
            else:
                where = (
                    _within(spot, command.input.start, command.input.start + len(command.input.text)) if command.input else None
                )
                self.read_words(words, there, command.input, where)

    def _arguments(self, word: Word, spot: SourceRange, place: _Place) -> list[Argument]:
        """The word as the arguments that the shell makes of it."""
        said = [piece for piece in word.pieces if piece.kind != "text" or piece.value]
        if len(said) == 1 and said[0].kind == "variable" and said[0].value in {"@", "*"}:
            return [*place.parameters]
        where = _within(spot, word.start, word.end)
        known = place.values
        if place.parameters and word.literal is None:
            known = known | {str(number): argument.value for number, argument in enumerate(place.parameters, 1)}
        values = self._expanded(word, known, place)
        return [Argument(value, where if len(values) == 1 else _unplaced(where)) for value in values]

    def _expanded(self, word: Word, values: Mapping[str, str], place: _Place) -> list[str]:
        """The word as the shell passes it on, as long as its variables add few characters."""
        added = sum(len(values.get(piece.value, "")) for piece in word.pieces if piece.kind == "variable")
        return shell.expanded(word, values if not added or self._takes(added, place) else {})

    def _takes(self, characters: int, place: _Place) -> bool:
        """Whether so many more may be read, which it counts."""
        is_room = characters <= self.characters_left
        if is_room:
            self.characters_left -= characters
        else:
            self._leave_off(place)
        return is_room

    def _leave_off(self, place: _Place) -> None:
        """Not all of the text there is followed."""
        if place.text is not None:
            self.left_off.add(place.text)

    def _take_shell_references(self, text: str, script: shell.Script, spot: SourceRange) -> None:
        """The variables that the text does not set itself before it uses them."""
        assigned: dict[str, int] = {}
        for command in script.commands:
            for name, word in command.assignments if not command.words else ():
                assigned.setdefault(name, word.end)
            if command.words and command.words[0].literal in SETTERS:
                for word in command.words[1:]:
                    first = word.pieces[0] if word.pieces else None
                    name, is_given, _ = first.value.partition("=") if first and first.kind == "text" else ("", "", "")
                    if is_given:
                        assigned.setdefault(name, word.end)
        for reference in shell.references(text, script):
            if reference.start < assigned.get(reference.name, len(text)):
                where = _within(spot, reference.start, reference.end)
                self.uses.append(Use(reference.name, where, "shell", reference.default or None))

    def _read_shell(
        self, words: tuple[Argument, ...], place: _Place, document: HereDocument | None, spot: SourceRange | None
    ) -> None:
        """`bash -c TEXT`, `bash FILE`, `bash <<END`."""
        name, operands = program_name(words[0].value), shell_operands([word.value for word in words])
        rest = words[operands.start :]
        if operands.is_text and rest:
            self.read_text(rest[0].value, _text_spot(rest[0]), place.inside(f"{name} -c", rest[2:]))
        elif rest and rest[0].value != "-":
            if not self._read_file(rest[0].value, rest[1:], place):
                self.started.append(Started("unknown", (), {}, "", rest, (*place.through, name)))
        elif document and spot:
            self.read_text(document.text, spot, place.inside(name))
        else:  # what it is piped
            self.started.append(Started("unknown", (), {}, "", words, place.through))

    def _read_file(self, path: str, parameters: Sequence[Argument], place: _Place, *, is_sourced: bool = False) -> bool:
        """The script at `path`, if it can be seen; one that is sourced sets variables for what comes after."""
        file = self._file(path, place)
        if file is None:
            return False
        if place.opened.count(file.spot) > 1:
            return True
        inside = replace(place.inside(_title(file), parameters), opened=(*place.opened, file.spot))
        self.read_text(file.text, file.spot, replace(inside, values=place.values) if is_sourced else inside)
        return True

    def _read_program(self, found: Started, place: _Place, document: HereDocument | None, spot: SourceRange | None) -> None:
        if found.launcher == "unknown":
            file = self._file(found.name, place)
            if file and "python" in file.text.partition("\n")[0]:
                found = found._replace(launcher="python", kind="script")
            elif file:
                self._read_file(found.name, found.program[1:], place)
                return
            elif len(found.program) > 1 and is_recognised(found.program[1].value):
                self.read_words(found.program[1:], place.inside(program_name(found.name)))
                return
        self.started.append(found._replace(through=place.through))
        if found.program and program_name(found.program[0].value) in SHELLS:
            self._take_texts(found.program, place)
        if found.launcher != "python":
            return
        if found.kind == "code" and found.program:
            self._take_python(found.program[0].value, _text_spot(found.program[0]))
        elif found.kind == "input" and document and spot:
            self._take_python(document.text, spot)
        elif found.kind == "script" and (file := self._file(found.name, place)):
            self._take_python(file.text, file.spot)

    def _take_texts(self, words: tuple[Argument, ...], place: _Place) -> None:
        """The shell texts that a launcher starts; what they start, and the variables that they read, it tells itself."""
        inside = _Reader(self.files, read=self.read, characters_left=self.characters_left)
        inside.read_words(words, place.inside(program_name(words[0].value)))
        self.texts += inside.texts
        self.left_off |= inside.left_off
        self.characters_left = inside.characters_left

    def _take_python(self, code: str, spot: SourceRange) -> None:
        self.texts.append(Text("python", code, spot))
        for reading in python_code.readings(code):
            self.uses.append(Use(reading.name, _within(spot, reading.start, reading.end), "python", reading.default))

    def _file(self, path: str, place: _Place) -> File | None:
        if not self.files or not (path.startswith("/") or place.directory):
            return None
        return self.files.get(str(PurePosixPath("/", place.directory, path)))

    def _write_file(self, target: Word, document: HereDocument, spot: SourceRange, place: _Place) -> None:
        """A script that the text writes before it runs it."""
        name = " ".join(shell.expanded(target, place.values))
        end = document.start + len(document.text)
        self.files[str(PurePosixPath("/", place.directory, name))] = File(document.text, _within(spot, document.start, end))


def _within(spot: SourceRange, start: int, end: int) -> SourceRange:
    return spot._replace(start=spot.start + start, end=spot.start + end, is_item=False)


def _unplaced(spot: SourceRange) -> SourceRange:
    """Somewhere in there."""
    return spot._replace(is_exact=False)


def _text_spot(argument: Argument) -> SourceRange:
    """Where the text of an argument begins: behind its quote, if it is a part of a text itself."""
    spot = argument.spot
    if spot.is_item:
        return spot
    if spot.end - spot.start == len(argument.value) + 2:
        return spot._replace(start=spot.start + 1, end=spot.end - 1)
    return spot if spot.end - spot.start == len(argument.value) else _unplaced(spot)


def _title(file: File) -> str:
    return f"{file.spot.file}: {file.spot.path[-1]}" if file.spot.file else "a script"
