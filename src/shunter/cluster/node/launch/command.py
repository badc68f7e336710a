"""A command in a running container, whose input and output the agent handles: what `kubectl exec` runs."""

from __future__ import annotations

import os
import select
import signal
import sys
from collections.abc import Callable
from typing import Any, NoReturn

from shunter.cluster.node.launch.entering import RunningContainer
from shunter.cluster.node.launch.executable import execute
from shunter.cluster.node.launch.supervisor import exit_code, process_defaults, read_all

HandOver = Callable[[list[int]], None]
"""Sends descriptors to the agent."""
_WAIT_SECONDS = 0.2


def run_command(request: dict[str, Any], hand_over: HandOver) -> dict[str, Any]:
    """Runs `argv` in the container of the attempt in `directory`, to its end or the container's; returns its exit code.

    Hands over, once it runs, with `terminal` one descriptor, the terminal's master; else one for each name in `streams`, in this
    order: stdin, stdout, stderr. Raises RuntimeError in runc's words when it cannot be started.
    """
    container = RunningContainer(request["directory"])
    # Opened before entering: the ID of the container's first process is one of the machine's PID namespace.
    container_end = _pid_descriptor(container.pid)
    container.enter()
    if request["terminal"]:
        master, slave = os.openpty()
        ours, theirs = [master], [slave]
        environment = {**container.spec["env"], "TERM": "xterm"}
    else:
        ours, theirs = _pipes(request["streams"])
        environment = container.spec["env"]
    failure, failure_in = os.pipe()
    child = os.fork()
    if child == 0:
        _become(request["argv"], environment, container, theirs, failure_in, terminal=request["terminal"])
    for descriptor in (*theirs, failure_in):
        os.close(descriptor)
    error = read_all(failure)
    if error:
        os.waitpid(child, 0)
        raise RuntimeError(error.decode(errors="replace"))
    hand_over(ours)
    for descriptor in ours:
        os.close(descriptor)
    return {"exit_code": exit_code(_wait(child, container.pid, container_end))}


def _pipes(streams: list[str]) -> tuple[list[int], list[int]]:
    """Our ends of the requested streams, and the command's three; a stream that is not requested is /dev/null."""
    ours, theirs = [], []
    for name in ("stdin", "stdout", "stderr"):
        if name not in streams:
            theirs.append(os.open("/dev/null", os.O_RDWR | os.O_CLOEXEC))
            continue
        reading, writing = os.pipe()
        ours.append(writing if name == "stdin" else reading)
        theirs.append(reading if name == "stdin" else writing)
    return ours, theirs


def _become(
    argv: list[str], environment: dict[str, str], container: RunningContainer, streams: list[int], failure: int, *, terminal: bool
) -> NoReturn:
    try:
        process_defaults()
        if terminal:
            os.login_tty(streams[0])
        else:
            os.setsid()
            for position, descriptor in enumerate(streams):
                os.dup2(descriptor, position)
        container.join()
        message = execute(argv, environment)
    except Exception as error:
        message = str(error)
    os.write(failure, f"unable to start container process: {message}".encode())
    os._exit(126)


def _wait(child: int, container: int, container_end: int) -> int:
    """The command's wait status. Kills the command when its container ends, which only a PID namespace does by itself."""
    child_end = _pid_descriptor(child)
    if child_end < 0 or container_end < 0:
        return _wait_by_looking(child, container)
    poll = select.poll()
    for descriptor in (child_end, container_end):
        poll.register(descriptor, select.POLLIN)
    ended = {descriptor for descriptor, _ in poll.poll()}
    if child_end not in ended:
        os.killpg(child, signal.SIGKILL)
    return os.waitpid(child, 0)[1]


def _wait_by_looking(child: int, container: int) -> int:
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return status
        try:
            os.kill(container, 0)
        except ProcessLookupError:
            os.killpg(child, signal.SIGKILL)
        select.select([], [], [], _WAIT_SECONDS)


def _pid_descriptor(pid: int) -> int:
    """A descriptor that is readable once the process has ended; -1 where the system does not support pidfds."""
    return os.pidfd_open(pid) if sys.platform == "linux" else -1
