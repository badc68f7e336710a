"""The launcher: requests in, one forked child for each (see forking).

    python -I -S -c "..." SOCKET_FD [HOLDER_FILE]     started by ..launcher, ends when the agent's end of the socket closes

With a holder file it works in a user namespace (see user_namespace). A request is a length, a JSON object and one file
descriptor. For `run` that is the write end of the attempt's `events` FIFO; for every other request a socket on which the child
answers with one JSON object, `{"error": ..., "errno": ...}` when it failed. Requested descriptors come before it, with a blank.
"""

from __future__ import annotations

import errno
import json
import os
import socket
import sys
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, NoReturn

from shunter.cluster.node.launch import (
    attachments,
    command,
    execution,
    forking,
    linux,
    listening,
    packet_filter,
    removal,
    sandbox,
    sockets,
    supervisor,
    user_namespace,
)
from shunter.cluster.node.launch.netlink import RouteSocket

HandingOver = Callable[[dict[str, Any], command.HandOver], Any]
"""Answers a request, after handing over its descriptors."""


def main(descriptor: int, holder_file: str = "") -> None:
    """Serves requests until the agent is gone."""
    forking.detach(descriptor)
    if sys.platform == "linux":
        linux.set_process_name("shunter-launch")
    problem = user_namespace.enter(holder_file) if holder_file else ""

    def begin(request: dict[str, Any], sent: int) -> None:
        if request["do"] == "run":
            supervisor.supervise(request["directory"], sent)
        _answer(request, sent, problem)

    with socket.socket(fileno=descriptor) as connection:
        forking.serve(connection, begin, None if problem else _prepare_pod, _is_pod_with_network)


def _is_pod_with_network(request: dict[str, Any]) -> bool:
    return request["do"] == "pod" and bool(request.get("network"))


def _prepare_pod(channel: socket.socket) -> forking.Begin:
    """Creates the namespaces of a pod in advance."""
    linux.set_process_name("shunter-spare")
    create = partial(_create_pod, host=sandbox.enter_new_namespaces(own_network=True))

    def begin(request: dict[str, Any], sent: int) -> None:
        _answer(request, sent, "", {"pod": create})

    return begin


def _answer(
    request: dict[str, Any], descriptor: int, problem: str, handing_over: Mapping[str, HandingOver] | None = None
) -> NoReturn:
    by_name = _HANDING_OVER if handing_over is None else handing_over
    answer: dict[str, Any] = {}
    with socket.socket(fileno=descriptor) as channel:

        def hand_over(descriptors: list[int]) -> None:
            socket.send_fds(channel, [b" "], descriptors)

        try:
            if problem:
                answer = {"error": problem}
            elif request["do"] in by_name:
                answer = {"result": by_name[request["do"]](request, hand_over)}
            else:
                answer = {"result": _HANDLERS[request["do"]](request)}
        except OSError as error:
            number = errno.ETIMEDOUT if isinstance(error, TimeoutError) else error.errno
            answer = {"error": f"{error.strerror}: {error.filename}" if error.filename else str(error), "errno": number or 0}
        except RuntimeError as error:
            answer = {"error": str(error)}
        except Exception:
            answer = {"error": traceback.format_exc(limit=-3)}
        # The caller may have gone away meanwhile.
        with suppress(BrokenPipeError, ConnectionResetError):
            channel.sendall(json.dumps(answer).encode())
    os._exit(0)


def _open_sockets(request: dict[str, Any], hand_over: command.HandOver) -> None:
    opened = sockets.open_sockets(request)
    hand_over([one.fileno() for one in opened])


def _connect_inside(request: dict[str, Any], hand_over: command.HandOver) -> None:
    with sockets.connect_inside(request) as connection:
        hand_over([connection.fileno()])


def _create_pod(request: dict[str, Any], hand_over: command.HandOver, host: RouteSocket | None = None) -> None:
    sandbox.create_pod(request, host)
    if request.get("network"):
        # A kernel without sock_diag has no socket to hand over.
        with suppress(OSError), listening.diagnosis_socket() as diagnosis:
            hand_over([diagnosis.fileno()])


def _attach(request: dict[str, Any], hand_over: command.HandOver) -> None:
    hand_over(attachments.attach(request["directory"], request["streams"]))


_HANDLERS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "bridge": sandbox.create_bridge,
    "execute": execution.execute_in_container,
    "remove": removal.remove_trees,
    "filter": packet_filter.set_filter,
    "try filter": packet_filter.try_filter,
}
_HANDING_OVER: dict[str, HandingOver] = {
    "pod": _create_pod,
    "sockets": _open_sockets,
    "connect inside": _connect_inside,
    "command": command.run_command,
    "attach": _attach,
}
