"""The shell text that starts a program in a pod: `shunter run` writes it, a node that starts the program warm reads it. Pure."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import NamedTuple

_PREPARATION = """\
trap 'exit 143' TERM
{steps} || exit
program= early= told=
"""
_PROGRAM = """\
trap 'told=1; if [ "$program" ]; then kill -TERM "$program" 2>/dev/null; else early=1; fi' TERM
{command} "$@" & program=$!
[ -z "$early" ] || kill -TERM "$program"
wait "$program"; code=$?
while [ "$told" ]; do told=; wait "$program"; again=$?; [ "$again" = 127 ] || code=$again; done
exit "$code\""""
"""The first process of a container gets only the signals that it asked for, which few programs do in their first seconds: a job
deleted then would use up its grace period. So the shell stays, passes a SIGTERM on, and ends as the program does: a `wait` that
the signal cut short says 143, and the next one the truth, or 127 where it was the truth already."""
_EXPORT = re.compile(r"export (\w+)=(.*)")
_TEXT = re.compile(
    re.escape(_PREPARATION + _PROGRAM)
    .replace(re.escape("{steps}"), "(?P<steps>.*)")
    .replace(re.escape("{command}"), "(?P<command>.*)"),
    re.S,
)


class ProgramStart(NamedTuple):
    """What a pod's first process does: it takes the steps, and if all succeed it starts the command, with the arguments that the
    shell was given, and waits for it."""

    steps: str
    """Shell commands with && between them; `:` for none."""
    variables: Mapping[str, str]
    """Exported to the command; the values are words of the shell."""
    command: tuple[str, ...]
    """The words of the program, without its own arguments."""

    @property
    def text(self) -> str:
        """What `sh -c` is given."""
        command = "\n".join((*self._exports, shlex.join(self.command)))
        return (_PREPARATION + _PROGRAM).format(steps=self.steps, command=command)

    @property
    def preparation(self) -> str:
        """The part that comes before the command: after it a shell has the command's environment."""
        return _PREPARATION.format(steps=self.steps) + "".join(f"{line}\n" for line in self._exports)

    @property
    def _exports(self) -> list[str]:
        return [f"export {name}={value}" for name, value in self.variables.items()]


def read_start(text: str) -> ProgramStart | None:
    """What made this text; None for another text."""
    if (found := _TEXT.fullmatch(text)) is None:
        return None
    variables, command = {}, found["command"]
    while (first := command.partition("\n"))[1] and (export := _EXPORT.fullmatch(first[0])):
        variables[export[1]] = export[2]
        command = first[2]
    try:
        start = ProgramStart(found["steps"], variables, tuple(shlex.split(command)))
    except ValueError:  # a quotation mark without its second
        return None
    return start if start.text == text else None
