"""Whether the workers of an MPIJob do nothing by themselves until mpirun comes: they sleep, or serve ssh, as v2's runtime does.

What a worker's shell does before that is without effect where v1 starts processes by `kubectl exec`, or where the runtime's own
ssh server neither reads nor needs it: its directory, host keys and the configuration of the image.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from posixpath import normpath
from typing import NamedTuple

from shunter.api.late_patterns import late_pattern
from shunter.api.meta import Json
from shunter.jobs.commands.arguments import Argument, SourceRange
from shunter.jobs.commands.launcher_options import program_name
from shunter.jobs.commands.shell import script
from shunter.jobs.commands.shells import SHELLS, shell_operands
from shunter.jobs.commands.wrappers import unwrapped

_WAITING = frozenset({"sleep", "tail", "cat", "pause", "sshd"})
"""Programs by which workers pass their time until mpirun comes."""
_WITHOUT_EFFECT = frozenset(
    {":", "[", "[[", "date", "echo", "export", "hostname", "id", "printf", "set", "test", "true", "wait", "whoami"}
)
"""Programs that leave nothing behind that a process started by `kubectl exec` or by ssh would see."""
_SUBSTITUTIONS = ("$(", "`", "<(", ">(")
"""They run programs of their own."""
_TRAPPED = late_pattern(r"|:|-|true|exit(?: +\d+)?")
"""What a trap may do: nothing, or end the shell."""
_UNKNOWN = "$"
"""In the place of a word that the shell makes."""


class _Editor(NamedTuple):
    """A program that changes the files that it is given, and how it is called if it does nothing else."""

    options: re.Pattern[str]
    with_value: str = ""
    """The option whose next word is its value."""
    first: re.Pattern[str] | None = None
    """The operand before the files, or the value of the option in its place."""


_EDITS = late_pattern(
    r"(?:\s*(?:(?:/(?:[^/\\\n]|\\.)*+/|\d+|\$)\s*)?"
    r"(?:d|[aic][^\n]*+|s(?P<mark>[^\w\s\\])(?:(?!(?P=mark))[^\\\n]|\\.)*+(?P=mark)(?:(?!(?P=mark))[^\\\n]|\\.)*+(?P=mark)[gpIi\d]*+)"
    r"[ \t]*(?:[;\n]|$))+"
)
"""A script of sed that deletes, adds and replaces: others may write files, and run programs."""
_EDITORS = {
    "chmod": _Editor(late_pattern(r"-[Rvcf]+|--recursive"), first=late_pattern(r"[0-7]+|[ugoa]*[-+=][ugorwxXst,+=-]*")),
    "chown": _Editor(late_pattern(r"-[RvcfhH]+|--recursive"), first=late_pattern(r"[\w.-]+(?::[\w.-]*)?|:[\w.-]+")),
    "mkdir": _Editor(late_pattern(r"-[pv]+|-m[0-7]*|--parents|--mode=[0-7]+"), with_value="-m"),
    "rm": _Editor(late_pattern(r"-[rRfvd]+|--recursive|--force")),
    "sed": _Editor(late_pattern(r"-[nrEsuz]+|-[nrEsuz]*i[^/]*|--in-place|-e"), with_value="-e", first=_EDITS),
    "touch": _Editor(late_pattern(r"-[acm]+")),
}
_OF_SSHD = ("/run/sshd/", "/var/run/sshd/", "/etc/ssh/")
"""Paths of the image's ssh server: the runtime makes the first, which is also the second, and reads nothing of the last."""
_NO_FILE = "/dev/null"
_SSH_SERVER = (
    ("service", "ssh", "start"),
    ("service", "sshd", "start"),
    ("/etc/init.d/ssh", "start"),
    ("ssh-keygen", "-A"),
)
"""Commands that start the image's ssh server, and make its host keys."""


def only_waits(container: Json) -> bool:
    """Whether the container's program, alone or in a shell, does nothing that a process of mpirun could notice."""
    words = [str(word) for field in ("command", "args") for word in container.get(field) or []]
    started = [word.value for word in unwrapped([Argument(word, SourceRange(("command", 0))) for word in words]).words]
    if not started or program_name(started[0]) not in SHELLS:
        return _waits(started)
    operands = shell_operands(started)
    return operands.is_text and operands.start < len(started) and _only_waits(started[operands.start])


def _only_waits(text: str) -> bool:
    commands = [(command, [_word(word.literal) for word in command.words]) for command in script(text).commands]
    return (
        not any(start in text for start in _SUBSTITUTIONS)
        and any(_waits(words) for _, words in commands)
        and all(_waits(words) or _has_no_effect(words) for _, words in commands)
        and all(_is_of_sshd(_word(output.literal)) for command, _ in commands for output in command.outputs)
    )


def _word(literal: str | None) -> str:
    return _UNKNOWN if literal is None else literal


def _waits(words: Sequence[str]) -> bool:
    words = words[1:] if words[:1] == ["exec"] else words
    return bool(words) and program_name(words[0]) in _WAITING


def _has_no_effect(words: Sequence[str]) -> bool:
    if not words or words[0] in _WITHOUT_EFFECT or tuple(words) in _SSH_SERVER:
        return True
    if words[0] == "trap":
        action = next(iter(words[2:] if words[1:2] == ["--"] else words[1:]), _UNKNOWN)
        return _TRAPPED.fullmatch(action) is not None
    editor = _EDITORS.get(words[0])
    return editor is not None and _edits_of_sshd(editor, words[1:])


def _edits_of_sshd(editor: _Editor, words: Sequence[str]) -> bool:
    """Whether the program, called with these words, changes only what is of the image's ssh server."""
    operands: list[str] = []
    values: list[str] = []
    remaining = iter(words)
    for word in remaining:
        if not word.startswith("-"):
            operands.append(word)
        elif editor.options.fullmatch(word) is None:
            return False
        elif word == editor.with_value:
            values.append(next(remaining, _UNKNOWN))
    if editor.first is not None:
        if not values:
            values, operands = operands[:1], operands[1:]
        if not all(map(editor.first.fullmatch, values)):
            return False
    return bool(operands) and all(map(_is_of_sshd, operands))


def _is_of_sshd(path: str) -> bool:
    return path == _NO_FILE or ("{" not in path and f"{normpath(path)}/".startswith(_OF_SSHD))
