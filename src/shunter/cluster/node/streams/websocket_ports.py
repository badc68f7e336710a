"""Port forwarding as the Python client asks for it: a WebSocket with two channels for each port, its bytes and its errors."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Sequence
from contextlib import suppress

from shunter.api.formats.digits import port_number
from shunter.cancelling import cancelled
from shunter.cluster.node.streams.inbox import Budget, Inbox
from shunter.cluster.node.streams.port_forward import ForwardedPod, forward
from shunter.cluster.node.streams.remote_command import StreamRefusedError
from shunter.kube.http.websocket import WebSocket

PROTOCOL = "v4.channel.k8s.io"
_MAX_PORTS = 127
_HELD_BYTES = 1024 * 1024


def ports(values: Sequence[str]) -> list[int]:
    """The ports of a request. Raises StreamRefusedError (400), in kubelet's words."""
    if not values:
        raise StreamRefusedError(400, 'query parameter "port" is required')
    numbers = []
    for text in ",".join(values).split(","):
        number = port_number(text)
        if number is None:
            raise StreamRefusedError(400, f'unable to parse "{text}" as a port')
        numbers.append(number)
    if len(numbers) > _MAX_PORTS:
        raise StreamRefusedError(400, f"{len(numbers)} ports; one WebSocket has channels for {_MAX_PORTS}")
    return numbers


class _Port:
    """One port: its number here gives its channels, bytes on the even one, errors on the odd one."""

    def __init__(self, socket: WebSocket, index: int, port: int, budget: Budget) -> None:
        self._socket = socket
        self._index = index
        self.port = port
        self.inbox = Inbox(budget)

    async def read(self) -> bytes:
        return await self.inbox.get()

    async def write(self, data: bytes) -> None:
        await self._socket.send(bytes([2 * self._index]) + data)

    async def write_error(self, data: bytes) -> None:
        await self._socket.send(bytes([2 * self._index + 1]) + data)

    async def finish(self) -> None:
        """The protocol cannot say it of one port."""


async def forward_ports(socket: WebSocket, pod: ForwardedPod, numbers: Sequence[int]) -> None:
    """Connects every port once, until all connections have ended or the client is gone."""
    budget = Budget(_HELD_BYTES)
    ports = [_Port(socket, index, number, budget) for index, number in enumerate(numbers)]
    serving = asyncio.gather(*(_serve(pod, port) for port in ports))
    receiving = asyncio.ensure_future(_receive(socket, ports, budget))
    try:
        await asyncio.wait((receiving, serving), return_when=asyncio.FIRST_COMPLETED)
    finally:
        await cancelled([serving, receiving])
        await socket.close()


async def _serve(pod: ForwardedPod, port: _Port) -> None:
    with suppress(ConnectionError):
        for announce in (port.write, port.write_error):
            await announce(struct.pack("<H", port.port))
        if problem := await forward(pod, port.port, port):
            await port.write_error(problem.encode())


async def _receive(socket: WebSocket, ports: Sequence[_Port], budget: Budget) -> None:
    while data := await socket.receive():
        if data[0] % 2 == 0 and data[0] // 2 < len(ports):
            ports[data[0] // 2].inbox.put(data[1:])
        await budget.room()
    for port in ports:
        port.inbox.end()
