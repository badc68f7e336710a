"""Whether the workers of an MPIJob do nothing by themselves until mpirun comes: they sleep, or serve ssh, as v2's runtime does.

What a worker's shell does before that is without effect where v1 starts processes by `kubectl exec`, or where the runtime's own
ssh server neither reads nor needs it: its directory, host keys and the configuration of the image.
"""

from __future__ import annotations

from collections.abc import Sequence

from shunter.api.meta import Json
from shunter.jobs.commands.arguments import Argument, SourceRange
from shunter.jobs.commands.launcher_options import program_name
from shunter.jobs.commands.shell import script
from shunter.jobs.commands.shells import SHELLS, shell_operands
from shunter.jobs.commands.wrappers import unwrapped

_WAITING = frozenset({"sleep", "tail", "cat", "pause", "sshd"})
"""Programs by which workers pass their time until mpirun comes."""
_WITHOUT_EFFECT = frozenset(
    {":", "[", "[[", "date", "echo", "export", "hostname", "id", "printf", "set", "test", "trap", "true", "wait", "whoami"}
)
"""Programs that leave nothing behind that a process started by `kubectl exec` or by ssh would see."""
_ON_PATHS = frozenset({"chmod", "chown", "mkdir", "rm", "sed", "touch"})
_OF_SSHD = ("/run/sshd/", "/var/run/sshd/", "/etc/ssh/")
"""Paths of the image's ssh server: the runtime makes the first, which is also the second, and reads nothing of the last."""
_NO_FILE = "/dev/null"
_SSH_SERVER = (
    ("service", "ssh", "start"),
    ("service", "sshd", "start"),
    ("/etc/init.d/ssh", "start"),
    ("ssh-keygen", "-A"),
)
"""Commands that start the image's ssh server, and make its host keys, by their first words."""


def only_waits(container: Json) -> bool:
    """Whether the container's program, alone or in a shell, does nothing that a process of mpirun could notice."""
    words = [str(word) for field in ("command", "args") for word in container.get(field) or []]
    started = [word.value for word in unwrapped([Argument(word, SourceRange(("command", 0))) for word in words]).words]
    if not started or program_name(started[0]) not in SHELLS:
        return _waits(started)
    operands = shell_operands(started)
    return operands.is_text and operands.start < len(started) and _only_waits(started[operands.start])


def _only_waits(text: str) -> bool:
    commands = [(command, [word.literal or "" for word in command.words]) for command in script(text).commands]
    has_substitutions = "$(" in text or "`" in text  # which run programs of their own
    return (
        not has_substitutions
        and any(_waits(words) for _, words in commands)
        and all(_waits(words) or _has_no_effect(words) for _, words in commands)
        and all(_is_of_sshd(output.literal or "") for command, _ in commands for output in command.outputs)
    )


def _waits(words: Sequence[str]) -> bool:
    words = words[1:] if words[:1] == ["exec"] else words
    return bool(words) and program_name(words[0]) in _WAITING


def _has_no_effect(words: Sequence[str]) -> bool:
    if not words or words[0] in _WITHOUT_EFFECT or any(tuple(words[: len(start)]) == start for start in _SSH_SERVER):
        return True
    paths = [word for word in words[1:] if word.startswith("/")]
    return words[0] in _ON_PATHS and bool(paths) and words[-1] == paths[-1] and all(map(_is_of_sshd, paths))


def _is_of_sshd(path: str) -> bool:
    return path == _NO_FILE or f"{path.rstrip('/')}/".startswith(_OF_SSHD)
