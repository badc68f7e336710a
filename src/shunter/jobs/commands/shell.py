"""Reading shell text: which commands it runs, and which variables it mentions, with the place of each word.

It runs nothing and follows no branch: every command that might run is there, in the order of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from shunter.api.late_patterns import late_pattern
from shunter.jobs.commands.shell_words import REDIRECTIONS, HereDocument, Lexer, Operator, Piece, Word, matching

_NAME = late_pattern(r"[A-Za-z_][A-Za-z0-9_]*")
_ASSIGNMENT = late_pattern(r"([A-Za-z_][A-Za-z0-9_]*)(?:\[[^\]]*\])?\+?=")
_FUNCTION = late_pattern(
    r"(?<![\w$-])(?:function\s+(?P<named>[A-Za-z_][\w-]*)\s*(?:\(\s*\))?|(?P<name>[A-Za-z_][\w-]*)\s*\(\s*\))\s*\{(?=\s)"
)
_PASSED_OVER = frozenset({"if", "then", "else", "elif", "fi", "while", "until", "do", "done", "{", "}", "!", "esac", "coproc"})
"""Reserved words after which a command still begins."""
_PIPE = late_pattern(r"[^|]*(?<!\|)\|&?(?!\|)[^|]*", re.DOTALL)
_OPENING = frozenset({"if", "while", "until", "for", "select", "case"})
_CLOSING = frozenset({"fi", "done", "esac", "}"})
_JOINING = frozenset({"&&", "||", "|", "|&"})
"""Operators behind which a command may not run, or runs in a shell of its own."""
_SEPARATOR = "separator"
_DEEPEST_FUNCTION = 16
"""Functions within functions that are read by themselves, too; the commands of deeper ones count for those around them."""
_DEEPEST = 30
"""Substitutions within substitutions that are looked into; programs do not have more."""


class Command(NamedTuple):
    """One command as it is written: nothing in it has been replaced, and whether it is reached is not known."""

    assignments: tuple[tuple[str, Word], ...]
    """`NAME=value` before the command, or alone; the word is the value."""
    words: tuple[Word, ...]
    input: HereDocument | None = None
    """Its here-document, or the word behind `<<<` if the shell replaces nothing in it."""
    outputs: tuple[Word, ...] = ()
    """The files that its output goes to."""
    inputs: tuple[Word, ...] = ()
    """The files that it reads, and the words behind `<<<`."""
    is_certain: bool = True
    """Whether the shell that reads the text runs it whenever it comes there: in no branch, loop, function or subshell, nor
    behind `&&`, `||` or `|`."""

    @property
    def start(self) -> int:
        """Where its first word stands."""
        return min(word.start for word in (*self.words[:1], *(word for _, word in self.assignments[:1])))


class Loop(NamedTuple):
    """`for NAME in WORDS; do ...; done`, or `while ...; do ...; done < WORD`, which gives no name a value."""

    name: str
    words: tuple[Word, ...]
    start: int
    end: int
    """Where its body ends."""


class Script(NamedTuple):
    """What was read of a shell text. Substitutions are texts of their own, which `within` reads."""

    commands: tuple[Command, ...]
    words: tuple[Word, ...]
    """All words, also those of conditions and loops, in the order of the text."""
    documents: tuple[HereDocument, ...]
    loops: tuple[Loop, ...]
    """The loops over words, ordered by their ends."""
    reading_loops: tuple[Loop, ...]
    """The others, with the words that they read, by where they end."""


class Reference(NamedTuple):
    """A variable that some word mentions."""

    name: str
    start: int
    end: int
    default: str = ""


@lru_cache(maxsize=8)
def script(text: str) -> Script:
    """What the text says. Never fails. Several readers ask for one text."""
    return _Parser(Lexer(text)).script()


def within(text: str, piece: Piece) -> Script:
    """What the commands of a substitution say; offsets are those of the whole text."""
    return _Parser(Lexer(text, piece.start, piece.start + len(piece.value))).script()


def functions(text: str) -> dict[str, Script]:
    """What the bodies of the functions say that the text defines; offsets are those of the whole text."""
    found = {}
    around: list[int] = []
    for match in _FUNCTION.finditer(text):
        while around and around[-1] <= match.start():
            around.pop()
        if len(around) == _DEEPEST_FUNCTION:
            continue
        end = matching(text, match.end() - 1, len(text), has_comments=True)
        around.append(end)
        found[match["name"] or match["named"]] = _Parser(Lexer(text, match.end(), end - 1)).script()
    return found


def is_piped(text: str, command: Command, following: Command) -> bool:
    """Whether the command pipes what it prints to the one that follows."""
    words = (*command.words, *(word for _, word in command.assignments), *command.outputs, *command.inputs)
    return bool(_PIPE.fullmatch(text[max(word.end for word in words) : following.start]))


def references(text: str, read: Script) -> Iterator[Reference]:
    """Every mention of a variable in the text that was read, also within substitutions and here-documents."""
    for word in read.words:
        yield from _word_references(text, word)
    for document in read.documents:
        if document.is_replaced_in:
            end = document.start + len(document.text)
            for piece in Lexer(text, document.start, end).document_pieces():
                yield from _piece_references(text, piece)


def expanded(word: Word, values: Mapping[str, str]) -> list[str]:
    """The word as the shell passes it on: several words if an unquoted variable has spaces in it. What is not known stays written
    as a variable or substitution."""
    literal = word.literal
    if literal is not None:
        return [literal] if word.pieces else []
    fields: list[str] = []
    begun: str | None = None
    for piece in word.pieces:
        value = _piece_value(piece, values)
        if piece.kind != "variable" or piece.is_quoted or piece.value not in values:
            begun = (begun or "") + value
            continue
        parts = value.split()
        for place, part in enumerate(parts):
            if place:
                fields.append(begun or "")
                begun = None
            begun = (begun or "") + part
    return [*fields, begun] if begun is not None else fields


def _piece_value(piece: Piece, values: Mapping[str, str]) -> str:
    if piece.kind == "text":
        return piece.value
    if piece.kind == "variable":
        known = values.get(piece.value)
        return known if known is not None else piece.default or f"${piece.value}"
    return f"$(({piece.value}))" if piece.kind == "arithmetic" else f"$({piece.value})"


def _word_references(text: str, word: Word, depth: int = 0) -> Iterator[Reference]:
    for piece in word.pieces:
        if piece.kind != "text":
            yield from _piece_references(text, piece, depth)


def _piece_references(text: str, piece: Piece, depth: int = 0) -> Iterator[Reference]:
    if depth > _DEEPEST:
        return
    if piece.kind == "variable":
        braced = text.startswith("${", piece.start)
        end = matching(text, piece.start + 1, len(text)) if braced else piece.start + 1 + len(piece.value)
        yield Reference(piece.value, piece.start, end, piece.default)
        inside = text.find(piece.default, piece.start + 2, end) if piece.default else -1
        if inside >= 0:
            for inner in Lexer(text, inside, end - 1).document_pieces():
                yield from _piece_references(text, inner, depth + 1)
    elif piece.kind == "arithmetic":
        for match in _NAME.finditer(piece.value):
            yield Reference(match[0], piece.start + match.start(), piece.start + match.end())
    elif piece.kind == "command":
        for word in within(text, piece).words:
            yield from _word_references(text, word, depth + 1)


class _Parser:
    """Sorts tokens into commands. `_skipped_to` is what ends a part of the text that is no command: the head of a loop, the
    patterns of a case, a condition."""

    def __init__(self, lexer: Lexer) -> None:
        self._lexer = lexer
        self._commands: list[Command] = []
        self._input_places: dict[int, int] = {}
        """Where the here-document of a command is announced, by number of the command."""
        self._here_strings: dict[int, HereDocument] = {}
        """The word behind `<<<` that a command reads, by number of the command."""
        self._words: list[Word] = []
        self._assignments: list[tuple[str, Word]] = []
        self._outputs: list[Word] = []
        self._array: list[Word] | None = None
        """The elements so far, within `NAME=(...)`."""
        self._skipped_to = ""
        self._cases = 0
        self._redirection = ""
        self._head: list[Word] = []
        """The words of what begins with `for`, up to the `do`."""
        self._open: list[tuple[list[Word], int]] = []
        """The heads of the loops around, and where their bodies begin."""
        self._loops: list[Loop] = []
        self._reading_loops: list[Loop] = []
        self._is_behind_loop = False
        self._inputs: list[Word] = []
        self._is_coprocess = False
        self._around: list[bool] = []
        """Whether it is uncertain that the commands run within each of what is open: not in a mere group, `{ ...; }`."""
        self._is_joined = self._is_just_joined = self._is_function = False

    def script(self) -> Script:
        mentioned = []
        for token in self._lexer.tokens():
            if isinstance(token, Operator):
                self._take_operator(token)
            else:
                mentioned.append(token)
                self._take_word(token)
        self._finish()
        documents = self._lexer.documents
        for number, place in self._input_places.items():
            self._commands[number] = self._commands[number]._replace(input=documents.get(place))
        for number, text in self._here_strings.items():
            self._commands[number] = self._commands[number]._replace(input=text)
        return Script(
            tuple(self._commands), tuple(mentioned), tuple(documents.values()), tuple(self._loops), tuple(self._reading_loops)
        )

    def _take_operator(self, token: Operator) -> None:
        operator = token.value
        if self._takes_array(token):
            return
        self._redirection = operator if operator in REDIRECTIONS else ""
        if self._redirection:
            return
        self._is_behind_loop = False
        if self._cases and operator in {";;", ";&"}:
            self._finish()
            self._skipped_to = ")"
        elif self._skipped_to:
            is_end = operator == self._skipped_to or (self._skipped_to == _SEPARATOR and operator in {";", "\n"})
            self._skipped_to = "" if is_end else self._skipped_to
        elif operator == "(" and len(self._words) == 1 and not self._assignments:
            self._words.clear()  # the name of a function that is defined
            self._is_function = True
        else:
            self._finish()
            self._join(operator)

    def _join(self, operator: str) -> None:
        if operator == "(":
            self._around.append(True)
            self._is_function = False
        elif operator == ")":
            if self._around and not self._is_function:
                self._around.pop()
        elif operator != "\n" or not (self._is_just_joined or self._is_function):
            self._is_joined = self._is_just_joined = operator in _JOINING

    def _takes_array(self, token: Operator) -> bool:
        """Whether the operator begins or ends an array, or stands in one."""
        if self._array is None:
            name, value = self._assignments[-1] if self._assignments and not self._words else ("", None)
            if token.value == "(" and value is not None and not value.pieces and value.end == token.start:
                self._array = []
            return self._array is not None
        if token.value == ")":
            name, value = self._assignments.pop()
            blank = Piece("text", " ", value.end)
            pieces = [piece for word in self._array for piece in (*word.pieces, blank)][:-1]
            self._assignments.append((name, Word(tuple(pieces), value.start, token.start)))
            self._array = None
        return True

    def _take_word(self, word: Word) -> None:
        literal = (word.literal or "") if word.is_plain else ""
        if self._array is None and not self._redirection:
            self._nest(literal)
        if self._array is not None:
            self._array.append(word)
        elif self._redirection:
            self._redirect(word)
        elif self._skipped_to:
            self._head.append(word)
            self._skip(literal)
        elif self._is_coprocess and literal == "{" and len(self._words) == 1:
            self._words.clear()  # the name of the coprocess
        elif self._words:
            self._words.append(word)
        elif literal in _PASSED_OVER:
            self._is_coprocess = literal == "coproc"
            self._take_body(word, literal)
            self._cases -= literal == "esac" and self._cases > 0
        elif literal in {"for", "select", "case", "function", "[["}:
            self._head = [word]
            self._skipped_to = {"case": "in", "function": "{", "[[": "]]"}.get(literal, _SEPARATOR)
            self._cases += literal == "case"
        elif assigned := assignment(word):
            self._assignments.append(assigned)
        else:
            self._words.append(word)

    def _nest(self, literal: str) -> None:
        """Opens or closes what stands around commands, where a word does."""
        if self._skipped_to:
            if literal == self._skipped_to == "{":
                self._around.append(True)
            elif self._skipped_to == ")" and literal == "esac" and self._around:
                self._around.pop()
        elif not self._words and literal in _OPENING:
            self._around.append(True)
        elif literal == "{" and len(self._words) <= self._is_coprocess:
            self._around.append(self._is_uncertain() or self._is_function or self._is_coprocess)
        elif not self._words and literal in _CLOSING and self._around:
            self._around.pop()
        self._is_just_joined = self._is_function = False

    def _is_uncertain(self) -> bool:
        return self._is_joined or (bool(self._around) and self._around[-1])

    def _take_body(self, word: Word, reserved: str) -> None:
        """Begins or ends the body of a loop, where the reserved word does."""
        if reserved == "do":
            self._open.append((self._head, word.end))
        elif reserved == "done" and self._open:
            head, start = self._open.pop()
            if [one.literal for one in (*head[:1], *head[2:3])] == ["for", "in"]:
                self._loops.append(Loop(head[1].literal or "", tuple(head[3:]), start, word.start))
            else:
                self._reading_loops.append(Loop("", (), start, word.start))
                self._is_behind_loop = True
        self._head = []

    def _skip(self, literal: str) -> None:
        if self._skipped_to == ")" and literal == "esac":
            self._skipped_to, self._cases = "", self._cases - 1
        elif literal == self._skipped_to:
            self._skipped_to = ")" if literal == "in" else ""

    def _redirect(self, word: Word) -> None:
        if self._redirection in {"<<", "<<-"}:
            self._lexer.announce(word, tabs_go=self._redirection == "<<-")
            self._input_places[len(self._commands)] = word.start
        elif self._redirection in {"<", "<<<"}:
            self._take_input(word)
        elif ">" in self._redirection and self._redirection != ">&":
            self._outputs.append(word)
        self._redirection = ""

    def _take_input(self, word: Word) -> None:
        if self._is_behind_loop:
            loop = self._reading_loops[-1]
            self._reading_loops[-1] = loop._replace(words=(*loop.words, word))
            return
        self._inputs.append(word)
        if self._redirection == "<<<" and word.literal is not None:
            is_quoted = word.end - word.start == len(word.literal) + 2
            self._here_strings[len(self._commands)] = HereDocument(word.literal, word.start + is_quoted, is_replaced_in=False)

    def _finish(self) -> None:
        if self._words or self._assignments:
            command = Command(tuple(self._assignments), tuple(self._words), None, tuple(self._outputs), tuple(self._inputs))
            self._commands.append(command._replace(is_certain=not self._is_uncertain()))
        else:
            self._input_places.pop(len(self._commands), None)
            self._here_strings.pop(len(self._commands), None)
        self._is_coprocess = False
        for collected in (self._words, self._assignments, self._outputs, self._inputs):
            collected.clear()


def assignment(word: Word) -> tuple[str, Word] | None:
    """`NAME=value` as name and value; None for any other word."""
    first = word.pieces[0] if word.pieces else None
    if first is None or first.kind != "text" or first.is_quoted or not (match := _ASSIGNMENT.match(first.value)):
        return None
    rest = Piece("text", first.value[match.end() :], first.start + match.end())
    pieces = (rest, *word.pieces[1:]) if rest.value else word.pieces[1:]
    return match[1], Word(pieces, first.start + match.end(), word.end)
