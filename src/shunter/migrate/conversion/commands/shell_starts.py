"""Where a shell text starts certain programs: behind what only starts another one, in substitutions, and in the texts that it
gives other shells or writes for them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

import msgspec
from msgspec.structs import replace

from shunter.api.late_patterns import late_pattern
from shunter.jobs.commands import shell
from shunter.jobs.commands.arguments import Argument, SourceRange, parsed
from shunter.jobs.commands.launcher_options import Syntax, syntax
from shunter.jobs.commands.shell_words import Lexer, Piece, Word
from shunter.jobs.commands.shells import SHELLS, shell_operands, text_words
from shunter.jobs.commands.wrappers import unwrapped
from shunter.migrate.conversion.commands.inline_python import code_words, quoted_code
from shunter.migrate.conversion.commands.python_code import is_python_code
from shunter.migrate.conversion.commands.shell_programs import CUTTERS, PRINTERS, SEARCHERS, TELLERS, program

_FEEDERS = {
    "xargs": syntax("a arg-file d delimiter E I L max-lines n max-args P max-procs s max-chars process-slot-var"),
    "parallel": syntax("a arg-file C colsep I j jobs N n max-args S sshlogin delay timeout retries joblog results tmpdir"),
    "shell": Syntax(),
}
"""Programs that start one with words from elsewhere, and the function of make that does: their options that take a value."""
_ESCAPED = late_pattern(r"\\(\$\(|\$\{[^}\n]*\}|\$\w+|[`\"])")
_DEEPEST = 12
"""Texts and substitutions within each other that are looked into."""


IsProgram = Callable[[Word], bool]
"""Whether the first word of a command names one of the programs."""


class Start(msgspec.Struct, frozen=True):
    """A command of the text, or of one within it."""

    words: Sequence[Word]
    """From the program on; their places are those of `text`."""
    text: str
    begin: int
    """Where `text` begins in the whole one."""
    is_own: bool
    """Whether the shell that reads the whole text runs it itself, in no substitution."""

    @property
    def place(self) -> int:
        """Where the program's name stands in the whole text, without a directory."""
        return self.begin + self.words[0].end - len(program(self.words[0]))


def starts(text: str, is_program: IsProgram, mention: re.Pattern[str]) -> Iterator[Start]:
    """The commands that start one of the programs. Texts within the text are read that have the mention."""
    yield from _starts(text, shell.script(text), is_program, mention, 0)


def program_words(words: Sequence[Word], is_program: IsProgram) -> Sequence[Word]:
    """The words from one of the programs on, where the command starts it behind others: `timeout 5 getent`, `xargs -n1 dig`; all
    words of another command."""
    rest = tuple(Argument(_value(word), SourceRange(start=number)) for number, word in enumerate(words))
    while rest:
        rest = unwrapped(rest).words
        if not rest or rest[0].value not in _FEEDERS:
            break
        rest = parsed(rest[1:], _FEEDERS[rest[0].value]).rest
    number = rest[0].spot.start if rest else 0
    return words[number:] if rest and is_program(words[number]) else words


def kept_texts(
    text: str, command: shell.Command, following: shell.Command | None, mention: re.Pattern[str]
) -> Iterator[tuple[str, int]]:
    """Shell texts with the mention that a command is given or writes for others, and where they begin: here-documents, quoted
    texts. `following` is the command that it is piped to. Not the text behind `-c`, nor what is only shown."""
    name = program(command.words[0]) if command.words else ""
    words = [word.literal or "" for word in command.words]
    is_run = following is not None and bool(following.words) and program(following.words[0]) in SHELLS
    is_kept = is_run or name == "tee" or any(not is_device(word) for word in command.outputs)
    document = command.input
    is_script = is_kept or (name in SHELLS and not shell_operands(words).is_text)
    if document and is_script and mention.search(document.text) and not is_python_code(document.text):
        yield (_unescaped(document.text) if document.is_replaced_in else document.text), document.start
    if (name in PRINTERS | TELLERS and not is_kept) or name in SEARCHERS | CUTTERS | {"git"}:
        return
    own = {*text_words(words), *code_words(words)}
    for number, word in enumerate(command.words[1:], 1):
        quote = text[word.start : word.start + 1]
        quoted = text[word.start + 1 : word.end - 1]
        if number not in own and quote in {"'", '"'} and word.literal and mention.search(quoted):
            yield (_unescaped(quoted) if quote == '"' else quoted), word.start + 1


def run_texts(words: Sequence[Word]) -> Iterator[int]:
    """The numbers of the words that are texts for a shell, which is given them to run."""
    literals = [word.literal or "" for word in words]
    if len(words) == 1 and " " in literals[0]:  # what another language gives a function that starts commands
        yield 0
        return
    yield from text_words(literals)
    if program(words[0]) == "eval" and len(words) == 2:
        yield 1
    if program(words[0]) == "watch":
        yield len(words) - 1


def is_device(word: Word) -> bool:
    """Whether what is written to the file is shown or lost."""
    return (word.literal or "").startswith("/dev/")


def _starts(text: str, script: shell.Script, is_program: IsProgram, mention: re.Pattern[str], depth: int) -> Iterator[Start]:
    if depth > _DEEPEST:
        return
    for number, command in enumerate(script.commands):
        words = program_words(command.words, is_program)
        if words and is_program(words[0]):
            yield Start(words, text, 0, is_own=not depth)
        if not words:
            continue
        following = script.commands[number + 1] if number + 1 < len(script.commands) else None
        is_piped = following is not None and shell.is_piped(text, command, following)
        inner = [quoted_code(text, words[one]) for one in run_texts(words)]
        inner += kept_texts(text, command, following if is_piped else None, mention)
        for one, begin in inner:
            if len(one) < len(text) and mention.search(one):
                for start in _starts(one, shell.script(one), is_program, mention, depth + 1):
                    yield replace(start, begin=start.begin + begin, is_own=False)
    for piece in _substitutions(text, script):
        if mention.search(piece.value):
            yield from _starts(text, shell.within(text, piece), is_program, mention, depth + 1)


def _substitutions(text: str, script: shell.Script) -> Iterator[Piece]:
    pieces = [piece for word in script.words for piece in word.pieces]
    for document in script.documents:
        if document.is_replaced_in:
            pieces += Lexer(text, document.start, document.start + len(document.text)).document_pieces()
    return (piece for piece in pieces if piece.kind == "command")


def _value(word: Word) -> str:
    """What is known of a word; of a setting its name."""
    assigned = shell.assignment(word)
    return word.literal or (f"{assigned[0]}=$" if assigned else "$")


def _unescaped(text: str) -> str:
    """A text as the shell passes it on, with as many characters: a space stands behind what was escaped."""
    return _ESCAPED.sub(r"\1 ", text)
