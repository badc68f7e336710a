"""A process that forks for each request of the agent: what the launcher (..zygote) and warm parents share."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Callable
from typing import Any

from shunter.cluster.node.launch.requests import requests

_DESCRIPTORS = 65536


def detach(descriptor: int) -> None:
    """The calling process keeps nothing of the agent's but its standard streams and the socket: no session, no open file."""
    os.setsid()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    close_descriptors(keep=descriptor)


def close_descriptors(keep: int = 2) -> None:
    """Closes all files but the standard streams and the one to keep."""
    os.closerange(3, keep)
    os.closerange(keep + 1, _DESCRIPTORS)


def serve(connection: socket.socket, begin: Callable[[dict[str, Any], int], None]) -> None:
    """Forks for each request, until the agent is gone. `begin` runs in the fork, with the request and its descriptor, and does
    not return. This process never waits for a fork and holds no state."""
    # Children are reaped by the kernel: nobody here needs to know how they ended.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for request, descriptor in requests(connection):
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.close(connection.detach())
            os.set_inheritable(descriptor, False)
            begin(request, descriptor)
        os.close(descriptor)


def entry_point(module: str) -> str:
    """The `-c` program that starts a module beside this one; on its path are the standard library and, last, this package."""
    source = os.path.abspath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 4))
    start = f"from shunter.cluster.node.launch import {module}; {module}.main(int(sys.argv[1]), *sys.argv[2:])"
    return f"import sys; sys.path.append({source!r}); {start}"
