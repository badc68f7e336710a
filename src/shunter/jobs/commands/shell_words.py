"""The words of shell text, with the place of each: quotes, escapes, variables, substitutions, here-documents, comments.

POSIX shell with bash's common additions. Any text can be read; of one that is no shell the result says little.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Literal, NamedTuple

from shunter.api.late_patterns import late_pattern

PieceKind = Literal["text", "variable", "arithmetic", "command"]
REDIRECTIONS = frozenset({"&>>", "<<<", "<<-", "&>", "<<", ">>", ">&", "<&", "<>", ">|", "<", ">"})

_PARAMETER = late_pattern(r"[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?$!-]")
_OPERATORS = REDIRECTIONS | {"&&", "||", ";;", ";&", "|&", "\n", ";", "&", "|", "(", ")"}
_OPERATOR = late_pattern(rf"(?![<>]\()(?:{'|'.join(map(re.escape, sorted(_OPERATORS, key=len, reverse=True)))})")
"""At `<(` and `>(` begins a substitution instead."""
_BEGIN_OPERATORS = frozenset(operator[0] for operator in _OPERATORS)
_END_WORDS = _BEGIN_OPERATORS | {*" \t\r"}
_ORDINARY = late_pattern(r"[A-Za-z0-9_./:=,@%+~^*?\[\]{}!-]+")
_ARITHMETIC_MARK = late_pattern(r"[()\n;]")
_IN_BRACKETS = r"""\\.?|'[^']*'?|"(?:[^"\\]+|\\.)*+"?"""
"""What holds no bracket: an escaped character, and what stands in quotes."""
_COMMENT = r"(?<=\s)#[^\n]*"
_MARKS = {
    "(": (
        late_pattern(rf"(?s:{_IN_BRACKETS})|\(|(?P<closing>\))"),
        late_pattern(rf"{_COMMENT}|(?s:{_IN_BRACKETS})|\(|(?P<closing>\))"),
    ),
    "{": (
        late_pattern(rf"(?s:{_IN_BRACKETS})|\{{|(?P<closing>\}})"),
        late_pattern(rf"{_COMMENT}|(?s:{_IN_BRACKETS})|\{{|(?P<closing>\}})"),
    ),
}
"""Where brackets open and close, by the opening one: without comments, and with them."""
_ORDINARY_IN_QUOTES = late_pattern(r"[^\"\\$`]+")
"""Characters that stand for themselves."""


class Piece(NamedTuple):
    """A part of a word: plain text, or something that the shell replaces."""

    kind: PieceKind
    value: str
    """The text without its quotes; a variable's name; the text between the parentheses."""
    start: int
    """Where it begins in the text: text behind its quote, a variable at its `$`."""
    is_quoted: bool = False
    default: str = ""
    """`0` in `${RANK:-0}`."""


class Word(NamedTuple):
    """One word with its quotes; offsets are those of the whole text, `end` is behind its last character."""

    pieces: tuple[Piece, ...]
    start: int
    end: int

    @property
    def literal(self) -> str | None:
        """Its value, if the shell replaces nothing in it."""
        for piece in self.pieces:
            if piece.kind != "text":
                return None
        return "".join([piece.value for piece in self.pieces])

    @property
    def is_plain(self) -> bool:
        """Whether it is written without quotes, as reserved words must be."""
        return not [piece for piece in self.pieces if piece.kind != "text" or piece.is_quoted]


class HereDocument(NamedTuple):
    """The lines of `<< END`, without the one that ends them; `start` is where they begin in the whole text."""

    text: str
    start: int
    is_replaced_in: bool
    """Whether the shell replaces variables in it: its delimiter is not quoted."""


class Operator(NamedTuple):
    """`&&`, `|`, `>`, a line break: what separates words without being one."""

    value: str
    start: int


class Lexer:
    """Reads text[start:end]; offsets are those of the whole text."""

    def __init__(self, text: str, start: int = 0, end: int | None = None) -> None:
        self._text, self._at, self._end = text, start, len(text) if end is None else end
        self._awaited: list[_Announcement] = []
        """Here-documents of this line, whose text begins on the next one."""
        self.documents: dict[int, HereDocument] = {}
        """The here-documents, by the position of the word that ends them."""

    def tokens(self) -> Iterator[Word | Operator]:
        """The words and operators. All here-documents are known when the last one has been taken."""
        yield from self._tokens()
        self._read_documents()

    def document_pieces(self) -> list[Piece]:
        """The pieces of a text in which only variables and substitutions count."""
        pieces: list[Piece] = []
        while self._at < self._end:
            if self._text[self._at] in "$`" and (piece := self._replaced(is_quoted=True)):
                pieces.append(piece)
            elif self._text[self._at] == "\\":
                self._at += 2
            else:
                self._at += 1
        return pieces

    def announce(self, delimiter: Word, *, tabs_go: bool) -> None:
        """A here-document follows, up to a line that is the delimiter."""
        written = self._text[delimiter.start : delimiter.end]
        value = delimiter.literal if delimiter.literal is not None else written
        is_replaced_in = delimiter.is_plain and "\\" not in written
        self._awaited.append(_Announcement(value, is_replaced_in, tabs_go, delimiter.start))

    def _read_documents(self) -> None:
        for delimiter, is_replaced_in, tabs_go, place in self._awaited:
            start = self._at
            while True:
                newline = self._text.find("\n", self._at, self._end)
                stop = self._end if newline < 0 else newline
                line = self._text[self._at : stop]
                is_end = (line.lstrip("\t") if tabs_go else line) == delimiter
                body_end = self._at if is_end else self._end
                self._at = min(stop + 1, self._end)
                if is_end or newline < 0:
                    self.documents[place] = HereDocument(self._text[start:body_end], start, is_replaced_in)
                    break
        self._awaited.clear()

    def _tokens(self) -> Iterator[Word | Operator]:
        text = self._text
        while self._at < self._end:
            character = text[self._at]
            if character in " \t\r":
                self._at += 1
            elif character == "\\" and text.startswith("\\\n", self._at):
                self._at += 2
            elif character == "#":
                newline = text.find("\n", self._at, self._end)
                self._at = self._end if newline < 0 else newline
            elif character == "(" and text.startswith("((", self._at) and (closed := self._arithmetic_end(self._at + 2)):
                yield Word((Piece("arithmetic", text[self._at + 2 : closed], self._at + 2),), self._at, closed + 2)
                self._at = closed + 2
            elif character in _BEGIN_OPERATORS and (operator := self._operator()):
                start, self._at = self._at, self._at + len(operator)
                yield Operator(operator, start)
                if operator == "\n":
                    self._read_documents()
            else:
                word = self._word()
                if not self._is_descriptor(word):
                    yield word

    def _operator(self) -> str:
        found = _OPERATOR.match(self._text, self._at)
        return found[0] if found else ""

    def _is_process_substitution(self) -> bool:
        return self._text.startswith(("<(", ">("), self._at)

    def _is_descriptor(self, word: Word) -> bool:
        """`2` in `2>&1`."""
        is_before = self._at < self._end and self._text[self._at] in "<>"
        return is_before and self._text[word.start : word.end].isdigit()

    def _word(self) -> Word:
        text, start = self._text, self._at
        pieces: list[Piece] = []
        while self._at < self._end:
            character = text[self._at]
            if character in _END_WORDS and (character not in _BEGIN_OPERATORS or self._operator()):
                break
            pieces += self._unquoted_pieces()
        return Word(tuple(pieces if len(pieces) < 2 else _merged(pieces)), start, self._at)

    def _unquoted_pieces(self) -> list[Piece]:
        text, start = self._text, self._at
        if run := _ORDINARY.match(text, start, self._end):
            self._at = run.end()
            return [Piece("text", run[0], start)]
        character = text[start]
        if character == "\\":
            self._at = min(start + 2, self._end)
            escaped = text[start + 1 : self._at]
            return [Piece("text", escaped, start + 1)] if escaped not in {"", "\n"} else []
        if character == "'":
            return [self._single_quoted(start + 1)]
        if character == '"':
            return self._double_quoted(start + 1)
        if text.startswith("$'", start):
            return [self._single_quoted(start + 2)]
        if text.startswith('$"', start):
            return self._double_quoted(start + 2)
        if character in "$`" and (piece := self._replaced(is_quoted=False)):
            return [piece]
        if self._is_process_substitution():
            return [self._substitution(start + 2, is_quoted=False)]
        self._at = start + 1
        return [Piece("text", character, start)]

    def _single_quoted(self, start: int) -> Piece:
        closing = self._text.find("'", start, self._end)
        stop = self._end if closing < 0 else closing
        self._at = min(stop + 1, self._end)
        return Piece("text", self._text[start:stop], start, is_quoted=True)

    def _double_quoted(self, start: int) -> list[Piece]:
        self._at = start
        pieces = [Piece("text", "", start, is_quoted=True)]
        while self._at < self._end and self._text[self._at] != '"':
            character = self._text[self._at]
            if character == "\\" and self._text[self._at + 1 : self._at + 2] in {"$", "`", '"', "\\", "\n"}:
                escaped = self._text[self._at + 1]
                if escaped != "\n":
                    pieces.append(Piece("text", escaped, self._at + 1, is_quoted=True))
                self._at += 2
            elif character in "$`" and (piece := self._replaced(is_quoted=True)):
                pieces.append(piece)
            else:
                run = _ORDINARY_IN_QUOTES.match(self._text, self._at, self._end)
                stop = run.end() if run else self._at + 1
                pieces.append(Piece("text", self._text[self._at : stop], self._at, is_quoted=True))
                self._at = stop
        self._at = min(self._at + 1, self._end)
        return pieces

    def _replaced(self, *, is_quoted: bool) -> Piece | None:
        """What begins at `$` or a backquote; None, and nothing taken, if it stands for itself."""
        text, start = self._text, self._at
        if text[start] == "`":
            closing = text.find("`", start + 1, self._end)
            stop = self._end if closing < 0 else closing
            self._at = min(stop + 1, self._end)
            return Piece("command", text[start + 1 : stop], start + 1, is_quoted)
        if text.startswith("$((", start) and (closed := self._arithmetic_end(start + 3)):
            self._at = closed + 2
            return Piece("arithmetic", text[start + 3 : closed], start + 3, is_quoted)
        if text.startswith("$(", start):
            return self._substitution(start + 2, is_quoted=is_quoted)
        if text.startswith("${", start):
            stop = matching(text, start + 1, self._end)
            self._at = stop
            return _parameter(text, start, stop, is_quoted=is_quoted)
        match = _PARAMETER.match(text, start + 1, self._end)
        if match is None:
            return None
        name = match[0][0] if match[0].isdigit() else match[0]
        self._at = start + 1 + len(name)
        return Piece("variable", name, start, is_quoted)

    def _substitution(self, start: int, *, is_quoted: bool) -> Piece:
        stop = matching(self._text, start - 1, self._end)
        self._at = stop
        is_closed = self._text[stop - 1 : stop] == ")" and stop > start
        return Piece("command", self._text[start : stop - 1 if is_closed else stop], start, is_quoted)

    def _arithmetic_end(self, start: int) -> int:
        """Where the `))` begins that closes what begins at `start`, behind a `(`; 0 if there is none."""
        place = _parentheses(self._text).get(start - 1, 0)
        return place if place and self._text.startswith("))", place) and place + 2 <= self._end else 0


@lru_cache(maxsize=8)
def _parentheses(text: str) -> Mapping[int, int]:
    """Where each `(` is closed that holds no end of a command: read once for all of them."""
    found: dict[int, int] = {}
    opened: list[int] = []
    ended: set[int] = set()
    for match in _ARITHMETIC_MARK.finditer(text):
        if match[0] == "(":
            opened.append(match.start())
        elif match[0] != ")":
            ended.update(opened[-1:])
        elif opened and (opening := opened.pop()) not in ended:
            found[opening] = match.start()
    return found


class _Announcement(NamedTuple):
    delimiter: str
    is_replaced_in: bool
    tabs_go: bool
    place: int


def _merged(pieces: list[Piece]) -> Iterator[Piece]:
    """Neighbouring characters of plain text as one piece, as long as they stand side by side in the text as well."""
    held: Piece | None = None
    for piece in pieces:
        if held and piece.kind == held.kind == "text" and _continues(held, piece):
            held = held._replace(value=held.value + piece.value)
            continue
        if held:
            yield held
        held = piece
    if held:
        yield held


def _continues(held: Piece, piece: Piece) -> bool:
    return piece.is_quoted == held.is_quoted and piece.start == held.start + len(held.value)


def matching(text: str, opening: int, end: int, *, has_comments: bool = False) -> int:
    """The place behind the bracket that closes the one at `opening`, quotes respected; `end` if there is none. `has_comments`:
    commands stand there, and comments, in which a quote is an apostrophe."""
    return min(_brackets(text, text[opening], has_comments).end_of(opening), end)


@lru_cache(maxsize=16)
def _brackets(text: str, opening: str, has_comments: bool) -> _Brackets:
    return _Brackets(text, opening, has_comments=has_comments)


class _Brackets:
    """Where the brackets of one kind close. A bracket within another one is found with it, so that no part of a text of nothing
    but brackets is read for each of them."""

    def __init__(self, text: str, opening: str, *, has_comments: bool) -> None:
        self._text, self._opening = text, opening
        self._mark = _MARKS[opening][has_comments]
        self._ends: dict[int, int] = {}

    def end_of(self, opening: int) -> int:
        """The place behind what closes the one at `opening`; behind the text if there is none."""
        if opening not in self._ends:
            self._read_from(opening)
        return self._ends[opening]

    def _read_from(self, place: int) -> None:
        opened: list[int] = []
        unclosed = len(self._text) + 1
        while match := self._mark.search(self._text, place):
            place = match.end()
            if match[0] == self._opening:
                known = self._ends.get(match.start(), 0)
                if known == unclosed:
                    break
                if known:
                    place = known
                else:
                    opened.append(match.start())
            elif match.lastgroup:
                self._ends[opened.pop()] = place
                if not opened:
                    return
        self._ends.update(dict.fromkeys(opened, unclosed))


def _parameter(text: str, start: int, stop: int, *, is_quoted: bool) -> Piece:
    """`${...}` as a piece: its name, and the value that it has by default."""
    inside = text[start + 2 : stop].removesuffix("}")
    name = _PARAMETER.match(inside.lstrip("!#") or inside)
    rest = inside[inside.find(name[0]) + len(name[0]) :] if name else ""
    default = next((rest.removeprefix(mark) for mark in (":-", "-", ":=", "=") if rest.startswith(mark)), "")
    return Piece("variable", name[0] if name else inside, start, is_quoted, default)
