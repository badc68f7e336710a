"""A process that forks for each request of the agent: what the launcher (..zygote) and warm parents share."""

from __future__ import annotations

import os
import select
import signal
import socket
from collections.abc import Callable, Iterable
from typing import Any

from shunter.cluster.node.launch.requests import packed, requests

Begin = Callable[[dict[str, Any], int], None]
_DESCRIPTORS = 65536
_SPARES = 2
_QUIET_SECONDS = 0.3
"""Without a request, until a spare fork is made: not while what was just forked starts."""


def detach(descriptor: int) -> None:
    """The calling process keeps nothing of the agent's but its standard streams and the socket: no session, no open file."""
    os.setsid()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    close_descriptors(keep=descriptor)


def close_descriptors(keep: int = 2) -> None:
    """Closes all files but the standard streams and the one to keep."""
    os.closerange(3, keep)
    os.closerange(keep + 1, _DESCRIPTORS)


def serve(connection: socket.socket, begin: Begin, spare: Callable[[], Begin] | None = None) -> None:
    """Forks for each request, until the agent is gone. `begin` runs in the fork, with the request and its descriptor, and does
    not return. This process never waits for a fork and holds no state.

    With `spare` two forks are there before they are needed, made while nothing is asked for: `spare` runs in them, and what it
    returns begins the request that comes first; requests that find none are forked for."""
    # Children are reaped by the kernel: nobody here needs to know how they ended.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    waiting: list[socket.socket] = []
    received = requests(connection)
    while True:
        while spare and len(waiting) < _SPARES and not select.select([connection], [], [], _QUIET_SECONDS)[0]:
            waiting.append(_spare(spare, [connection, *waiting]))
        found = next(received, None)
        if found is None:
            return
        request, descriptor = found
        if not (waiting and _is_taken(waiting.pop(0), request, descriptor)) and os.fork() == 0:
            _close(connection, *waiting)
            _begin(begin, request, descriptor)
        os.close(descriptor)


def _spare(prepare: Callable[[], Begin], foreign: Iterable[socket.socket]) -> socket.socket:
    """Forks; the socket on which the fork waits for its request. It ends with the last process that has that, so it keeps none
    of the `foreign` ones."""
    ours, theirs = socket.socketpair()
    if os.fork() == 0:
        _close(ours, *foreign)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        begin = prepare()
        for request, descriptor in requests(theirs):
            _close(theirs)
            _begin(begin, request, descriptor)
        os._exit(0)
    theirs.close()
    return ours


def _is_taken(waiting: socket.socket, request: dict[str, Any], descriptor: int) -> bool:
    """Whether a spare fork was still there to take the request."""
    with waiting:
        try:
            socket.send_fds(waiting, [packed(request)], [descriptor])
        except (BrokenPipeError, ConnectionResetError):
            return False
    return True


def _begin(begin: Begin, request: dict[str, Any], descriptor: int) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.set_inheritable(descriptor, False)
    begin(request, descriptor)


def _close(*sockets: socket.socket) -> None:
    for one in sockets:
        os.close(one.detach())


def entry_point(module: str) -> str:
    """The `-c` program that starts a module beside this one; on its path are the standard library and, last, this package."""
    source = os.path.abspath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 4))
    start = f"from shunter.cluster.node.launch import {module}; {module}.main(int(sys.argv[1]), *sys.argv[2:])"
    return f"import sys; sys.path.append({source!r}); {start}"
