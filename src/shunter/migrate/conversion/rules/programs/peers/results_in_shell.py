"""What a shell text makes of the answers of look-ups in DNS, and of requests to the cluster: which ranks, and which numbers of
ranks or shards.

Values are followed in the order of the text: through variables and arrays, pipes, files that the text writes, functions, and
texts that it gives other shells or Python. A variable that is given something else holds it no more.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache

import msgspec
from msgspec.structs import replace

from shunter.api.late_patterns import late_pattern
from shunter.jobs.commands import shell
from shunter.jobs.commands.shell_words import Lexer, Piece, Word
from shunter.jobs.commands.shells import SETTERS
from shunter.migrate.conversion.commands.inline_python import code_words, quoted_code
from shunter.migrate.conversion.commands.reads import is_rank
from shunter.migrate.conversion.commands.shell_programs import (
    ASKERS,
    PRINTERS,
    RESOLVERS,
    RESOLVES,
    SEARCHERS,
    TELLERS,
    TESTS,
    program,
)
from shunter.migrate.conversion.commands.shell_starts import is_device, kept_texts, program_words, run_texts
from shunter.migrate.conversion.rules.programs.peers.cluster_results import answers_a_number, asks_cluster
from shunter.migrate.conversion.rules.programs.peers.peer_numbers import (
    NOTHING,
    SHARE,
    Derived,
    Files,
    Found,
    Values,
    answers,
    key_before,
    moved,
    numbers_of,
    only_shares,
    shares_of,
)
from shunter.migrate.conversion.rules.programs.peers.shell_control_flow import Conditions, Loops

_COUNTER = late_pattern(
    r"(?:wc|nl|uniq|(?:cat|grep)[ \t]+-\w*[cn]|.*\bNR(?![ \t]*==[ \t]*1\b)|jq\b.*\blength\b|python3?[ \t].*\blen\()", re.DOTALL
)
"""A command that counts lines or elements, or numbers them."""
_MATCHER = late_pattern(r"grep[ \t]")
_CONDITION = late_pattern(r"\b(?:if|elif|while|until)[ \t]+(?:![ \t]*)?\Z")
"""What stands before a program that is asked only whether it fails."""
_WHILE = late_pattern(r"\bwhile[ \t]+\Z")
"""What stands before one that is asked again until it fails: how often is a count."""
_DISTINCT = late_pattern(r"sort[ \t]+-\w*u")
_FIRST_LINE = late_pattern(
    r"(?:head|tail)[ \t]+-(?:n[ \t]*)?1\b|sed[ \t]+(?:-n[ \t]+)?[\"']?1[pq]|.*\bNR[ \t]*==[ \t]*1\b", re.DOTALL
)
_SETTING = late_pattern(r"(-{0,2}[A-Za-z][\w.-]*)=")
_ASKS = late_pattern(rf"\b(?:{RESOLVES}|{'|'.join(sorted(ASKERS))})[ \t]")
_DIVISOR = late_pattern(r"/[ \t]*\$?\{?([A-Za-z_]\w*)")
_REMAINDER = late_pattern(r"%[ \t]*\$?\{?([A-Za-z_]\w*)")
_READERS = frozenset({"read", "mapfile", "readarray"})
_NEAR = 80
"""Characters before a program in which its condition is begun."""
_DEEPEST = 12
_MOST_COMMANDS = 20_000
"""Commands that are looked into beside those of the text itself: those of a function each time it is called."""


ReadPython = Callable[[str], tuple[Found, Values]]
"""Says of Python code what `found_in_shell` says of a shell text."""


@lru_cache(maxsize=64)
def found_in_shell(text: str, in_python: ReadPython, files: Files = frozenset()) -> tuple[Found, Values]:
    """What the text makes of the answers of its look-ups, and what it prints of them; places are where the programs that look up
    are named. `in_python` reads the Python code that the text holds; `files` are what it may read. Never fails."""
    script = shell.script(text)
    reader = _Shell(text, Found(commands_left=_MOST_COMMANDS + 4 * len(script.commands)), in_python, outside=dict(files))
    printed = reader.run(script)
    for path, values in reader.files.items():
        if values:
            reader.found.files[path] = values | reader.found.files.get(path, NOTHING)
    return reader.found, printed


class _Shell(msgspec.Struct):
    text: str
    found: Found
    in_python: ReadPython
    known: dict[str, Values] = {}
    """What variables hold; of an array under its name."""
    files: dict[str, Values] = {}
    outside: Mapping[str, bool] = {}
    """Files that others have written, with whether a number is in them."""
    functions: Mapping[str, shell.Script] = {}
    calls: tuple[str, ...] = ()
    """The functions and substitutions around."""
    piped: Values = NOTHING
    """What the text as a whole is piped."""
    depth: int = 0
    """Of texts within each other."""
    distinct: set[int] = set()
    """The look-ups whose answers were brought to stand each once."""
    chosen: Values = NOTHING
    """What the condition of the command chooses by answers."""
    substituted: dict[int, Values] = {}
    """What the substitutions of the command that is read bring, by where they stand."""

    def run(self, script: shell.Script) -> Values:
        """What the commands print."""
        if not self.calls:
            self.functions = shell.functions(self.text)
        bodies = {} if self.calls else {one.start: name for name, body in self.functions.items() for one in body.commands}
        called = set[str]()
        printed, piped = NOTHING, self.piped
        loops, conditions = Loops(script), Conditions(self.text, script)
        for number, command in enumerate(script.commands):
            if command.start in bodies:
                continue
            self.found.commands_left -= 1
            if self.found.commands_left < 0:
                break
            following = script.commands[number + 1] if number + 1 < len(script.commands) else None
            over = self._loop(loops, command)
            called.add(program(command.words[0]) if command.words else "")
            self.chosen = conditions.chosen(command, self._values)
            out = self._command(command, piped, over)
            if command.words and program(command.words[0]) in SEARCHERS | TESTS:
                conditions.tested |= self._values(command.words) | piped
            is_piped = following is not None and shell.is_piped(self.text, command, following)
            for inner, begin in kept_texts(self.text, command, following if is_piped else None, _ASKS):
                self._within(inner, begin, NOTHING)
            if command.words and program(command.words[0]) in _READERS:
                loops.go_over(piped)
            elif answers(out) and _WHILE.search(self.text, max(command.start - _NEAR, 0), command.start):
                loops.go_over(out)
            written = {name: out for word in command.outputs if (name := word.literal)}
            if any(not is_device(word) for word in command.outputs):
                self.found.listed |= answers(out) & self.distinct
            self.files |= written
            piped = out if is_piped else NOTHING
            printed |= NOTHING if is_piped or written else out
        for name in [name for name in dict.fromkeys(bodies.values()) if name not in called]:
            self._call(name, {})
        if not script.commands:  # $(< FILE)
            printed |= self._values(script.words)
        return printed

    def _loop(self, loops: Loops, command: shell.Command) -> Values:
        """The answers that a loop around the command goes over."""
        for loop in loops.entered(command.start):
            values = self._values(loop.words)
            loops.over[loop.start] = frozenset(one for one in values if not one.is_number)
            if loop.name:
                self.found.listed |= answers(loops.over[loop.start]) & self.distinct
                self.known[loop.name] = frozenset(one for one in values if one.is_number)
        return loops.around(command.start)

    def _command(self, command: shell.Command, piped: Values, over: Values) -> Values:
        self.substituted.clear()
        for name, value in command.assignments:
            self._assign(name, value, over)
        words = program_words(command.words, _asks)
        if not words:
            return NOTHING
        name = program(words[0])
        given = piped | self._values(command.inputs)
        if command.input and command.input.is_replaced_in:
            given |= self._document(command)
        if name in SETTERS:
            for word in words[1:]:
                if assigned := shell.assignment(word):
                    self._assign(*assigned, over)
            return NOTHING
        if words[0].pieces[:1] and words[0].pieces[0].kind == "arithmetic":
            self._share(words[:1])
            if over:
                self._count_up(words[0].pieces[0].value, over)
        if name in _READERS | {"unset"}:
            for word in words[1:]:
                if word.literal and not word.literal.startswith("-"):
                    self._give(word.literal, given)
            return NOTHING
        if name in RESOLVERS:
            place = words[0].end - len(name)
            if self.text.startswith(name, place):
                self.found.places.add(place)
                return frozenset({Derived(place, is_number=False)})
        return self._asked(words) | self._started(command, words, given, over)

    def _asked(self, words: Sequence[Word]) -> Values:
        """What the cluster answers, if the command asks it."""
        name, written = program(words[0]), self.text[words[0].start : words[-1].end]
        place = words[0].end - len(name)
        if name not in ASKERS or not asks_cluster(written) or not self.text.startswith(name, place):
            return NOTHING
        self.found.requests.add(place)
        return frozenset({Derived(place, is_number=answers_a_number(written))})

    def _started(self, command: shell.Command, words: Sequence[Word], given: Values, over: Values) -> Values:
        name, written = program(words[0]), self.text[words[0].start : words[-1].end]
        arguments = self._values(words[1:])
        parameters = {str(number): self._values([word]) for number, word in enumerate(words[1:], 1)}
        if name == "set":
            self.known |= {**parameters, **{str(int(number) - 1): held for number, held in parameters.items() if number != "1"}}
            self.known |= {"@": arguments, "#": numbers_of(arguments)}
        elif name == "let" and over:
            self._count_up(" ".join(word.literal or "" for word in words[1:]), over)
        elif name == "printf" and len(words) > 2 and words[1].literal == "-v":
            self._give(words[2].literal or "", arguments)
        if name in TESTS | {"set", "let"}:
            self._share(words)
            return NOTHING
        if name == "split":
            self.found.name(SHARE, arguments)
        if name in self.functions:
            return self._call(name, {**parameters, "@": arguments, "#": numbers_of(arguments)}, given)
        if name not in PRINTERS | TELLERS or any(not is_device(word) for word in command.outputs):
            self._tell(words, given if name == "xargs" or command.words[0].literal == "xargs" else NOTHING)
        if name == "tee":
            self.files |= {word.literal: given for word in words[1:] if word.literal}
        made = given | arguments | self._nested(words, given)
        if _FIRST_LINE.match(written):
            return frozenset(one if one.is_number else one._replace(is_number=True, is_chosen=True) for one in made)
        if _DISTINCT.match(written):
            self.distinct |= answers(made)
        return self._counted(made, is_asked=bool(_MATCHER.match(written))) if _COUNTER.match(written) else made

    def _counted(self, made: Values, *, is_asked: bool = False) -> Values:
        """The values counted; `is_asked`, by a program that also says whether there are any, as a condition asks."""
        counted = answers(made)
        if is_asked:
            counted = {place for place in counted if not _CONDITION.search(self.text, max(place - _NEAR, 0), place)}
        self.found.counted |= counted
        return numbers_of(made)

    def _nested(self, words: Sequence[Word], given: Values) -> Values:
        """What other shells, and Python, print that are given a text."""
        literals = [word.literal or "" for word in words]
        printed = NOTHING
        if len(self.calls) <= _DEEPEST:
            for number in run_texts(words):
                text, begin = quoted_code(self.text, words[number])
                printed |= self._within(text, begin, given)
        for number in code_words(literals):
            code, begin = quoted_code(self.text, words[number])
            printed |= self._taken(*self.in_python(code), begin)
        return printed

    def _within(self, text: str, begin: int, given: Values) -> Values:
        """What a shell prints that is given the text that begins there."""
        if self.depth >= _DEEPEST or len(text) >= len(self.text):
            return NOTHING
        known = {name: moved(held, -begin) for name, held in self.known.items() if held}
        inner = _Shell(
            text,
            Found(commands_left=self.found.commands_left),
            self.in_python,
            known,
            {},
            self.outside,
            piped=moved(given, -begin),
            depth=self.depth + 1,
        )
        values = inner.run(shell.script(text))
        self.found.commands_left = inner.found.commands_left
        return self._taken(inner.found, values, begin)

    def _taken(self, inner: Found, printed: Values, begin: int) -> Values:
        """Takes over what was found in a text that begins there."""
        self.found.take(inner, begin)
        return moved(printed, begin)

    def _call(self, name: str, parameters: Mapping[str, Values], piped: Values = NOTHING) -> Values:
        if name in self.calls or len(self.calls) > _DEEPEST:
            return NOTHING
        before = {number: self.known.get(number, NOTHING) for number in parameters}
        inside = replace(self, calls=(*self.calls, name), piped=piped, substituted={})
        own = {name: self.known.get(name, NOTHING) for name in _locals(self.functions[name])}
        self.known |= parameters
        printed = inside.run(self.functions[name])
        self.known |= before | own
        return printed

    def _assign(self, name: str, word: Word, over: Values) -> None:
        values = self._values([word])
        before = self.known.get(name, NOTHING)
        if self.text.startswith("+=", word.start - 2):
            is_array = self.text.startswith("(", word.start)
            values = before | (over if is_array else numbers_of(over) if (word.literal or "").isdigit() else values)
        elif over and any(_is_sum(one) and name in re.findall(r"\w+", one.value) for one in word.pieces):
            values |= numbers_of(over)
        self._give(name, values | self.chosen if word.literal else values)

    def _count_up(self, expression: str, over: Values) -> None:
        if found := re.match(r"\s*(?:\+\+)?(\w+)\s*(?:\+\+|\+=|=.*\+|\Z)", expression):
            self._give(found[1], numbers_of(over))

    def _give(self, name: str, values: Values) -> None:
        self.known[name] = values
        self.found.name(name, values)

    def _share(self, words: Sequence[Word]) -> None:
        """A remainder that is compared: `[ $((i % N)) -eq $RANK ]`."""
        for piece in (one for word in words for one in word.pieces if one.kind == "arithmetic"):
            for match in _REMAINDER.finditer(piece.value):
                self.found.name(SHARE, self.known.get(match[1], NOTHING))

    def _tell(self, words: Sequence[Word], appended: Values) -> None:
        """Options, settings, and texts in which a name stands before a value."""
        option = ""
        for number, word in enumerate(words[1:], 1):
            first = word.pieces[0].value if word.pieces and word.pieces[0].kind == "text" else ""
            setting = _SETTING.match(first)
            is_option = first.startswith("-") and not setting
            values = self._values([word]) | (self.chosen if (word.literal or "").rpartition("=")[2].isdigit() else NOTHING)
            values |= appended if "{}" in self.text[word.start : word.end] else NOTHING
            if setting:
                self.found.name(setting[1], values)
                if re.search(rf"%\s*{re.escape(setting[1])}\b", self.text[word.end : words[-1].end]):  # awk -v n=$N 'NR % n == r'
                    self.found.name(SHARE, values)
            elif not is_option:
                self.found.name(option, values)
            self._keys(self.text[word.start : word.end], word.pieces, word.start)
            option = first if is_option else ""
            if number == len(words) - 1:
                self.found.name(option, appended)

    def _document(self, command: shell.Command) -> Values:
        document = command.input
        assert document is not None, "asked of a command with one"
        pieces = Lexer(self.text, document.start, document.start + len(document.text)).document_pieces()
        if any(not is_device(word) for word in command.outputs) or program(command.words[0]) == "tee":
            self._keys(document.text, pieces, document.start)
        return frozenset().union(*(self._of_piece(piece) for piece in pieces))

    def _keys(self, text: str, pieces: Sequence[Piece], start: int) -> None:
        for piece in pieces:
            if piece.kind != "text" and (values := self._of_piece(piece)):
                written = text[: max(piece.start - start, 0)]
                written = written.removesuffix("$((").removesuffix("$(").removesuffix("`")
                self.found.name(key_before(written.replace('\\"', '"')), values)

    def _values(self, words: Sequence[Word]) -> Values:
        return frozenset().union(*(self._of_piece(piece) for word in words for piece in word.pieces))

    def _of_piece(self, piece: Piece) -> Values:
        if piece.kind == "text":
            if piece.value not in self.files and piece.value in self.outside:
                self.found.read[piece.start] = piece.value
                return frozenset({Derived(piece.start, is_number=self.outside[piece.value])})
            return self.files.get(piece.value, NOTHING)
        if piece.kind == "variable":
            return self._of_variable(piece)
        if piece.kind == "command":
            return self._of_substitution(piece)
        inner = Lexer(self.text, piece.start, piece.start + len(piece.value)).document_pieces()
        held = frozenset().union(
            *(self._of_piece(one) for one in inner),
            *(self.known.get(name, NOTHING) for name in re.findall(r"[A-Za-z_]\w*", piece.value)),
        )
        divided = (self.known.get(name, NOTHING) for name in _DIVISOR.findall(piece.value))
        numbers = frozenset(one for one in held if one.is_number).union(*map(shares_of, divided))
        if (shares := only_shares(numbers)) and any(map(is_rank, re.findall(r"[A-Za-z_]\w*", piece.value))):
            self.found.name(SHARE, shares)
        return numbers

    def _of_variable(self, piece: Piece) -> Values:
        held = self.known.get(piece.value, NOTHING)
        if self.text.startswith("${#", piece.start):
            is_array = re.match(r"\$\{#(?:\w+\[[@*]\]|[@*])\}", self.text[piece.start : piece.start + 100])
            return self._counted(held) if is_array or piece.value == "#" else NOTHING
        at = self.text.find(piece.default, piece.start) if piece.default else -1
        if at >= 0:
            end = at + len(piece.default)
            default = [self._of_piece(one) for one in Lexer(self.text, at, end).document_pieces()]
            held = held.union(*default)
            self.found.name(piece.value, held)
        return held

    def _of_substitution(self, piece: Piece) -> Values:
        if len(self.calls) > _DEEPEST:
            return NOTHING
        if piece.start not in self.substituted:
            inside = replace(self, known={**self.known}, calls=(*self.calls, "$("), piped=NOTHING, substituted={})
            self.substituted[piece.start] = inside.run(shell.within(self.text, piece))
        return self.substituted[piece.start]


def _is_sum(piece: Piece) -> bool:
    return piece.kind == "arithmetic" or (piece.kind == "command" and piece.value.lstrip().startswith("expr "))


def _asks(word: Word) -> bool:
    return program(word) in RESOLVERS | ASKERS


def _locals(body: shell.Script) -> Iterator[str]:
    """The variables that a function has for itself."""
    for command in body.commands:
        if command.words and program(command.words[0]) in {"local", "declare", "typeset"}:
            for word in command.words[1:]:
                assigned = shell.assignment(word)
                yield assigned[0] if assigned else word.literal or ""
