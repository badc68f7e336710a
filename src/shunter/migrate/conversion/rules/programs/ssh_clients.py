"""Programs of an MPIJob that come into its workers by ssh themselves: the server of v2 has another port and other keys."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice, takewhile
from typing import NamedTuple

from shunter.api.late_patterns import late_pattern
from shunter.migrate.conversion.draft import Draft
from shunter.migrate.conversion.launch.arguments import Spot
from shunter.migrate.conversion.launch.pod_reads import python_texts
from shunter.migrate.conversion.launch.python_code import is_python_code, parsed
from shunter.migrate.conversion.launch.python_commands import commands, connection
from shunter.migrate.conversion.launch.reads import line_of
from shunter.migrate.conversion.launch.shell import assignment, script
from shunter.migrate.conversion.launch.shell_words import Lexer, Word
from shunter.migrate.conversion.launch.understanding import Text
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
_TOOLS = r"(?P<tool>ssh|scp|sftp|pdsh|pssh|parallel-ssh|clush)(?=[ \t]|\\\n)"
_OPERATORS = r"(?!(?:[ \t]|\\\n)*(?:[=:,)!+|]|-V\b|(?:is|and|or|in|not|if|else)\b))"
_BEFORE = (
    r"(?:(?<!\\\n)^|[;&|`]|(?<!=)\(|(?:\b(?:do|then|else|if|elif|while|until)|!)[ \t])(?:[ \t]|\\\n)*"
    r"(?:(?:exec|sudo|nohup|time|timeout|nice|setsid|stdbuf|env|command|xargs|parallel)[ \t]+"
    r"(?:-\S+[ \t]+(?:(?!ssh\b|scp\b|sftp\b)[\w{}%./]+[ \t]+(?=-|\w+=|(?:/usr/bin/)?(?:ssh|scp|sftp)\b))?|[\d.]+[smhd]?[ \t]+)*)*"
    r"(?:[A-Za-z_]\w*=[^\s;&|(]*[ \t]+)*"
)
"""A command begins, with what starts others and variables before it: it is not in a list of packages that goes over several
lines, or an array."""
_KEPT = (
    r"(?<![\w$.])(?P<name>\w+)=(?P<mark>[\"'])(?:/usr/bin/)?(?P<kept>ssh|scp|sftp)\b(?P<more>(?:(?!(?P=mark))[^\n])*)(?P=mark)"
)
"""A shell's variable that is a command line, where it is run as one (`_is_run`)."""
_NAMES = ("tool", "kept")
_CLIENT = late_pattern(rf"{_BEFORE}(?:/usr/bin/)?{_TOOLS}{_OPERATORS}|{_KEPT}", re.MULTILINE)
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
_MENTION = late_pattern(r"ssh|pdsh|scp|sftp|clush|fabric|paramiko")
"""Most texts have no word of it."""
_WITH_VALUE = {"ssh": "BbcDEeFIiJLlmOopPQRSWw", "scp": "cDFiJloPSX", "sftp": "BbcDFiJloPRSsX"}
"""Options of OpenSSH that take the next word."""
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


class _Given(NamedTuple):
    """A loop or an assignment, and the part of the text where a variable has one of its values."""

    values: tuple[str, ...]
    start: int
    end: int


def apply(draft: Draft) -> None:
    """Tells of each text once, where workers served ssh before."""
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


def _first_place(text: str, spot: Spot, codes: Sequence[Text], pod: _Pod) -> int | None:
    """Where the text first starts a client that may reach a pod; `codes` are the parts of it that are Python code."""
    if not first_match(_MENTION, text):
        return None
    if not codes and is_python_code(text):
        return _in_python(text, pod)
    parts = [(0 if spot.is_decoded else code.spot.start - spot.start, code.text) for code in codes]
    found = [start + at for start, code in parts if (at := _in_python(code, pod)) is not None]
    places = (_place(match) for match in _clients(text, pod))
    in_shell = (at for at in places if not any(start <= at < start + len(code) for start, code in parts))
    return min([*found, *islice(in_shell, 1)], default=None)


def _place(client: re.Match[str]) -> int:
    return max(client.start(), client.start("tool"))


def _clients(text: str, pod: _Pod) -> Iterator[re.Match[str]]:
    """The clients of a shell text, comments aside, that do not name only hosts other than the job's pods."""
    for found in _CLIENT.finditer(text):
        tool = next((name for group in _NAMES if (name := found[group])), "")
        if found["kept"] and not _is_run(found):
            continue
        is_comment = line_of(text, found.end()).lstrip().startswith("#")
        hosts = _hosts(tool, _words(found)) if tool in _WITH_VALUE else []
        hosts = [one for host in hosts for one in _held(found, host, pod)]
        if not is_comment and not _are_elsewhere(hosts, pod):
            yield found


def _in_python(code: str, pod: _Pod) -> int | None:
    """The same of Python code: its commands, and libraries for ssh."""
    if parsed(code) is None:
        unread = (found.start() for found in _IN_UNREAD_CODE.finditer(code))
        return next((at for at in unread if not line_of(code, at).startswith("#")), None)
    found = [
        command.start
        for command in commands(code)
        if any(command.is_run or _is_command(_words(client)) for client in _clients(command.text, pod))
    ]
    library = connection(code, _LIBRARIES, _CONNECTS)
    if library and not _are_elsewhere([_host(host) for host in library.hosts], pod):
        found.append(library.start)
    return min(found, default=None)


def _words(found: re.Match[str]) -> list[str]:
    """Behind the name of the client. What is no literal has a dollar."""
    if found["kept"]:
        return [re.sub(r"[%{].*", "$", word) for word in found["more"].split()]
    text = found.string
    words = takewhile(lambda token: isinstance(token, Word), Lexer(text, found.end()).tokens())
    return [word.literal or text[word.start : word.end] for word in words if isinstance(word, Word)]


def _is_command(words: Sequence[str]) -> bool:
    return any(word.startswith(("$", "-")) for word in words)


def _is_run(kept: re.Match[str]) -> bool:
    """Whether the variable stands where a command begins."""
    return re.search(rf"{_BEFORE}\"?\$\{{?{kept['name']}\b", kept.string, re.MULTILINE) is not None


def _hosts(tool: str, words: Sequence[str]) -> list[str]:
    """To which the client connects: ssh and sftp to the first operand, scp to those with a path."""
    operands, is_value = list[str](), False
    for word in words:
        if not is_value and not word.startswith("-"):
            operands.append(word)
        is_value = not is_value and re.fullmatch(rf"-[46ACfGgKkMNnqrTtVvXxYy]*[{_WITH_VALUE[tool]}]", word) is not None
    if tool == "scp":
        return [_host(word) for word in operands if ":" in word]
    return [_host(word) for word in operands[:1]]


def _held(client: re.Match[str], host: str, pod: _Pod) -> list[str]:
    """What a host is that a variable surely holds, by a text that gives it nothing else; the variable itself otherwise."""
    variable = re.fullmatch(r"\"?\$\{?(\w+)\}?\"?", host)
    if variable is None or variable[1] in pod.variables or client.start("tool") not in _own_clients(client.string):
        return [host]
    given = _given(client.string).get(variable[1], ())
    is_given = any(one.start <= client.start("tool") < one.end for one in given)
    return [_host(value) for one in given for value in one.values] if is_given else [host]


@lru_cache(maxsize=8)
def _own_clients(text: str) -> frozenset[int]:
    """Where the commands have clients that this shell, and no other one, gives its variables."""
    words = [word for command in script(text).commands for word in command.words]
    found = ((word.end - len(name), name) for word in words if (name := (word.literal or "").rpartition("/")[2]) in _WITH_VALUE)
    return frozenset(start for start, name in found if text.startswith(name, start))


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
