"""Requests of the agent to a process that forks for it: each is a length, a JSON object and one file descriptor."""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Iterator
from typing import Any

HEADER = struct.Struct("!I")


def packed(request: dict[str, Any]) -> bytes:
    """A request as it is sent, with its descriptor beside the first byte."""
    payload = json.dumps(request).encode()
    return HEADER.pack(len(payload)) + payload


def requests(connection: socket.socket) -> Iterator[tuple[dict[str, Any], int]]:
    """Yields requests and their descriptors, which the caller closes, until the other end closes. Raises EOFError when it closes
    in the middle of a request."""
    while True:
        header, descriptors, _, _ = socket.recv_fds(connection, HEADER.size, 1)
        if not header:
            return
        yield json.loads(_receive(connection, HEADER.unpack(header)[0])), descriptors[0]


def _receive(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        chunk = connection.recv(size - len(data))
        if not chunk:
            raise EOFError("the agent closed its connection in the middle of a request")
        data += chunk
    return data
