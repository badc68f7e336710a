"""The first process of a warm container whose program a shell starts (`shunter.api.program_start`): it does what the shell does.

The steps before the program, and the environment that they leave, are a real shell's. Only starting the program, which is a fork
here, and waiting for it are done in its place.
"""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from typing import Any

from shunter.cluster.node.launch import linux
from shunter.cluster.node.launch.supervisor import exit_code, read_all

_TERMINATED = 128 + signal.SIGTERM
_TAKES_ENVIRONMENT = 3


def start(shell: dict[str, Any], environment: dict[str, str], directory: str) -> dict[str, str]:
    """Forks. Returns in the program's process, in its `directory` (empty for where the caller is), with its environment; the
    calling process passes SIGTERM on to it, waits for it, and ends as it does."""
    linux.set_process_name("sh")
    signal.signal(signal.SIGTERM, lambda *_: os._exit(_TERMINATED))
    reading, writing = os.pipe()
    # First, so that it has the number that it has behind a shell.
    if (program := os.fork()) == 0:
        os.close(writing)
        return _environment_of_program(reading, directory)
    os.close(reading)
    _prepare(shell, environment, writing)
    signal.signal(signal.SIGTERM, lambda *_: _terminate(program))
    os.close(writing)
    status = _status(program)
    _report(status)
    os._exit(exit_code(status))


def _terminate(process: int) -> None:
    with suppress(ProcessLookupError):  # it has just ended
        os.kill(process, signal.SIGTERM)


def _environment_of_program(reading: int, directory: str) -> dict[str, str]:
    # As a shell without job control has what it starts with `&`.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    for number in (signal.SIGINT, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    variables = read_all(reading)
    if not variables:
        os._exit(1)  # the preparation failed, and the first process ends
    if directory:
        os.chdir(directory)
    pairs = (variable.partition(b"=") for variable in variables.split(b"\0") if variable)
    return {os.fsdecode(name): os.fsdecode(value) for name, _, value in pairs}


def _prepare(shell: dict[str, Any], environment: dict[str, str], writing: int) -> None:
    """Has the shell take its steps and write the environment that it would give the program. Ends the process if one fails."""
    text = f"{shell['preparation']}cat /proc/self/environ >&{_TAKES_ENVIRONMENT} || exit\n"
    actions = [(os.POSIX_SPAWN_DUP2, writing, _TAKES_ENVIRONMENT)]
    spawned = os.posix_spawn(shell["path"], ["sh", "-c", text], environment, file_actions=actions)
    if code := exit_code(_status(spawned)):
        os._exit(code)


def _report(status: int) -> None:
    """What dash writes of a program that a signal ended."""
    if os.WIFSIGNALED(status) and (number := os.WTERMSIG(status)) not in (signal.SIGINT, signal.SIGPIPE):
        os.write(2, f"{signal.strsignal(number)}{' (core dumped)' * os.WCOREDUMP(status)}\n".encode())


def _status(process: int) -> int:
    """The wait status of a child once it has ended; takes in what else ended before, as the first process of a container does."""
    while True:
        ended, status = os.waitpid(-1, 0)
        if ended == process:
            return status
