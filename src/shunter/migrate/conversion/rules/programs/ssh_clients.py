"""Programs of an MPIJob that come into its workers by ssh themselves: the server of v2 has another port and other keys."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice, takewhile

from shunter.api.late_patterns import late_pattern
from shunter.migrate.conversion.draft import Draft
from shunter.migrate.conversion.launch.arguments import Spot
from shunter.migrate.conversion.launch.pod_reads import python_texts
from shunter.migrate.conversion.launch.python_code import is_python_code, parsed
from shunter.migrate.conversion.launch.python_commands import commands, connection
from shunter.migrate.conversion.launch.reads import line_of
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


def apply(draft: Draft) -> None:
    """Tells of each text once, where workers served ssh before."""
    if "mpi" not in draft.ml_policy or not serves_ssh(draft):
        return
    pods = frozenset(host.partition(".")[0] for host in draft.hosts)
    for programs in all_programs(draft):
        codes = python_texts(programs.container, programs.volumes, draft.texts_of)
        for text, spot in programs.texts:
            within = [code for code in codes if (code.spot.file, code.spot.path) == (spot.file, spot.path)]
            if (start := _first_place(text, spot, within, pods)) is not None:
                path, offset = place(programs, spot, spot.offset(start))
                line = quoted(text, start, spot)
                says = f"{line} starts ssh, and v2's server listens at port {PORT} and takes a key of the job."
                draft.report(OWN_CLIENT, path, says, offset=offset)


def _first_place(text: str, spot: Spot, codes: Sequence[Text], pods: frozenset[str]) -> int | None:
    """Where the text first starts a client that may reach a pod; `codes` are the parts of it that are Python code."""
    if not first_match(_MENTION, text):
        return None
    if not codes and is_python_code(text):
        return _in_python(text, pods)
    parts = [(0 if spot.is_decoded else code.spot.start - spot.start, code.text) for code in codes]
    found = [start + at for start, code in parts if (at := _in_python(code, pods)) is not None]
    places = (_place(match) for match in _clients(text, pods))
    in_shell = (at for at in places if not any(start <= at < start + len(code) for start, code in parts))
    return min([*found, *islice(in_shell, 1)], default=None)


def _place(client: re.Match[str]) -> int:
    return max(client.start(), client.start("tool"))


def _clients(text: str, pods: frozenset[str]) -> Iterator[re.Match[str]]:
    """The clients of a shell text, comments aside, that do not name only hosts other than the job's pods."""
    for found in _CLIENT.finditer(text):
        tool = next((name for group in _NAMES if (name := found[group])), "")
        if found["kept"] and not _is_run(found):
            continue
        is_comment = line_of(text, found.end()).lstrip().startswith("#")
        hosts = _hosts(tool, _words(found)) if tool in _WITH_VALUE else []
        hosts = [one for host in hosts for one in _held(text, host)]
        if not is_comment and not _are_elsewhere(hosts, pods):
            yield found


def _in_python(code: str, pods: frozenset[str]) -> int | None:
    """The same of Python code: its commands, and libraries for ssh."""
    if parsed(code) is None:
        unread = (found.start() for found in _IN_UNREAD_CODE.finditer(code))
        return next((at for at in unread if not line_of(code, at).startswith("#")), None)
    found = [
        command.start
        for command in commands(code)
        if any(command.is_run or _is_command(_words(client)) for client in _clients(command.text, pods))
    ]
    library = connection(code, _LIBRARIES, _CONNECTS)
    if library and not _are_elsewhere([_host(host) for host in library.hosts], pods):
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


def _held(text: str, host: str) -> list[str]:
    """What a host is that a variable holds, which the text gives values that are written out; the variable itself otherwise."""
    variable = re.fullmatch(r"\"?\$\{?(\w+)\}?\"?", host)
    if variable is None:
        return [host]
    name = variable[1]
    given = re.findall(rf"(?<![\w$]){name}=(\S*)|\bfor[ \t]+{name}[ \t]+in[ \t]+([^;\n]*)", text)
    is_read = re.search(
        rf"\b(?:read|readarray|mapfile|printf)\b[^;|&\n]*[ \t]{name}\b|\bfor[ \t]+{name}[ \t]*(?:;|\n|do\b)", text
    )
    values = [word.strip("\"';") for words in given for word in " ".join(words).split()]
    return [_host(value) for value in values] if values and is_read is None else [host]


def _host(operand: str) -> str:
    """Without user, port and path."""
    address = re.sub(r"^\w+://", "", operand)
    return re.split(r"[:/]", address)[0].rpartition("@")[2]


def _are_elsewhere(hosts: Sequence[str], pods: frozenset[str]) -> bool:
    """Whether there are hosts, and none of them may be a pod of the job."""
    return bool(hosts) and all(_is_elsewhere(host, pods) for host in hosts)


def _is_elsewhere(host: str, pods: frozenset[str]) -> bool:
    return re.fullmatch(r"[\w-]+(\.[\w-]+)+", host) is not None and host.partition(".")[0] not in pods
