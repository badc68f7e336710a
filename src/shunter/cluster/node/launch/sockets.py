"""Sockets of the network that pods are in, for an agent that may not be in it: a socket stays in the network it was opened in."""

from __future__ import annotations

import socket
from typing import Any


def open_sockets(request: dict[str, Any]) -> list[socket.socket]:
    """`listen`: a UDP and a TCP socket for the name server. Else: one connected to address and port within `timeout` seconds."""
    if request["listen"]:
        return list(bound_sockets(request["address"], request["port"]))
    return [socket.create_connection((request["address"], request["port"]), timeout=request["timeout"])]


def bound_sockets(address: str, port: int) -> tuple[socket.socket, socket.socket]:
    """A UDP and a TCP socket on one address and port (0: any, the same for both). Raises OSError."""
    tcp = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    tcp.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        tcp.bind((address, port))
        udp.bind((address, tcp.getsockname()[1]))
    except OSError:
        tcp.close()
        udp.close()
        raise
    for one in (tcp, udp):
        one.setblocking(False)
    return udp, tcp
