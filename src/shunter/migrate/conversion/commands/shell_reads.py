"""Reading shell text: where it takes the host name or a variable, and what it does with it.

Values are followed through assignments, pipes, functions and files that the text writes, in its order.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from msgspec.structs import replace

from shunter.api.late_patterns import late_pattern
from shunter.jobs.commands import shell
from shunter.jobs.commands.shell_words import Lexer, Piece, Word
from shunter.jobs.commands.shells import SETTERS, SHELLS, text_words
from shunter.migrate.conversion.commands import python_reads
from shunter.migrate.conversion.commands.inline_python import code_words, quoted_code
from shunter.migrate.conversion.commands.mentions import mentions
from shunter.migrate.conversion.commands.reads import (
    HOST_LIST,
    HOST_NAME,
    HOSTS_FILE,
    UNREAD,
    Read,
    is_rank,
    paths,
    sought,
    takes_last_number,
    takes_names,
    takes_size,
    takes_task,
)
from shunter.migrate.conversion.commands.shell_programs import (
    CUTTERS,
    PYTHONS,
    RESOLVERS,
    RUNNERS,
    SEARCHERS,
    TESTS,
    adds_once,
    asks,
    called,
    compared_with_local,
    cuts_names,
    lists_variables,
    names_address,
    prints_system,
    program,
    splits_at_separators,
)
from shunter.migrate.conversion.commands.shell_values import ShellText, Value, put_together, values_of, values_of_piece, written

_PARAMETER = "$1"
"""What a function is given, while its body is read."""
_ASKED_WHETHER_SET = late_pattern(r"-[znv]\s+[\"']?$")
_REFERS = late_pattern(r"-[a-zA-Z]*n[a-zA-Z]*")
"""`declare -n OTHER=NAME`: OTHER then is NAME."""
_SETTING = late_pattern(r"[\w.-]+=")
"""An argument that sets something, as Hydra's do: `rank=3`."""
_PRINTERS = frozenset({"echo", "logger", "printf"})
_TWICE = 2
"""Substitutions within each other up to which the words of a loop are read before the script's commands and behind them, as a
variable may be assigned there; each level would double the reads."""
_NEAR = 100
"""Characters before a word in which that stands."""
_LOOP = late_pattern(r"\bfor\s+(\w+)\s+in\s(?P<words>[^;\n]*)")


def reads(text: str, variables: Mapping[str, str]) -> list[Read]:
    """Every place at which the text takes a value of the pod. `variables` are those of the environment that hold one, and files,
    by absolute paths, with what each is called. Never fails."""
    reading = _read_text(text, variables)
    return sorted({read.start: read for read in sorted(reading.found, key=lambda read: read.decides)}.values(), key=_start)


def files_written(text: str, variables: Mapping[str, str]) -> Mapping[str, str]:
    """The files to which the text writes a value of the pod that nothing is cut out of, with what it is called."""
    written = _read_text(text, variables).files.items()
    return {path: value.name for path, value in written if path not in variables and not value.is_cut}


def _read_text(text: str, variables: Mapping[str, str]) -> ShellText:
    known = {name: Value(title, -1) for name, title in variables.items()}
    files = {name: value for name, value in known.items() if name.startswith("/")}
    reading = ShellText(text, known, _of_substitution, files)
    _read_functions(reading)
    _read(reading, shell.script(text), 0)
    return reading


def _start(read: Read) -> int:
    return read.start


def _read_functions(reading: ShellText) -> None:
    """Learns which functions of the text print a value of the pod, and which take apart what they are given."""
    parameters = {name: Value(_PARAMETER, -1) for name in ("1", "2", "@", "*")}
    for name, body in shell.functions(reading.text).items():
        inside = replace(reading, known={**reading.known, **parameters}, files={}, lists=set(), found=[])
        _read(inside, body, 1)
        if any(read.name == _PARAMETER and read.decides for read in inside.found):
            reading.cutters.add(name)
        own = [read for read in inside.found if read.name not in (_PARAMETER, UNREAD)]
        if own:
            is_last = any(read.takes_last_number for read in own)
            reading.functions[name] = Value(own[0].name, own[0].start, any(read.decides for read in own), is_last)


def _read(reading: ShellText, script: shell.Script, depth: int) -> None:
    in_commands = {word.start for command in script.commands for word in (*command.words, *command.outputs)}
    in_commands |= {word.start for command in script.commands for _, word in command.assignments}
    heads = _loops(reading.text)
    loops = {word.start: heads[word.start] for word in script.words if word.start in heads and word.start not in in_commands}
    over: dict[int, list[Value]] = {}
    for word in script.words:
        if word.start in loops and (values := [*values_of(reading, word, depth)]):
            reading.known[loops[word.start]] = replace(values[0], start=-1)
            over[word.start] = values
    piped: Value | None = None
    commands = [called(command) for command in script.commands]
    for number, command in enumerate(commands):
        splits = any(
            name == "IFS" and not splits_at_separators(f"IFS={written(reading, word)}") for name, word in command.assignments
        )
        for name, word in command.assignments:
            _assign(reading, name, word, depth, is_split=splits)
        for word in command.outputs:
            # A file that is written to is not read.
            _show(reading, (value for value in values_of(reading, word, depth) if value.name not in (HOSTS_FILE, HOST_LIST)))
        following = commands[number + 1] if number + 1 < len(commands) else None
        piped = _read_command(reading, command, following, depth, piped)
    assigned = [word for command in script.commands for _, word in command.assignments]
    begun = [command for command in commands if command.words]
    for word in script.words:
        # The heads of `case` and `[[`, and what is redirected into a command.
        if word.start not in in_commands and not _is_in(word, assigned):
            is_decisive = word.start not in loops and not _asks_whether_set(reading.text, word)
            reads_file = any(paths(word.literal or ""))
            takes = _taken_apart(reading, begun, word, is_file=reads_file)
            is_read_once = depth > _TWICE and word.start in loops
            for value in over.get(word.start, ()) if is_read_once else values_of(reading, word, depth):
                within = _statement(reading, word)
                taken = takes if takes is not None else not reads_file
                decides = is_decisive and taken and not splits_at_separators(within)
                _tell(reading, value, decides=decides, within=within)
    for document in script.documents:
        if document.is_replaced_in:
            end = document.start + len(document.text)
            for piece in Lexer(reading.text, document.start, end).document_pieces():
                _show(reading, values_of_piece(reading, piece, depth))


@lru_cache(maxsize=8)
def _loops(text: str) -> Mapping[int, str]:
    """The variables of the loops over words, by each place where such a word may begin."""
    return {place: match[1] for match in _LOOP.finditer(text) for place in range(match.start("words"), match.end() + 1)}


def _asks_whether_set(text: str, word: Word) -> bool:
    return _ASKED_WHETHER_SET.search(text, max(word.start - _NEAR, 0), word.start) is not None


def _assign(reading: ShellText, name: str, word: Word, depth: int, *, is_split: bool = False) -> None:
    """`is_split`: into an array, at what stands within names."""
    values = [*values_of(reading, word, depth)]
    if not values:
        reading.known.pop(name, None)
        return
    value = next((one for one in values if one.is_cut), values[0])
    reading.known[name] = Value(value.name, -1, value.is_cut or is_split, value.is_last_number)
    _tell(reading, value, decides=is_rank(name), within=_statement(reading, word))


def _read_command(
    reading: ShellText, command: shell.Command, following: shell.Command | None, depth: int, piped: Value | None
) -> Value | None:
    """Reads a command that is piped a value, or none. Returns what it pipes on."""
    words = command.words
    if not words:
        return None
    if following is not None and adds_once(reading.text, command, following):
        searched = (value for word in words[1:] for value in values_of(reading, word, depth))
        _show(reading, (value for value in searched if value.name != HOSTS_FILE))
        return None
    name = program(words[0])
    if name == "unset":
        for word in words[1:]:
            reading.known.pop(word.literal or "", None)
        return None
    if name in SETTERS and any(shell.assignment(word) for word in words[1:]):
        _set(reading, words, depth)
        return None
    is_piped = following is not None and shell.is_piped(reading.text, command, following)
    is_cut = is_piped and following is not None and _cuts(reading, following)
    within = _statement(reading, words[0])
    printed = piped
    is_written = bool(command.outputs) or name in {"eval", "trap"}
    is_reverse = name in RESOLVERS and names_address(within)
    if name_read := asks(words) or (HOST_NAME if is_reverse else ""):
        printed = Value(name_read, words[0].start)
        is_searched = prints_system(words) and following is not None and program(following.words[0]) in SEARCHERS
        _tell(reading, printed, decides=is_cut and not is_searched, within=within)
    if value := reading.functions.get(name):
        printed = replace(value, start=words[0].start)
        _tell(reading, printed, decides=is_cut, within=within)
    if name == "eval" and (value := put_together(reading, words)):
        printed = value
        _tell(reading, value, decides=is_cut, within=within)
    for value in _listed(reading, command, within, is_piped=is_piped):
        printed = value
        _tell(reading, value, decides=is_cut or not value.is_named, within=within)
    _read_code(reading, command, is_cut=is_cut, is_run=is_written or _starts_runner(words) or (is_piped and _runs(following)))
    if name in {"read", "mapfile", "readarray"}:
        _read_into(reading, words, within, piped)
    for value in _given(reading, words, depth, is_cut=is_cut, within=within):
        printed = value
    if printed and name == "printf" and len(words) > 2 and words[1].literal == "-v" and words[2].literal:
        reading.known[words[2].literal] = replace(printed, start=-1)
    if printed and (name in CUTTERS and _cuts(reading, command)):
        printed = replace(printed, is_cut=True, is_last_number=printed.is_last_number or takes_last_number(within))
    for path in (word.literal for word in command.outputs):
        if path and printed:
            reading.files[path] = replace(printed, start=-1)
    return printed if is_piped else None


def _set(reading: ShellText, words: Sequence[Word], depth: int) -> None:
    """`export NAME=value`, `declare -n OTHER=NAME`."""
    refers = any(word.literal and _REFERS.fullmatch(word.literal) for word in words[1:])
    for word in words[1:]:
        if assigned := shell.assignment(word):
            _assign(reading, *assigned, depth)
            if refers and (known := reading.known.get(assigned[1].literal or "")):
                reading.known[assigned[0]] = known


def _given(reading: ShellText, words: tuple[Word, ...], depth: int, *, is_cut: bool, within: str) -> Iterator[Value]:
    """The values among the words of a command; says of each what is done with it."""
    name, option = program(words[0]), ""
    cuts = cuts_names(name, reading.text[words[0].start : words[-1].end])
    is_cutter = name in reading.cutters
    ends_alike = compared_with_local(words) if name in TESTS else set()
    for value in values_of(reading, words[0], depth):
        _tell(reading, value, decides=False, within=within)
        yield value
    for number, word in enumerate(words[1:], 1):
        before = words[number - 1].literal or ""
        text = written(reading, word)
        if name in TESTS:
            decides = before not in {"-z", "-n", "-v"} and number not in ends_alike
        elif is_cutter or name in SEARCHERS or (cuts and _is_read(reading, text)):
            decides = True
        else:
            is_setting = text.startswith("-") or (number > 1 and name not in _PRINTERS and _SETTING.match(text) is not None)
            option = text.partition("=")[0] if is_setting else option if before == option else ""
            decides = is_cut or (bool(option) and is_rank(option))
        if text.startswith("-") and "=" not in text:
            option = text
        for value in values_of(reading, word, depth):
            _tell(reading, value, decides=decides, within=within)
            yield value


def _read_into(reading: ShellText, words: tuple[Word, ...], within: str, piped: Value | None) -> None:
    """`read NAME < /etc/hostname`, `hostname | read NAME`."""
    found = [Value(name, -1) for name, _ in paths(within)]
    found += [value for path, value in reading.files.items() if path in within]
    if value := next((one for one in (piped, *found) if one), None):
        is_cut = value.is_cut or ("IFS=" in within and not splits_at_separators(within))
        for word in words[1:]:
            if word.literal and not word.literal.startswith("-"):
                reading.known[word.literal] = replace(value, start=-1, is_cut=is_cut)


def _listed(reading: ShellText, command: shell.Command, within: str, *, is_piped: bool) -> Iterator[Value]:
    """Variables that a command prints: those that printenv is asked for; of a list of all, those that are looked for in it."""
    words = command.words
    if program(words[0]) == "printenv" or (program(words[0]) in SETTERS and words[1:] and words[1].literal == "-p"):
        for word in words[1:]:
            if known := reading.known.get(word.literal or ""):
                yield replace(known, start=word.start)
    if not lists_variables(words, within, reading.lists):
        return
    reading.lists |= {word.literal for word in command.outputs if word.literal}
    if program(words[0]) == "compgen":
        within = reading.text
    elif not is_piped and not command.words[1:]:
        return
    for variable in sought(reading.known, within):
        yield replace(reading.known[variable], start=words[0].start, is_named=False)


def _read_code(reading: ShellText, command: shell.Command, *, is_cut: bool, is_run: bool) -> None:
    """Code that a Python is given by -c, and quoted texts that another program runs."""
    words, variables = command.words, {name: value.name for name, value in reading.known.items()}
    read = {*code_words([word.literal or "" for word in words])}
    for number in read:
        code, begin = quoted_code(reading.text, words[number])
        for one in python_reads.reads(code, variables, reads):
            start = min(begin + one.start, words[number].end - 1)
            reading.found.append(Read(one.name, start, is_cut or one.decides, one.takes_last_number))
    for number in text_words([word.literal or "" for word in words]):
        text, begin = quoted_code(reading.text, words[number])
        for one in reads(text, variables):
            start = min(begin + one.start, words[number].end - 1)
            reading.found.append(Read(one.name, start, is_cut or one.decides, one.takes_last_number))
    if not is_run:
        return
    is_python = program(words[0]) in PYTHONS
    texts = [
        (piece.value, piece.start)
        for number, word in enumerate(words[1:], 1)
        if number not in read
        for piece in word.pieces
        if piece.kind == "text" and (piece.is_quoted or not is_python) and _is_code(reading, piece)
    ]
    if command.input and not is_python:
        texts.append((command.input.text, command.input.start))
    for text, start in texts:
        for one in mentions(text, variables):
            reading.found.append(Read(one.name, start + one.start, is_cut or one.decides, one.takes_last_number))


def _is_code(reading: ShellText, piece: Piece) -> bool:
    """Whether the shell leaves it to be read by another program: what it replaces itself is a piece of its own."""
    return "$" in piece.value or "`" in piece.value or not reading.text.startswith('"', piece.start - 1)


def _starts_runner(words: Sequence[Word]) -> bool:
    """Whether the command is a runner of texts, or starts one on each host: `mpirun -n 2 awk TEXT`."""
    return any(program(word) in RUNNERS for word in words)


def _runs(command: shell.Command | None) -> bool:
    return command is not None and bool(command.words) and program(command.words[0]) in RUNNERS - CUTTERS | PYTHONS | SHELLS


def _is_read(reading: ShellText, word: str) -> bool:
    """Whether the word is a file that holds a value."""
    return any(paths(word)) or any(path in word for path in reading.files)


def _of_substitution(reading: ShellText, piece: Piece, depth: int) -> Iterator[Value]:
    """What a substitution brings: cut, if any of its commands cuts. A reference of Kubernetes looks like one, too."""
    if known := reading.known.get(piece.value.strip()):
        yield Value(known.name, piece.start, known.is_cut, known.is_last_number)
        return
    inner = shell.within(reading.text, piece)
    commands = [called(command) for command in inner.commands]
    inside = replace(reading, known={**reading.known}, found=[])
    _read(inside, inner, depth + 1)
    programs = {program(command.words[0]) for command in commands if command.words}
    # Code that the first command is given says itself what it does.
    first = commands[:1] if programs & PYTHONS else ()
    is_cut = any(_cuts(reading, command) for command in commands if command not in first)
    is_address = bool(RESOLVERS & programs) and not names_address(piece.value)
    for read in inside.found:
        whole = (is_cut or read.decides) and not takes_names(read.name, piece.value)
        is_last = read.takes_last_number or (whole and takes_last_number(piece.value))
        if read.name == UNREAD:
            reading.found.append(read)
        elif (is_address and read.name != HOSTS_FILE) or takes_task(read.name, piece.value) or takes_size(read.name, piece.value):
            reading.found.append(Read(read.name, read.start, decides=False))
        else:
            yield Value(read.name, read.start, whole, is_last)


def _cuts(reading: ShellText, command: shell.Command) -> bool:
    """Whether the command takes names apart, and not only what stands between them."""
    if not command.words:
        return False
    name = program(command.words[0])
    return name in reading.cutters or cuts_names(name, reading.text[command.words[0].start : command.words[-1].end])


def _show(reading: ShellText, values: Iterator[Value]) -> None:
    for value in values:
        _tell(reading, value, decides=False, within="")


def _tell(reading: ShellText, value: Value, *, decides: bool, within: str) -> None:
    is_last = value.is_last_number or (not value.is_cut and decides and takes_last_number(within))
    takes_same = takes_task(value.name, within) or takes_names(value.name, within)
    decides = (value.is_cut or (decides and not takes_same)) and not takes_size(value.name, within)
    reading.found.append(Read(value.name, value.start, decides, decides and is_last))


def _statement(reading: ShellText, word: Word) -> str:
    return reading.lines.around(word.start, word.end)


def _taken_apart(reading: ShellText, begun: Sequence[shell.Command], word: Word, *, is_file: bool) -> bool | None:
    """Whether the last command that has begun takes apart what is redirected into it; None for a word that is not redirected."""
    if not reading.text[max(word.start - _NEAR, 0) : word.start].rstrip("\"'").rstrip().endswith("<"):
        return None
    number = bisect_left(begun, word.start, key=lambda command: command.words[0].start)
    if not number:
        return False
    # What `read` makes of a file is known by the variables that it fills.
    return _cuts(reading, begun[number - 1]) or (program(begun[number - 1].words[0]) == "read" and not is_file)


def _is_in(word: Word, values: Sequence[Word]) -> bool:
    """Whether the word and one of the values, which are in the order of the text, have a place in common."""
    number = bisect_left(values, word.end, key=lambda value: value.start)
    return number > 0 and word.start < values[number - 1].end
