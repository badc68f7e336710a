"""Reading shell text: where it takes the host name or a variable, and what it does with it.

Values are followed through assignments, in the order of the text; functions and files are not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from shunter.migrate.launch import python_reads, shell
from shunter.migrate.launch.inline_python import code_words
from shunter.migrate.launch.reads import HOST_NAME, HOSTS_FILE, OF_HOST_NAME, Read, is_rank, takes_last_number
from shunter.migrate.launch.shell_words import Lexer, Piece, Word, matching

_SETTERS = frozenset({"export", "declare", "typeset", "local", "readonly"})
_TESTS = frozenset({"[", "test", "[["})
_CUTTERS = frozenset({
    "awk", "cut", "egrep", "expr", "fgrep", "gawk", "grep", "head", "mawk", "perl", "python", "python3", "rev", "sed", "tail",
    "tr",
})  # fmt: skip
_LOOK_UPS = frozenset({"awk", "egrep", "expr", "fgrep", "gawk", "grep", "let", "mawk"})
"""Programs to which a value is something to look for, or to count with."""
_LISTS = frozenset({"env", "printenv", "set", "export", "declare", "typeset"})
"""Programs that print all variables when they are asked for nothing."""
_KEPT_WHOLE = re.compile(r":?[-=?]|\^|,|@|%%?[,:; ]\*|##?\*[,:; ]|//?\\?[,:; ]/")
"""Operators of `${NAME...}` that do not cut a name: defaults, upper and lower case, what follows a comma or a colon."""
_AT_SEPARATORS = re.compile(
    r"""cut\s+(?:.*\s)?-d\s*["']?[,:; ]|tr\s+(?:-d\s+)?["']?[,:;]+["']?(?:\s|$)|(?:.*\s)?IFS=\$?["']?[,:; ]"""
)
"""Commands that cut between the names of a list, or a port from its name."""
_PATH = re.compile(r"/etc/hostname|/proc/sys/kernel/hostname|/etc/hosts\b(?!\.)")
_ASKED_WHETHER_SET = re.compile(r"-[znv]\s+[\"']?$")
_LOOP = re.compile(r"\bfor\s+(\w+)\s+in\s[^;\n]*$")
_PIPE = re.compile(r"[^|]*(?<!\|)\|&?(?!\|)[^|]*", re.DOTALL)
_DEEPEST = 12


@dataclass(frozen=True)
class _Value:
    """What a word holds of the pod."""

    name: str
    start: int
    is_cut: bool = False
    is_last_number: bool = False
    is_named: bool = True
    """Whether it is asked for by its name, and not looked for among all variables."""


@dataclass
class _Text:
    text: str
    known: dict[str, _Value]
    """Variables that hold a value of the pod."""
    found: list[Read] = field(default_factory=list)


def reads(text: str, variables: Mapping[str, str]) -> list[Read]:
    """Every place at which the text takes a value of the pod. `variables` are those of the environment that hold one, with what
    each is called. Never fails."""
    reading = _Text(text, {name: _Value(called, -1) for name, called in variables.items()})
    _read(reading, shell.script(text), 0)
    return sorted({read.start: read for read in sorted(reading.found, key=lambda read: read.decides)}.values(), key=_start)


def _start(read: Read) -> int:
    return read.start


def _read(reading: _Text, script: shell.Script, depth: int) -> None:
    in_commands: set[int] = set()
    loops = {word.start: match[1] for word in script.words if (match := _LOOP.search(reading.text[: word.start]))}
    for word in script.words:
        if word.start in loops and (values := [*_values(reading, word, depth)]):
            reading.known[loops[word.start]] = replace(values[0], start=-1)
    for number, command in enumerate(script.commands):
        for name, word in command.assignments:
            _assign(reading, name, word, depth)
            in_commands.add(word.start)
        in_commands |= {word.start for word in (*command.words, *command.outputs)}
        for word in command.outputs:
            # A file that is written to is not read.
            _show(reading, (value for value in _values(reading, word, depth) if value.name != HOSTS_FILE))
        following = script.commands[number + 1] if number + 1 < len(script.commands) else None
        _read_command(reading, command.words, following, depth)
    assigned = {word.start for command in script.commands for _, word in command.assignments}
    for word in script.words:
        # The heads of `case` and `[[`, and what is redirected into a command.
        if word.start not in in_commands and not any(word.start <= start < word.end for start in assigned):
            is_decisive = word.start not in loops and not _ASKED_WHETHER_SET.search(reading.text[: word.start])
            reads_file = _PATH.search(_written(reading, word))
            for value in _values(reading, word, depth):
                within = _statement(reading, word)
                is_split = _AT_SEPARATORS.match(within) and "IFS=" in within
                _tell(reading, value, decides=is_decisive and not reads_file and not is_split, within=within)
    for document in script.documents:
        if document.is_replaced_in:
            end = document.start + len(document.text)
            for piece in Lexer(reading.text, document.start, end).document_pieces():
                _show(reading, _of_piece(reading, piece, depth))


def _assign(reading: _Text, name: str, word: Word, depth: int) -> None:
    values = [*_values(reading, word, depth)]
    if not values:
        reading.known.pop(name, None)
        return
    value = next((one for one in values if one.is_cut), values[0])
    reading.known[name] = _Value(value.name, -1, value.is_cut, value.is_last_number)
    _tell(reading, value, decides=is_rank(name), within=_statement(reading, word))


def _read_command(reading: _Text, words: tuple[Word, ...], following: shell.Command | None, depth: int) -> None:
    if not words:
        return
    name = _program(words[0])
    if name in _SETTERS and any(shell.assignment(word) for word in words[1:]):
        for word in words[1:]:
            if assigned := shell.assignment(word):
                _assign(reading, *assigned, depth)
        return
    is_piped = following is not None and _is_piped(reading.text, words[-1].end, following)
    is_cut = is_piped and following is not None and _cuts_names(reading, following)
    within = _statement(reading, words[0])
    if called := _asks(words):
        _tell(reading, _Value(called, words[0].start), decides=is_cut, within=within)
    for value in _listed(reading, words, within, is_piped=is_piped):
        _tell(reading, value, decides=is_cut or not value.is_named, within=within)
    _read_python(reading, words, is_cut=is_cut)
    if name == "read" and words[-1].literal:
        # `read NAME < /etc/hostname`
        for match in _PATH.finditer(within):
            reading.known[words[-1].literal] = _Value(_of_path(match[0]), -1)
    option = ""
    for number, word in enumerate(words[1:], 1):
        before = words[number - 1].literal or ""
        written = _written(reading, word)
        if name in _TESTS:
            decides = before not in {"-z", "-n", "-v"}
        elif name in _LOOK_UPS or (name in _CUTTERS and _PATH.search(written)):
            decides = True
        else:
            option = written.partition("=")[0] if written.startswith("-") else option if before == option else ""
            decides = is_cut or (option.startswith("-") and is_rank(option))
        if written.startswith("-") and "=" not in written:
            option = written
        for value in _values(reading, word, depth):
            _tell(reading, value, decides=decides, within=within)


def _listed(reading: _Text, words: tuple[Word, ...], within: str, *, is_piped: bool) -> Iterator[_Value]:
    """Variables that a command prints: those that printenv is asked for; of a list of all, those that are looked for in it."""
    name, operands = _program(words[0]), [word for word in words[1:] if not (word.literal or "").startswith("-")]
    if name == "printenv":
        for word in operands:
            if known := reading.known.get(word.literal or ""):
                yield replace(known, start=word.start)
    if name in _LISTS and is_piped and not operands:
        for variable, known in reading.known.items():
            if re.search(rf"\b{re.escape(variable)}\b", within):
                yield replace(known, start=words[0].start, is_named=False)


def _read_python(reading: _Text, words: tuple[Word, ...], *, is_cut: bool) -> None:
    """Code that a Python is given by -c."""
    for number in code_words([word.literal or "" for word in words]):
        word = words[number]
        code = word.literal if word.literal is not None else _written(reading, word).strip("\"'")
        for read in python_reads.reads(code, {name: value.name for name, value in reading.known.items()}):
            start = min(word.start + 1 + read.start, word.end - 1)
            reading.found.append(Read(read.name, start, is_cut or read.decides, read.takes_last_number))


def _values(reading: _Text, word: Word, depth: int) -> Iterator[_Value]:
    for piece in word.pieces:
        yield from _of_piece(reading, piece, depth)


def _of_piece(reading: _Text, piece: Piece, depth: int) -> Iterator[_Value]:
    if depth > _DEEPEST:
        return
    if piece.kind == "text":
        for match in _PATH.finditer(piece.value):
            yield _Value(_of_path(match[0]), piece.start + match.start())
    elif piece.kind == "variable":
        yield from _of_variable(reading, piece, depth)
    elif piece.kind == "arithmetic":
        for match in re.finditer(r"[A-Za-z_][A-Za-z0-9_]*", piece.value):
            if known := reading.known.get(match[0]):
                yield _Value(known.name, piece.start + match.start(), True, known.is_last_number)
        for inner in Lexer(reading.text, piece.start, piece.start + len(piece.value)).document_pieces():
            if inner.kind != "variable":
                yield from (_cut(value, piece.value) for value in _of_piece(reading, inner, depth + 1))
    elif piece.kind == "command":
        yield from _of_substitution(reading, piece, depth)


def _of_variable(reading: _Text, piece: Piece, depth: int) -> Iterator[_Value]:
    known = reading.known.get(piece.value)
    if not reading.text.startswith("${", piece.start):
        if known:
            yield _Value(known.name, piece.start, known.is_cut, known.is_last_number)
        return
    end = matching(reading.text, piece.start + 1, len(reading.text))
    inside = reading.text[piece.start + 2 : end - 1]
    operator = inside.partition(piece.value)[2] if not inside.startswith("#") else ""
    is_cut = bool(operator) and operator not in {"[0]", "[@]"} and not _KEPT_WHOLE.match(operator)
    if known:
        is_last = takes_last_number(inside) if is_cut else known.is_last_number
        yield _Value(known.name, piece.start, known.is_cut or is_cut, is_last)
    elif piece.default:
        at = reading.text.find(piece.default, piece.start, end)
        for inner in Lexer(reading.text, at, end - 1).document_pieces() if at >= 0 else ():
            yield from _of_piece(reading, inner, depth + 1)


def _of_substitution(reading: _Text, piece: Piece, depth: int) -> Iterator[_Value]:
    """What a substitution brings: cut, if any of its commands cuts. A reference of Kubernetes looks like one, too."""
    if known := reading.known.get(piece.value.strip()):
        yield _Value(known.name, piece.start, known.is_cut, known.is_last_number)
        return
    inner = shell.within(reading.text, piece)
    inside = _Text(reading.text, {**reading.known})
    _read(inside, inner, depth + 1)
    programs = {_program(command.words[0]) for command in inner.commands if command.words}
    is_cut = any(_cuts_names(reading, command) for command in inner.commands)
    is_address = bool({"getent", "dig", "nslookup", "host"} & programs)
    for read in inside.found:
        whole = is_cut or read.decides
        is_last = read.takes_last_number or (whole and takes_last_number(piece.value))
        if is_address and read.name != HOSTS_FILE:
            reading.found.append(Read(read.name, read.start, decides=False))
        else:
            yield _Value(read.name, read.start, whole, is_last)


def _cuts_names(reading: _Text, command: shell.Command) -> bool:
    """Whether the command takes names apart, and not only what stands between them."""
    if not command.words or _program(command.words[0]) not in _CUTTERS:
        return False
    return not _AT_SEPARATORS.match(reading.text[command.words[0].start : command.words[-1].end])


def _cut(value: _Value, written: str) -> _Value:
    return _Value(value.name, value.start, True, value.is_last_number or takes_last_number(written))


def _show(reading: _Text, values: Iterator[_Value]) -> None:
    for value in values:
        _tell(reading, value, decides=False, within="")


def _tell(reading: _Text, value: _Value, *, decides: bool, within: str) -> None:
    is_last = value.is_last_number or (not value.is_cut and decides and takes_last_number(within))
    decides = decides or value.is_cut
    reading.found.append(Read(value.name, value.start, decides, decides and is_last))


def _asks(words: tuple[Word, ...]) -> str:
    """What a command prints of the pod; empty when it prints none. An IP address (`hostname -i`) is another one in every pod of
    either generation."""
    name, options = _program(words[0]), [word.literal or "" for word in words[1:]]
    if name == "hostname":
        asks_address = any(
            option.startswith("-") and not option.startswith("--") and set(option[1:]) & set("iI") for option in options
        )
        sets = any(not option.startswith("-") for option in options)
        return "" if asks_address or sets or {"--ip-address", "--all-ip-addresses"} & {*options} else HOST_NAME
    if name in {"dnsdomainname", "domainname", "nisdomainname"}:
        return "" if any(not option.startswith("-") for option in options) else HOST_NAME
    if name == "hostnamectl":
        return HOST_NAME if not options or options[0] in {"hostname", "status", "--static"} else ""
    if name == "uname":
        return (
            HOST_NAME if any(option == "--nodename" or re.fullmatch(r"-[a-z]*[na][a-z]*", option) for option in options) else ""
        )
    if name == "sysctl":
        return HOST_NAME if "kernel.hostname" in options else ""
    if name == "getent":
        return HOSTS_FILE if options == ["hosts"] or options == ["ahosts"] else ""
    return ""


def _program(word: Word) -> str:
    return (word.literal or "").rpartition("/")[2]


def _written(reading: _Text, word: Word) -> str:
    return reading.text[word.start : word.end]


def _statement(reading: _Text, word: Word) -> str:
    start = reading.text.rfind("\n", 0, word.start) + 1
    end = reading.text.find("\n", word.end)
    return reading.text[start : len(reading.text) if end < 0 else end]


def _is_piped(text: str, end: int, following: shell.Command) -> bool:
    first = following.words[0].start if following.words else end
    return bool(_PIPE.fullmatch(text[end:first]))


def _of_path(path: str) -> str:
    return HOST_NAME if path in OF_HOST_NAME else HOSTS_FILE
