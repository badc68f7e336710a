"""The launcher's loop: requests in, one forked child for each. The loop itself never blocks on a child and holds no state.

    python -I -S -c "..." SOCKET_FD [HOLDER_FILE]     started by ..launcher, ends when the agent's end of the socket closes

With a holder file it works in a user namespace (see user_namespace). A request is a length, a JSON object and one file
descriptor. For `run` that is the write end of the attempt's `events` FIFO; for every other request a socket on which the child
answers with one JSON object, `{"error": ...}` when it failed. Descriptors that were asked for come before it, with a blank.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NoReturn

from shunter.cluster.node.launch import (
    attachments,
    command,
    execution,
    linux,
    removal,
    sandbox,
    sockets,
    supervisor,
    user_namespace,
)
from shunter.cluster.node.launch.requests import requests

_DESCRIPTORS = 65536


def main(descriptor: int, holder_file: str = "") -> None:
    """Serves requests until the agent is gone."""
    # Children are reaped by the kernel: the launcher has no use for how they ended.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.setsid()
    # uvloop leaves more open than it was told to; a container shall have none of it.
    os.closerange(3, descriptor)
    os.closerange(descriptor + 1, _DESCRIPTORS)
    if sys.platform == "linux":
        linux.set_process_name("shunter-launch")
    problem = ""
    if holder_file:
        try:
            user_namespace.enter(holder_file)
        except OSError as error:
            problem = f"{error.strerror}: {error.filename or 'user namespace'}"
    with socket.socket(fileno=descriptor) as connection:
        for request, sent in requests(connection):
            _fork(connection, request, sent, problem)
            os.close(sent)


def _fork(connection: socket.socket, request: dict[str, Any], descriptor: int, problem: str) -> None:
    if os.fork() == 0:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.close(connection.detach())
        os.set_inheritable(descriptor, False)
        if request["do"] == "run":
            supervisor.supervise(request["directory"], descriptor)
        _answer(request, descriptor, problem)


def _answer(request: dict[str, Any], descriptor: int, problem: str) -> NoReturn:
    answer: dict[str, Any] = {}
    with socket.socket(fileno=descriptor) as channel:

        def hand_over(descriptors: list[int]) -> None:
            socket.send_fds(channel, [b" "], descriptors)

        try:
            if problem:
                answer = {"error": problem}
            elif request["do"] in _HANDING_OVER:
                answer = {"result": _HANDING_OVER[request["do"]](request, hand_over)}
            else:
                answer = {"result": _HANDLERS[request["do"]](request)}
        except OSError as error:
            answer = {"error": f"{error.strerror}: {error.filename}" if error.filename else str(error)}
        except RuntimeError as error:
            answer = {"error": str(error)}
        except Exception:
            answer = {"error": traceback.format_exc(limit=-3)}
        # Whoever asked may have gone away meanwhile.
        with suppress(BrokenPipeError, ConnectionResetError):
            channel.sendall(json.dumps(answer).encode())
    os._exit(0)


def _open_sockets(request: dict[str, Any], hand_over: command.HandOver) -> None:
    opened = sockets.open_sockets(request)
    hand_over([one.fileno() for one in opened])


def _connect_inside(request: dict[str, Any], hand_over: command.HandOver) -> None:
    with sockets.connect_inside(request) as connection:
        hand_over([connection.fileno()])


def _attach(request: dict[str, Any], hand_over: command.HandOver) -> None:
    hand_over(attachments.attach(request["directory"], request["streams"]))


_HANDLERS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "bridge": sandbox.create_bridge,
    "pod": sandbox.create_pod,
    "execute": execution.execute_in_container,
    "remove": removal.remove_tree,
}
_HANDING_OVER: dict[str, Callable[[dict[str, Any], command.HandOver], Any]] = {
    "sockets": _open_sockets,
    "connect inside": _connect_inside,
    "command": command.run_command,
    "attach": _attach,
}


def entry_point(module: str = "zygote") -> str:
    """The `-c` program that starts the launcher, or another module beside it, with nothing but the standard library and this
    package on its path."""
    source = os.path.abspath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 4))
    start = f"from shunter.cluster.node.launch import {module}; {module}.main(int(sys.argv[1]), *sys.argv[2:])"
    return f"import sys; sys.path.append({source!r}); {start}"
