"""Commands in containers: exec over WebSocket (`v5.channel.k8s.io`), as kubectl runs them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from shunter.api.resources import PODS
from shunter.kube.errors import ApiError, ConnectionProblem, Status
from shunter.kube.http.websocket import WebSocket, WebSocketHandshake
from shunter.kube.transport import HttpTransport

if TYPE_CHECKING:
    from shunter.kube.kubeconfig import Connection

PROTOCOL = "v5.channel.k8s.io"
STDIN, STDOUT, STDERR, ERROR, CLOSE = 0, 1, 2, 3, 255
PIECE = 256 * 1024


class CommandResult(NamedTuple):
    """A command that has ended."""

    code: int
    output: bytes
    errors: bytes


class Commands:
    """Runs commands in the containers of one cluster, with one identity."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def run(
        self, pod: str, namespace: str, container: str, command: Sequence[str], *, stdin: bytes = b"", seconds: float
    ) -> CommandResult:
        """What the command wrote and how it ended. ApiError when it may not be run, or the container does not run; TimeoutError
        after so many seconds: the command may run on then."""
        params = [("container", container), ("stdout", "true"), ("stderr", "true"), *(("command", word) for word in command)]
        params += [("stdin", "true")] if stdin else []
        path, handshake = PODS.path(namespace, pod, "exec"), WebSocketHandshake(PROTOCOL)
        transport = HttpTransport(self._connection)
        try:
            async with asyncio.timeout(seconds):
                upgraded = await transport.upgrade(path, params, handshake.headers)
                try:
                    socket = handshake.accepted(upgraded)
                except ConnectionError as error:
                    raise ConnectionProblem(f"GET {path}: {error}.") from error
                return await _exchange(socket, stdin)
        finally:
            await transport.close()


async def _exchange(socket: WebSocket, stdin: bytes) -> CommandResult:
    outputs: dict[int, list[bytes]] = {STDOUT: [], STDERR: [], ERROR: []}
    sending = asyncio.create_task(_send_stdin(socket, stdin)) if stdin else None
    try:
        while message := await socket.receive():
            outputs.setdefault(message[0], []).append(message[1:])
    finally:
        if sending is not None:
            sending.cancel()
        socket.hang_up()
    output, errors, status = (b"".join(outputs[channel]) for channel in (STDOUT, STDERR, ERROR))
    return CommandResult(exit_code(status), output, errors)


async def _send_stdin(socket: WebSocket, stdin: bytes) -> None:
    with suppress(ConnectionError):
        for begin in range(0, len(stdin), PIECE):
            await socket.send(bytes([STDIN]) + stdin[begin : begin + PIECE])
        await socket.send(bytes([CLOSE, STDIN]))


def exit_code(status: bytes) -> int:
    """The exit code in the Status with which a command ends; 0 for success. Raises ApiError if the command could not be run."""
    if not status:
        raise ConnectionProblem("the connection ended before the command did.")
    ended = msgspec.json.decode(status)
    if ended.get("status") == "Success":
        return 0
    causes = (ended.get("details") or {}).get("causes") or []
    code = next((one.get("message", "") for one in causes if one.get("reason") == "ExitCode"), "")
    if code.isdecimal():
        return int(code)
    raise ApiError(Status(code=500, reason="InternalError", message=str(ended.get("message") or "the command could not be run")))
