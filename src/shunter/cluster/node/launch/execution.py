"""A non-interactive command inside a running container: exec probes and lifecycle hooks."""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from typing import Any, NoReturn

from shunter.cluster.node.launch.entering import RunningContainer
from shunter.cluster.node.launch.executable import execute
from shunter.cluster.node.launch.supervisor import exit_code, process_defaults

_MAX_OUTPUT = 10 * 1024


def execute_in_container(request: dict[str, Any]) -> dict[str, Any]:
    """Runs `argv` in the container of the attempt in `directory` for at most `timeout` seconds.

    Returns exit_code (None when it ran out of time; 126 when it could not be started, as runc does) and the first 10 KiB of its
    output. Raises when the container does not run.
    """
    container = RunningContainer(request["directory"])
    container.enter()
    output, output_in = os.pipe()
    child = os.fork()
    if child == 0:
        _become(request["argv"], container, output_in)
    os.close(output_in)
    deadline = time.monotonic() + request["timeout"]
    text, timed_out = _collect(output, deadline)
    timed_out = timed_out or not _ends_by(deadline, child)
    if timed_out:
        os.killpg(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return {"exit_code": None if timed_out else exit_code(status), "output": text.decode(errors="replace")}


def _become(argv: list[str], container: RunningContainer, output: int) -> NoReturn:
    try:
        process_defaults()
        os.setsid()
        os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
        os.dup2(output, 1)
        os.dup2(output, 2)
        container.join()
        os.write(2, execute(argv, container.spec["env"]).encode())
    finally:
        os._exit(126)


def _ends_by(deadline: float, child: int) -> bool:
    """Whether a command that has closed its output ends in time."""
    if sys.platform != "linux":
        return True
    poll = select.poll()
    poll.register(os.pidfd_open(child), select.POLLIN)
    return bool(poll.poll(max(0.0, deadline - time.monotonic()) * 1000))


def _collect(descriptor: int, deadline: float) -> tuple[bytes, bool]:
    """Reads until the end of file; returns the beginning of it, and whether the deadline came first."""
    text = b""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    while True:
        if not poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
            return text, True
        chunk = os.read(descriptor, 4096)
        if not chunk:
            return text, False
        text = (text + chunk)[:_MAX_OUTPUT]
