"""What the words of a shell text hold of the pod: the host name, or a variable that tells of it.

What a command substitution brings is asked of who reads commands (`shell_reads`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property

import msgspec
from msgspec.structs import replace

from shunter.api.late_patterns import late_pattern
from shunter.jobs.commands.shell_words import Lexer, Piece, Word, matching
from shunter.migrate.conversion.commands.reads import HOST_NAME, UNREAD, Read, TextLines, paths, sought, takes_last_number

_KEPT_WHOLE = late_pattern(r":?[-=?]|\^|,|@|%%?[,:; ]\*|##?\*[,:; ]|//?\\?[,:; ]/")
"""Operators of `${NAME...}` that do not cut a name: defaults, upper and lower case, what follows a comma or a colon."""
_IN_PIECES = late_pattern(r"(?:\b(?P<target>[A-Za-z_]\w*)=[\"']?)?(?:\\\$|'\$')\{?[\"']*\$[\w{(]")
"""How `eval` gets the name of a variable in pieces, and what it gives the value to: `me=\\$$a$b`."""
_SUBSCRIPT = late_pattern(r"\[([^\]\n]*\$[^\]\n]*)\]")
_PROMPTS = ("\\h", "\\H")
"""What stands for the host name in a prompt of bash, which `${NAME@P}` expands."""
_DEEPEST = 12


class Value(msgspec.Struct, frozen=True):
    """What a word holds of the pod."""

    name: str
    start: int
    is_cut: bool = False
    is_last_number: bool = False
    is_named: bool = True
    """Whether it is asked for by its name, and not looked for among all variables."""


class ShellText(msgspec.Struct, dict=True):
    """A text that is read, and what is known of it so far."""

    text: str
    known: dict[str, Value]
    """Variables that hold a value of the pod."""
    substituted: Callable[[ShellText, Piece, int], Iterator[Value]]
    """What a command substitution brings."""
    files: dict[str, Value] = {}
    """Files that the text has written one to."""
    lists: set[str] = set()
    """Files that it has written all variables to."""
    functions: dict[str, Value] = {}
    """Functions of the text that print one."""
    cutters: set[str] = set()
    """Functions that take apart what they are given."""
    found: list[Read] = []

    @cached_property
    def lines(self) -> TextLines:
        """Its lines."""
        return TextLines(self.text)


def values_of(reading: ShellText, word: Word, depth: int) -> Iterator[Value]:
    """The values in a word, in order; `depth` is the number of substitutions around it."""
    for piece in word.pieces:
        yield from values_of_piece(reading, piece, depth)
    if word.literal is not None and len(word.pieces) > 1:  # /etc/"hostname"
        yield from (Value(name, word.start) for name, _ in paths(word.literal))


def values_of_piece(reading: ShellText, piece: Piece, depth: int) -> Iterator[Value]:
    """The values of a part of a word; what is nested too deeply is reported as unread."""
    if depth > _DEEPEST:
        reading.found.append(Read(UNREAD, piece.start, decides=False))
        return
    if piece.kind == "text":
        for name, start in paths(piece.value):
            yield Value(name, piece.start + start)
        for path, value in reading.files.items():
            if (at := piece.value.find(path)) >= 0:
                yield replace(value, start=piece.start + at)
    elif piece.kind == "variable":
        yield from _of_variable(reading, piece, depth)
    elif piece.kind == "arithmetic":
        for match in re.finditer(r"[A-Za-z_][A-Za-z0-9_]*", piece.value):
            if known := reading.known.get(match[0]):
                yield Value(known.name, piece.start + match.start(), True, known.is_last_number)
        for inner in Lexer(reading.text, piece.start, piece.start + len(piece.value)).document_pieces():
            if inner.kind != "variable":
                yield from (cut_value(value, piece.value) for value in values_of_piece(reading, inner, depth + 1))
    elif piece.kind == "command":
        yield from reading.substituted(reading, piece, depth)


def _of_variable(reading: ShellText, piece: Piece, depth: int) -> Iterator[Value]:
    known = reading.known.get(piece.value)
    if not reading.text.startswith("${", piece.start):
        if known:
            yield Value(known.name, piece.start, known.is_cut, known.is_last_number)
        return
    end = matching(reading.text, piece.start + 1, len(reading.text))
    inside = reading.text[piece.start + 2 : end - 1]
    if inside.startswith("!"):
        known = next(map(reading.known.get, sought(reading.known, reading.text)), None)
        inside = inside[1:]
    operator = inside.partition(piece.value)[2] if piece.value and not inside.startswith("#") else ""
    is_cut = bool(operator) and operator not in {"[0]", "[@]"} and not _KEPT_WHOLE.match(operator)
    if subscript := _SUBSCRIPT.match(operator):  # ${RANKS[$HOSTNAME]}
        at = reading.text.find("[", piece.start) + 1
        for inner in Lexer(reading.text, at, at + len(subscript[1])).document_pieces():
            yield from (cut_value(value, inside) for value in values_of_piece(reading, inner, depth + 1))
    if known:
        is_last = takes_last_number(inside) if is_cut else known.is_last_number
        yield Value(known.name, piece.start, known.is_cut or is_cut, is_last)
    elif operator == "@P" and any(prompt in reading.text for prompt in _PROMPTS):
        yield Value(HOST_NAME, piece.start)
    elif piece.default:
        at = reading.text.find(piece.default, piece.start, end)
        for inner in Lexer(reading.text, at, end - 1).document_pieces() if at >= 0 else ():
            yield from values_of_piece(reading, inner, depth + 1)


def put_together(reading: ShellText, words: Sequence[Word]) -> Value | None:
    """The variable whose name `eval` gets in pieces; what is given its value is known from here on."""
    match = _IN_PIECES.search(reading.text, words[0].start, words[-1].end)
    variable = next(iter(sought(reading.known, reading.text)), None) if match else None
    if match is None or variable is None:
        return None
    value = replace(reading.known[variable], start=words[0].start)
    if match["target"]:
        reading.known[match["target"]] = replace(value, start=-1)
    return value


def cut_value(value: Value, text: str) -> Value:
    """A part of the value, taken by what the text says."""
    return Value(value.name, value.start, True, value.is_last_number or takes_last_number(text))


def written(reading: ShellText, word: Word) -> str:
    """The word as it stands in the text, quotes included."""
    return reading.text[word.start : word.end]
