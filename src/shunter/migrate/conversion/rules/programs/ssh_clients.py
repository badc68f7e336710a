"""Programs of an MPIJob that come into its workers by ssh themselves: the server of v2 has another port and other keys."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import takewhile

from shunter.migrate.conversion.draft import Draft
from shunter.migrate.conversion.launch.reads import line_of
from shunter.migrate.conversion.launch.shell_words import Lexer, Word
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
        "The workers run an ssh server, by the configuration of the image and with the keys of mpi-operator or the image. The "
        "server of the result reads nothing of that: it listens at port 2222 and takes the key in /etc/mpi-ssh. mpirun is told "
        "so; a program that starts ssh by itself reaches no node. Clients that name a host outside the job are left out."
    ),
    remedy="Write $OMPI_MCA_plm_rsh_agent HOST COMMAND, the ssh that mpirun starts.",
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
_CALL = (
    r"\b(?:subprocess\.\w+|(?:exec|spawn|posix_spawn)\w*|Popen|run|call|check_\w+|create_subprocess_exec|Command)"
    r"\(\s*(?:os\.P_\w+\s*,\s*)?(?:\w+\s*=\s*)?[\[(]?\s*[\"'](?:/usr/bin/)?(?P<called>ssh|scp|sftp)[\"']\s*,"
    r"(?:\s*\[?\s*[\"'](?P=called)[\"']\s*,)?"
)
_LISTED = r"(?:\[|=\s*\()\s*[\"'](?:/usr/bin/)?(?P<listed>ssh|scp|sftp)[\"']\s*,"
"""A list or tuple that is kept to be run: one of names alone, as of packages, is none."""
_IN_TEXT = (
    r"\b(?:system|popen|getoutput|getstatusoutput|run|call|check_\w+|Popen|create_subprocess_shell)\(\s*(?:\w+\s*=\s*)?"
    r"[rbfRBF]{0,2}(?P<quote>[\"'])(?:/usr/bin/)?(?P<in_text>ssh|scp|sftp)[ \t]+(?P<rest>(?:(?!(?P=quote))[^\\\n]|\\.)*)"
)
"""A command line in a text that a shell gets."""
_KEPT = (
    r"(?<![\w$.])(?P<name>\w+)=(?P<mark>[\"'])(?:/usr/bin/)?(?P<kept>ssh|scp|sftp)\b(?P<more>(?:(?!(?P=mark))[^\n])*)(?P=mark)"
)
"""A shell's variable that is a command line, where it is run as one (`_is_run`)."""
_LIBRARY = r"(?<!\w )(?<!\w)(?:import|from)\s+(?:paramiko|fabric|asyncssh)\b"
_NAMES = ("tool", "called", "in_text", "listed", "kept")
_CLIENT = re.compile(
    rf"{_BEFORE}(?:/usr/bin/)?{_TOOLS}{_OPERATORS}|{_CALL}|{_IN_TEXT}|{_LISTED}|{_KEPT}|{_LIBRARY}", re.MULTILINE
)
_ARGUMENT = re.compile(r"\s*(?:[\"']([^\"']*)[\"']|([^,\])]+?))\s*(,|[\])]|$)")
"""Of a call: a literal, or what is only known as it runs."""
_WITH_VALUE = {"ssh": "BbcDEeFIiJLlmOopPQRSWw", "scp": "cDFiJloPSX", "sftp": "BbcDFiJloPRSsX"}
"""Options of OpenSSH that take the next word."""


def apply(draft: Draft) -> None:
    """Tells of each text once, where workers served ssh before."""
    if "mpi" not in draft.ml_policy or not serves_ssh(draft):
        return
    pods = frozenset(host.partition(".")[0] for host in draft.hosts)
    for programs in all_programs(draft):
        for text, spot in programs.texts:
            if first_match(_CLIENT, text) and (found := _first_that_may_reach(text, pods)):
                start = max(found.start(), found.start("tool"))
                path, offset = place(programs, spot, spot.offset(start))
                line = quoted(text, start, spot)
                says = f"{line} starts ssh, and v2's server listens at port {PORT} and takes a key of the job."
                draft.report(OWN_CLIENT, path, says, offset=offset)


def _first_that_may_reach(text: str, pods: frozenset[str]) -> re.Match[str] | None:
    """The first client, comments aside, that does not name only hosts other than the job's pods."""
    for found in _CLIENT.finditer(text):
        tool = next((name for group in _NAMES if (name := found[group])), "")
        if (found["listed"] and not _is_command(_words(found))) or (found["kept"] and not _is_run(found)):
            continue
        is_comment = line_of(text, found.end()).lstrip().startswith("#")
        hosts = _hosts(tool, _words(found)) if tool in _WITH_VALUE else []
        if not is_comment and not (hosts and all(_is_elsewhere(host, pods) for host in hosts)):
            return found
    return None


def _words(found: re.Match[str]) -> list[str]:
    """Behind the name of the client. What is no literal has a dollar, in Python as well."""
    if found["called"] or found["listed"]:
        return [*_arguments(found.string, found.end())]
    if found["in_text"] or found["kept"]:
        return [re.sub(r"[%{].*", "$", word) for word in (found["rest"] or found["more"] or "").split()]
    text = found.string
    words = takewhile(lambda token: isinstance(token, Word), Lexer(text, found.end()).tokens())
    return [word.literal or text[word.start : word.end] for word in words if isinstance(word, Word)]


def _is_command(words: Sequence[str]) -> bool:
    return any(word.startswith(("$", "-")) for word in words)


def _is_run(kept: re.Match[str]) -> bool:
    """Whether the variable stands where a command begins."""
    return re.search(rf"{_BEFORE}\"?\$\{{?{kept['name']}\b", kept.string, re.MULTILINE) is not None


def _arguments(text: str, position: int) -> Iterator[str]:
    while found := _ARGUMENT.match(text, position):
        yield f"${found[2]}" if found[1] is None else found[1]
        if found[3] != ",":
            return
        position = found.end()


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


def _host(operand: str) -> str:
    """Without user, port and path."""
    address = re.sub(r"^\w+://", "", operand)
    return re.split(r"[:/]", address)[0].rpartition("@")[2]


def _is_elsewhere(host: str, pods: frozenset[str]) -> bool:
    return re.fullmatch(r"[\w-]+(\.[\w-]+)+", host) is not None and host.partition(".")[0] not in pods
