"""The launcher's loop: requests in, one forked child for each. The loop itself never blocks on a child and holds no state.

    python -I -S -c "..." SOCKET_FD [HOLDER_FILE]     started by ..launcher, ends when the agent's end of the socket closes

With a holder file it works in a user namespace (see user_namespace). A request is a length, a JSON object and one file
descriptor. For `run` that is the write end of the attempt's `events` FIFO; for every other request a socket on which the child
answers with one JSON object, `{"error": ...}` when it failed, and with the descriptors that were asked for.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import struct
import sys
import traceback
from collections.abc import Callable
from typing import Any, NoReturn

from shunter.cluster.node.launch import execution, linux, removal, sandbox, sockets, supervisor, user_namespace

HEADER = struct.Struct("!I")


def main(descriptor: int, holder_file: str = "") -> None:
    """Serves requests until the agent is gone."""
    # Children are reaped by the kernel: the launcher has no use for how they ended.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.setsid()
    if sys.platform == "linux":
        linux.set_process_name("shunter-launch")
    problem = ""
    if holder_file:
        try:
            user_namespace.enter(holder_file)
        except OSError as error:
            problem = f"{error.strerror}: {error.filename or 'user namespace'}"
    with socket.socket(fileno=descriptor) as connection:
        while True:
            header, descriptors, _, _ = socket.recv_fds(connection, HEADER.size, 1)
            if not header:
                return
            request = json.loads(_receive(connection, HEADER.unpack(header)[0]))
            _fork(connection, request, descriptors[0], problem)
            os.close(descriptors[0])


def _fork(connection: socket.socket, request: dict[str, Any], descriptor: int, problem: str) -> None:
    if os.fork() == 0:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.close(connection.detach())
        os.set_inheritable(descriptor, False)
        if request["do"] == "run":
            supervisor.supervise(request["directory"], descriptor)
        _answer(request, descriptor, problem)


def _answer(request: dict[str, Any], descriptor: int, problem: str) -> NoReturn:
    opened: list[socket.socket] = []
    answer: dict[str, Any] = {}
    try:
        if problem:
            answer = {"error": problem}
        elif request["do"] == "sockets":
            opened = sockets.open_sockets(request)
        else:
            answer = {"result": _HANDLERS[request["do"]](request)}
    except OSError as error:
        answer = {"error": f"{error.strerror}: {error.filename}" if error.filename else str(error)}
    except Exception:
        answer = {"error": traceback.format_exc(limit=-3)}
    with socket.socket(fileno=descriptor) as channel:
        if opened:
            socket.send_fds(channel, [b" "], [one.fileno() for one in opened])
        channel.sendall(json.dumps(answer).encode())
    os._exit(0)


_HANDLERS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "bridge": sandbox.create_bridge,
    "pod": sandbox.create_pod,
    "execute": execution.execute_in_container,
    "remove": removal.remove_tree,
}


def _receive(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        chunk = connection.recv(size - len(data))
        if not chunk:
            raise EOFError("the agent closed its connection in the middle of a request")
        data += chunk
    return data


def entry_point() -> str:
    """The `-c` program that starts the launcher with nothing but the standard library on its path."""
    source = os.path.abspath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 4))
    start = "from shunter.cluster.node.launch import zygote; zygote.main(int(sys.argv[1]), *sys.argv[2:])"
    return f"import sys; sys.path.append({source!r}); {start}"
