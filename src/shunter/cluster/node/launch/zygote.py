"""The launcher's loop: requests in, one forked child for each. The loop itself never blocks on a child and holds no state.

    python -I -S -c "..." SOCKET_FD       started by ..launcher, ends when the agent's end of the socket closes

A request is a length, a JSON object and one file descriptor. For `run` that is the write end of the attempt's `events` FIFO; for
every other request a pipe on which the child answers with one JSON object, `{"error": ...}` when it failed.
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

from shunter.cluster.node.launch import execution, linux, removal, sandbox, supervisor

HEADER = struct.Struct("!I")


def main(descriptor: int) -> None:
    """Serves requests until the agent is gone."""
    # Children are reaped by the kernel: the launcher has no use for how they ended.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.setsid()
    if sys.platform == "linux":
        linux.set_process_name("shunter-launch")
    with socket.socket(fileno=descriptor) as connection:
        while True:
            header, descriptors, _, _ = socket.recv_fds(connection, HEADER.size, 1)
            if not header:
                return
            request = json.loads(_receive(connection, HEADER.unpack(header)[0]))
            _fork(connection, request, descriptors[0])
            os.close(descriptors[0])


def _fork(connection: socket.socket, request: dict[str, Any], descriptor: int) -> None:
    if os.fork() == 0:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.close(connection.detach())
        os.set_inheritable(descriptor, False)
        if request["do"] == "run":
            supervisor.supervise(request["directory"], descriptor)
        _answer(request, descriptor)


def _answer(request: dict[str, Any], descriptor: int) -> NoReturn:
    try:
        answer = {"result": _HANDLERS[request["do"]](request)}
    except OSError as error:
        answer = {"error": f"{error.strerror}: {error.filename}" if error.filename else str(error)}
    except Exception:
        answer = {"error": traceback.format_exc(limit=-3)}
    data = json.dumps(answer).encode()
    while data:
        data = data[os.write(descriptor, data) :]
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
    return (
        f"import sys; sys.path.append({source!r}); from shunter.cluster.node.launch import zygote; zygote.main(int(sys.argv[1]))"
    )
