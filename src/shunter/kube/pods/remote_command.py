"""Commands in containers: exec over WebSocket (`v5.channel.k8s.io`), as kubectl runs them.

What to know before changing it: this is the one place of kube/ that uses aiohttp, which takes 0.2 s to import: import it late.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from shunter.api.resources import PODS
from shunter.errors import EnvironmentProblem
from shunter.kube.errors import ApiError, ConnectionProblem, Status, from_answer
from shunter.kube.http.client import target

if TYPE_CHECKING:
    import aiohttp

    from shunter.kube.kubeconfig import Connection

PROTOCOL = "v5.channel.k8s.io"
STDIN, STDOUT, STDERR, ERROR, CLOSE = 0, 1, 2, 3, 255
PIECE = 256 * 1024
CONNECT_SECONDS = 10.0


class Done(NamedTuple):
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
    ) -> Done:
        """What the command wrote and how it ended. ApiError when it may not be run, or the container does not run; TimeoutError
        after so many seconds: the command may run on then."""
        import aiohttp

        path = f"{PODS.path(namespace, pod, 'exec')}"
        params = [("container", container), ("stdout", "true"), ("stderr", "true"), *(("command", word) for word in command)]
        params += [("stdin", "true")] if stdin else []
        async with asyncio.timeout(seconds), aiohttp.ClientSession() as session:
            try:
                async with session.ws_connect(
                    f"{self._connection.server.rstrip('/')}{target(path, {})}",
                    params=params,
                    protocols=(PROTOCOL,),
                    headers=dict(await self._connection.credentials.headers()),
                    ssl=await self._connection.ssl_context() if self._connection.server.startswith("https:") else False,
                    server_hostname=self._connection.tls.server_name or None,
                    proxy=self._connection.proxy or None,
                    max_msg_size=0,
                    timeout=aiohttp.ClientWSTimeout(ws_close=CONNECT_SECONDS),
                ) as socket:
                    return await _spoken(socket, stdin)
            except aiohttp.WSServerHandshakeError as error:
                raise from_answer("GET", path, error.status, {}, f"exec is refused: {error.message}".encode()) from error
            except (aiohttp.ClientError, OSError) as error:
                raise ConnectionProblem(f"GET {path}: no answer from {self._connection.server}: {error}.") from error
            except EnvironmentProblem as error:
                raise ApiError(Status(code=401, reason="Unauthorized", message=error.message), remedy=error.remedy) from error


async def _spoken(socket: aiohttp.ClientWebSocketResponse, stdin: bytes) -> Done:
    import aiohttp

    outputs: dict[int, list[bytes]] = {STDOUT: [], STDERR: [], ERROR: []}
    sending = asyncio.create_task(_sent(socket, stdin)) if stdin else None
    try:
        async for message in socket:
            if message.type is aiohttp.WSMsgType.BINARY and message.data:
                outputs.setdefault(message.data[0], []).append(message.data[1:])
    finally:
        if sending is not None:
            sending.cancel()
    output, errors, status = (b"".join(outputs[channel]) for channel in (STDOUT, STDERR, ERROR))
    return Done(exit_code(status), output, errors)


async def _sent(socket: aiohttp.ClientWebSocketResponse, stdin: bytes) -> None:
    for begin in range(0, len(stdin), PIECE):
        await socket.send_bytes(bytes([STDIN]) + stdin[begin : begin + PIECE])
    await socket.send_bytes(bytes([CLOSE, STDIN]))


def exit_code(status: bytes) -> int:
    """That of the Status with which a command ends; 0 for success. ApiError for one that could not be run."""
    if not status:
        raise ConnectionProblem("the connection ended before the command did.")
    told = msgspec.json.decode(status)
    if told.get("status") == "Success":
        return 0
    causes = (told.get("details") or {}).get("causes") or []
    code = next((one.get("message", "") for one in causes if one.get("reason") == "ExitCode"), "")
    if code.isdecimal():
        return int(code)
    raise ApiError(Status(code=500, reason="InternalError", message=str(told.get("message") or "the command could not be run")))
