"""A process that forks for each request of the agent: what the launcher (..zygote) and warm parents share."""

from __future__ import annotations

import os
import select
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NoReturn

from shunter.cluster.node.launch import linux
from shunter.cluster.node.launch.requests import packed, requests

Begin = Callable[[dict[str, Any], int], None]
Prepare = Callable[[socket.socket], Begin]
"""Prepares a fork, given the socket on which its request will arrive; its own forks must not keep that socket. Raises OSError."""
_DESCRIPTORS = 65536
_SPARES = 2
_QUIET_MILLISECONDS = 150
"""How long no request has come before a spare fork is made: long enough for the last fork to start, short enough to be ready for
the next of several consecutive jobs."""


def detach(descriptor: int) -> None:
    """Detaches the calling process from the agent's session and closes all its files but the standard streams and the socket."""
    os.setsid()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    close_descriptors(keep=descriptor)


def close_descriptors(keep: int = 2) -> None:
    """Closes all files but the standard streams and the one to keep."""
    os.closerange(3, keep)
    os.closerange(keep + 1, _DESCRIPTORS)


def serve(
    connection: socket.socket,
    begin: Begin,
    prepare: Prepare | None = None,
    is_for_spare: Callable[[dict[str, Any]], bool] | None = None,
) -> None:
    """Forks for each request, until the agent is gone. `begin` runs in the fork, with the request and its descriptor, and does
    not return. This process never waits for a fork and holds no state.

    With `prepare`, two spare forks are made in advance, while there are no requests: `prepare` runs in each, and what it returns
    begins the fork's request. A request that finds no spare gets a new fork. With `is_for_spare`, spares take only requests for
    which it is true, and none is made before the first of these."""
    # Children are reaped by the kernel: how they ended is not needed here.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    spares: list[socket.socket] = []
    received = requests(connection)
    are_needed = is_for_spare is None
    while True:
        if prepare is not None and are_needed:
            _add_spares(spares, prepare, begin, connection)
        found = next(received, None)
        if found is None:
            return
        request, descriptor = found
        suits = is_for_spare is None or is_for_spare(request)
        are_needed = are_needed or suits
        if not (suits and _is_taken(spares, request, descriptor)) and os.fork() == 0:
            close(connection, *spares)
            _begin(begin, request, descriptor)
        os.close(descriptor)


def fork_with_socket() -> tuple[int, socket.socket]:
    """Forks. Returns the fork's process ID (0 in the fork) and the caller's end of a socket between both. Raises OSError."""
    ours, theirs = socket.socketpair()
    try:
        number = os.fork()
    except OSError:
        close(ours, theirs)
        raise
    kept, other = (ours, theirs) if number else (theirs, ours)
    close(other)
    return number, kept


def close(*sockets: socket.socket) -> None:
    """Closes the descriptors of the sockets, even while other code refers to the objects."""
    for one in sockets:
        os.close(one.detach())


def _add_spares(spares: list[socket.socket], prepare: Prepare, begin: Begin, connection: socket.socket) -> None:
    """Makes the missing spare forks; returns early when a request comes. Logs when a fork fails; the next request has it tried
    again."""
    poll = select.poll()
    poll.register(connection, select.POLLIN)
    while len(spares) < _SPARES and not poll.poll(_QUIET_MILLISECONDS):
        try:
            number, channel = fork_with_socket()
        except OSError as error:
            _log_missing_fork(error)
            return
        if number == 0:
            close(connection, *spares)
            _await_request(channel, prepare, begin)
        spares.append(channel)


def _await_request(channel: socket.socket, prepare: Prepare, begin: Begin) -> NoReturn:
    """Waits for a request on `channel` and begins it; when `prepare` fails, as an ordinary fork does, as a request may be on its
    way. Ends when the last process that has the other end closes it."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    linux.die_with_parent(signal.SIGKILL)  # one that is stopped does not see that its channel ends
    try:
        begin = prepare(channel)
    except OSError as error:
        _log_missing_fork(error)
    if found := next(requests(channel), None):
        linux.die_with_parent(0)
        close(channel)
        _begin(begin, *found)
    os._exit(0)


def _is_taken(spares: list[socket.socket], request: dict[str, Any], descriptor: int) -> bool:
    """Whether a spare fork was still there to take the request."""
    while spares:
        with spares.pop(0) as spare, suppress(BrokenPipeError, ConnectionResetError):
            socket.send_fds(spare, [packed(request)], [descriptor])
            return True
    return False


def _log_missing_fork(error: OSError) -> None:
    print(f"Containers start later: no process could be made ready for the next one: {error}", file=sys.stderr, flush=True)


def _begin(begin: Begin, request: dict[str, Any], descriptor: int) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.set_inheritable(descriptor, False)
    begin(request, descriptor)


def entry_point(module: str) -> str:
    """The `-c` program that starts a module beside this one; on its path are the standard library and, last, this package."""
    source = os.path.abspath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 4))
    start = f"from shunter.cluster.node.launch import {module}; {module}.main(int(sys.argv[1]), *sys.argv[2:])"
    return f"import sys; sys.path.append({source!r}); {start}"
