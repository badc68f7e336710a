"""Programs of an MPIJob that come into its workers by ssh themselves: the server of v2 has another port and other keys."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

import msgspec

from shunter.api.late_patterns import late_pattern
from shunter.jobs.commands.arguments import SourceRange
from shunter.jobs.commands.shell import assignment, script
from shunter.jobs.commands.shell_words import Lexer, Word
from shunter.jobs.commands.shells import SETTERS
from shunter.migrate.conversion.commands.pod_reads import python_texts
from shunter.migrate.conversion.commands.python_code import is_python_code, parsed
from shunter.migrate.conversion.commands.python_commands import commands, connection
from shunter.migrate.conversion.commands.reads import line_of
from shunter.migrate.conversion.commands.shell_programs import program
from shunter.migrate.conversion.commands.shell_starts import Start, starts
from shunter.migrate.conversion.commands.understanding import Text
from shunter.migrate.conversion.draft import Draft
from shunter.migrate.conversion.rules.programs.texts import all_programs, first_match, place, quoted
from shunter.migrate.conversion.rules.ssh import PORT, serves_ssh
from shunter.migrate.findings import Topic

OWN_CLIENT = Topic(
    id="HOST026",
    title="a program starts ssh itself",
    severity="warning",
    change="semantic-change",
    grade="D",
    explanation=(
        "The program starts ssh without the options that v2 needs, so it reaches no node. In mpi-operator the workers run an "
        "ssh server configured by the image, with keys of mpi-operator or the image. In v2 the server ignores that "
        "configuration: it listens on port 2222 and uses the key in /etc/mpi-ssh, which only mpirun is configured for. ssh "
        "calls to a host outside the job are not reported."
    ),
    remedy="Write $OMPI_MCA_plm_rsh_agent HOST COMMAND, the ssh command of mpirun.",
    explains=("none",),
    limits_proof=True,
)
_TOOLS = frozenset({"ssh", "scp", "sftp", "rsync", "pdsh", "pssh", "parallel-ssh", "clush"})
_NO_OPERAND = late_pattern(r"[=:,)!+|]|-V\b|(?:is|and|or|in|not|if|else)\b")
"""How a word begins behind a name that is no client's there: its version is asked for, or the text is of another language."""
_KEPT = late_pattern(r"(?:/usr/bin/)?(?P<tool>ssh|scp|sftp|rsync|pdsh|pssh|parallel-ssh|clush)(?![\w-])(?P<more>[^\n]*)")
"""A command line that a shell's variable holds."""
_LIBRARIES = frozenset({"paramiko", "fabric", "fabric2", "asyncssh", "pssh", "parallel_ssh", "pexpect.pxssh", "sh.ssh"})
_CONNECTS = frozenset({"connect", "Connection", "Transport", "login", "ssh"})
"""Functions of the libraries that take a host."""
_IMPORTED = "|".join(sorted(name.replace(".", r"(?:\.|\s+import\s+)") for name in _LIBRARIES))
_IN_UNREAD_CODE = late_pattern(
    r"\w\(\s*\[?\s*[rbf]?[\"'](?:/usr/bin/)?(?:ssh|scp|sftp)(?:[\"']\s*,|[ \t])"
    rf"|^[ \t]*(?:import|from)\s+(?:{_IMPORTED})\b",
    re.MULTILINE,
)
"""What starts one in Python that cannot be parsed, for want of more."""
_MENTION = late_pattern(r"ssh|pdsh|scp|sftp|rsync|clush|fabric|paramiko")
"""Most texts have no word of it."""
_WITH_VALUE = {"ssh": "BbcDEeFIiJLlmOopPQRSWw", "scp": "cDFiJloPSX", "sftp": "BbcDFiJloPRSsX", "rsync": "BefMT@"}
"""Options of OpenSSH and rsync that take the next word."""
_BY_SSH = late_pattern(r"(?:\$\{[^}]*\}|\$(?!\{)|[^:/$])+:(?!:|//)")
"""An operand of rsync with a host and a path; not one of its own server, HOST::MODULE or rsync://HOST."""
_MOST = 50
"""Loops and assignments of one variable that are looked at."""
_GIVES_OTHERS = late_pattern(
    r"(?<![\w.-])(?:read|readarray|mapfile|select|getopts|declare|typeset|local|export|readonly|let|eval|source|trap|alias|IFS"
    r"|printf\s+-v)(?![\w-])|(?<![\w./])\.(?=\s)|\$\{!"
)
"""What may give a variable a value whose name it does not write out, or splits words elsewhere."""


class _Pod(NamedTuple):
    """What runs the text."""

    names: frozenset[str]
    """The names of all pods of the job."""
    variables: frozenset[str]
    """Those of the container."""


class _Client(msgspec.Struct, frozen=True):
    """A client that a shell text starts."""

    place: int
    """Of its name; of one that a variable holds the variable's."""
    tool: str
    words: Sequence[str]
    """Behind its name. What is no literal has a dollar."""
    is_own: bool = False
    """Whether this shell, and no other one, gives its variables."""


class _Given(NamedTuple):
    """A loop or an assignment, and the part of the text where a variable has one of its values."""

    values: tuple[str, ...]
    start: int
    end: int


def apply(draft: Draft) -> None:
    """Reports each text once, where workers served ssh before."""
    if "mpi" not in draft.ml_policy or not serves_ssh(draft):
        return
    names = frozenset(host.partition(".")[0] for host in draft.hosts)
    for programs in all_programs(draft):
        variables = frozenset(str(one.get("name")) for one in programs.container.get("env") or ())
        pod = _Pod(names, variables)
        codes = python_texts(programs.container, programs.volumes, draft.texts_of)
        for text, spot in programs.texts:
            within = [code for code in codes if (code.spot.file, code.spot.path) == (spot.file, spot.path)]
            if (start := _first_place(text, spot, within, pod)) is not None:
                path, offset = place(programs, spot, spot.offset(start))
                line = quoted(text, start, spot)
                says = f"{line} starts ssh, and v2's server listens at port {PORT} and takes a key of the job."
                draft.report(OWN_CLIENT, path, says, offset=offset)


def _first_place(text: str, spot: SourceRange, codes: Sequence[Text], pod: _Pod) -> int | None:
    """Where the text first starts a client that may reach a pod; `codes` are the parts of it that are Python code."""
    if not first_match(_MENTION, text):
        return None
    if not codes and is_python_code(text):
        return _in_python(text, pod)
    parts = [(0 if spot.is_decoded else code.spot.start - spot.start, code.text) for code in codes]
    found = [start + at for start, code in parts if (at := _in_python(code, pod)) is not None]
    places = (client.place for client in _clients(text, pod))
    in_shell = (at for at in places if not any(start <= at < start + len(code) for start, code in parts))
    return min([*found, *islice(in_shell, 1)], default=None)


def _clients(text: str, pod: _Pod) -> Iterator[_Client]:
    """The clients of a shell text that do not name only hosts other than the job's pods, by their places."""
    for client in sorted((*_started(text), *_kept(text)), key=lambda client: client.place):
        hosts = _hosts(client.tool, client.words) if client.tool in _WITH_VALUE else []
        if client.tool == "rsync" and not hosts:  # on this machine, or by a server of its own
            continue
        if not _are_elsewhere([one for host in hosts for one in _held(text, client, host, pod)], pod):
            yield client


def _started(text: str) -> Iterator[_Client]:
    for start in starts(text, lambda word: program(word) in _TOOLS, _MENTION):
        words = _written(start)
        tool = program(start.words[0])
        is_whole = start.text != text and not start.text[: start.words[0].start].strip()
        is_value = is_whole and tool == "ssh" and not _hosts(tool, words)  # rsh_agent 'ssh -p 22', rsync -e 'ssh -i key'
        if words and not is_value and not _NO_OPERAND.match(words[0]):
            yield _Client(start.place, tool, words, start.is_own)


def _written(start: Start) -> list[str]:
    """The words behind the program, as far as they are known."""
    return [word.literal or start.text[word.start : word.end] for word in start.words[1:]]


def _kept(text: str) -> Iterator[_Client]:
    """The commands that a variable holds, once for each command that begins with it."""
    held = [(name, value, found) for name, value in _assigned(text) if (found := _KEPT.fullmatch(value.literal or ""))]
    if not held:
        return
    names = {name for name, *_ in held}
    begun = starts(text, lambda word: _variable(word) in names, re.compile("|".join(names)))
    behind: dict[str, list[list[str]]] = defaultdict(list)
    for start in begun:
        behind[_variable(start.words[0])].append(_written(start))
    for name, value, found in held:
        more = [re.sub(r"[%{].*", "$", word) for word in found["more"].split()]
        for words in behind[name]:
            yield _Client(value.start - len(name) - 1, found["tool"], [*more, *words])


def _assigned(text: str) -> Iterator[tuple[str, Word]]:
    """What the text gives variables."""
    for command in script(text).commands:
        yield from command.assignments
        if command.words and program(command.words[0]) in SETTERS:
            yield from (found for word in command.words[1:] if (found := assignment(word)))


def _variable(word: Word) -> str:
    """The variable that the word is; empty for another word."""
    pieces = [piece for piece in word.pieces if piece.kind != "text" or piece.value]
    return pieces[0].value if [piece.kind for piece in pieces] == ["variable"] else ""


def _in_python(code: str, pod: _Pod) -> int | None:
    """The same of Python code: its commands, and libraries for ssh."""
    if parsed(code) is None:
        unread = (found.start() for found in _IN_UNREAD_CODE.finditer(code))
        return next((at for at in unread if not line_of(code, at).startswith("#")), None)
    found = [
        command.start
        for command in commands(code)
        if any(command.is_run or _is_command(client.words) for client in _clients(command.text, pod))
    ]
    library = connection(code, _LIBRARIES, _CONNECTS)
    if library and not _are_elsewhere([_host(host) for host in library.hosts], pod):
        found.append(library.start)
    return min(found, default=None)


def _is_command(words: Sequence[str]) -> bool:
    return any(word.startswith(("$", "-")) for word in words)


def _hosts(tool: str, words: Sequence[str]) -> list[str]:
    """To which the client connects: ssh and sftp to the first operand, scp and rsync to those with a path."""
    operands, is_value = list[str](), False
    for word in words:
        if not is_value and not word.startswith("-"):
            operands.append(word)
        is_value = not is_value and re.fullmatch(rf"-[46ACfGgKkMNnqrTtVvXxYy]*[{_WITH_VALUE[tool]}]", word) is not None
    if tool == "scp":
        return [_host(word) for word in operands if ":" in word]
    if tool == "rsync":
        return [_host(word) for word in operands if _BY_SSH.match(word)]
    return [_host(word) for word in operands[:1]]


def _held(text: str, client: _Client, host: str, pod: _Pod) -> list[str]:
    """What a host is that a variable surely holds, by a text that gives it nothing else; the variable itself otherwise."""
    variable = re.fullmatch(r"\"?\$\{?(\w+)\}?\"?", host)
    if variable is None or variable[1] in pod.variables or not client.is_own:
        return [host]
    given = _given(text).get(variable[1], ())
    is_given = any(one.start <= client.place < one.end for one in given)
    return [_host(value) for one in given for value in one.values] if is_given else [host]


@lru_cache(maxsize=8)
def _given(text: str) -> Mapping[str, Sequence[_Given]]:
    """What gives variables their values: loops over words that are written out, or assignments at the beginning of the text;
    nothing of a variable that may have another value."""
    read = script(text)
    is_known = all(command.words[0].literal for command in read.commands if command.words)
    if read.documents or not is_known or _GIVES_OTHERS.search(text):
        return {}
    found: dict[str, list[_Given]] = defaultdict(list)
    for loop in read.loops:
        found[loop.name].append(_Given(_literals(loop.words), loop.start, loop.end))
    for name, value in _assigned_first(text):
        found[name].append(_Given(_literals([value]), value.end, len(text)))
    mentions = Counter(re.findall(r"\w+", text))
    uses = Counter(one or other for one, other in re.findall(r"\$(?:(\w+)|\{(\w+)\})", text))
    return {
        name: given
        for name, given in found.items()
        if mentions[name] - uses[name] == len(given) <= _MOST and all(one.values for one in given)
    }


def _literals(words: Sequence[Word]) -> tuple[str, ...]:
    """The words; none where the shell replaces something in one, or where one is an option."""
    texts = [word.literal or "" for word in words]
    return tuple(texts) if all(text and not text.startswith("-") for text in texts) else ()


def _assigned_first(text: str) -> Iterator[tuple[str, Word]]:
    """The assignments with which the text begins, each a command."""
    awaited: tuple[str, Word] | None = None
    for token in Lexer(text).tokens():
        if isinstance(token, Word):
            found = assignment(token)
            if awaited or found is None or text[token.start : found[1].start] != f"{found[0]}=":
                return
            awaited = found
        elif token.value not in {";", "\n"}:
            return
        elif awaited:
            yield awaited
            awaited = None


def _host(operand: str) -> str:
    """Without user, port and path."""
    address = re.sub(r"^\w+://", "", operand)
    return re.split(r"[:/]", address)[0].rpartition("@")[2]


def _are_elsewhere(hosts: Sequence[str], pod: _Pod) -> bool:
    """Whether there are hosts, and none of them may be a pod of the job."""
    return bool(hosts) and all(_is_elsewhere(host, pod) for host in hosts)


def _is_elsewhere(host: str, pod: _Pod) -> bool:
    return re.fullmatch(r"[\w-]+(\.[\w-]+)+", host) is not None and host.partition(".")[0] not in pod.names
