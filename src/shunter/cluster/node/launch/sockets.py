"""Sockets of the network that pods are in, for an agent that may not be in it: a socket stays in the network it was opened in."""

from __future__ import annotations

import socket
from typing import Any

from shunter.cluster.node.launch import linux


def open_sockets(request: dict[str, Any]) -> list[socket.socket]:
    """The sockets for the `role`: a UDP and a TCP socket for the `name server`, a `listener`, or a `client` that is connected to
    address and port within `timeout` seconds."""
    target = (request["address"], request["port"])
    match request["role"]:
        case "name server":
            return list(bound_sockets(*target))
        case "listener":
            return [listener(*target)]
        case _:
            return [socket.create_connection(target, timeout=request["timeout"])]


def connect_inside(request: dict[str, Any]) -> socket.socket:
    """A TCP connection to `port` of the loopback of a network `namespace` (none: the one we are in), IPv4 first, then IPv6.

    Each attempt has `timeout` seconds. Raises OSError with what both said.
    """
    if request["namespace"]:
        linux.set_namespace(request["namespace"])
    problems = []
    for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
        try:
            connection = socket.socket(family, socket.SOCK_STREAM)
            connection.settimeout(request["timeout"])
            connection.connect((address, request["port"]))
        except OSError as error:
            problems.append(f"{'IPv4' if family == socket.AF_INET else 'IPv6'}: {error.strerror or error}")
        else:
            return connection
    raise OSError(f"failed to connect to localhost:{request['port']} inside the pod, {', '.join(problems)}")


def bound_sockets(address: str, port: int) -> tuple[socket.socket, socket.socket]:
    """A UDP and a TCP socket on one address and port (0: any, the same for both). Raises OSError."""
    tcp = listener(address, port)
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        udp.bind((address, tcp.getsockname()[1]))
    except OSError:
        tcp.close()
        udp.close()
        raise
    udp.setblocking(False)
    return udp, tcp


def listener(address: str, port: int) -> socket.socket:
    """A bound TCP socket. Raises OSError."""
    tcp = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    tcp.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        tcp.bind((address, port))
    except OSError:
        tcp.close()
        raise
    tcp.setblocking(False)
    return tcp
