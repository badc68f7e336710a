"""A client of exec, attach and port-forward over WebSocket, through the API server."""

from __future__ import annotations

import asyncio
import json
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlencode

import aiohttp

STDIN, STDOUT, STDERR, ERROR, RESIZE, CLOSE = 0, 1, 2, 3, 4, 255
CLOSING = (aiohttp.WSMsgType.CLOSE, aiohttp.WSMsgType.CLOSING, aiohttp.WSMsgType.CLOSED, aiohttp.WSMsgType.ERROR)
SECONDS = 30


class Conversation:
    """One WebSocket; what came is kept by channel."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self.socket = socket
        self.channels: dict[int, bytes] = {}

    async def send(self, channel: int, data: bytes) -> None:
        await self.socket.send_bytes(bytes([channel]) + data)

    async def close_input(self) -> None:
        await self.socket.send_bytes(bytes([CLOSE, STDIN]))

    async def resize(self, width: int, height: int) -> None:
        await self.send(RESIZE, json.dumps({"Width": width, "Height": height}).encode())

    async def until(self, condition: Callable[[dict[int, bytes]], object]) -> dict[int, bytes]:
        """What came, once it fulfils a condition; fails when the server hangs up before."""
        async with asyncio.timeout(SECONDS):
            while not condition(self.channels):
                message = await self.socket.receive()
                assert message.type not in CLOSING, f"the server hung up after {self.channels}"
                self._take(message.data)
        return self.channels

    async def end(self) -> dict[int, bytes]:
        """What came, once the server has hung up."""
        async with asyncio.timeout(SECONDS):
            while (message := await self.socket.receive()).type not in CLOSING:
                self._take(message.data)
        return self.channels

    async def exit_code(self) -> int:
        """The exit code, once the server has hung up."""
        status = json.loads((await self.end())[ERROR])
        if status["status"] == "Success":
            return 0
        assert status.get("reason") == "NonZeroExitCode", status
        return int(status["details"]["causes"][0]["message"])

    def output(self, channel: int = STDOUT) -> str:
        return self.channels.get(channel, b"").decode()

    def _take(self, data: bytes) -> None:
        self.channels[data[0]] = self.channels.get(data[0], b"") + data[1:]


class StreamClient:
    """An administrator who asks the API server for streams to pods of one namespace."""

    def __init__(self, session: aiohttp.ClientSession, namespace: str) -> None:
        self.session = session
        self.namespace = namespace

    def path(self, pod: str, kind: str, query: Any) -> str:
        return f"/api/v1/namespaces/{self.namespace}/pods/{pod}/{kind}?{urlencode(query, doseq=True)}"

    @asynccontextmanager
    async def converse(
        self, pod: str, kind: str, *, protocol: str = "v5.channel.k8s.io", **query: Any
    ) -> AsyncIterator[Conversation]:
        """`query` as the API has it: command, stdin, stdout, stderr, tty, container."""
        wanted = {"stdout": 1, "stderr": 1, **query}
        async with self.session.ws_connect(self.path(pod, kind, wanted), protocols=(protocol,), max_msg_size=0) as socket:
            assert socket.protocol == protocol
            yield Conversation(socket)

    async def run(self, pod: str, script: str, **query: Any) -> tuple[int, str, str]:
        """Exit code and outputs of a script in a pod."""
        async with self.converse(pod, "exec", command=["sh", "-c", script], **query) as conversation:
            code = await conversation.exit_code()
            return code, conversation.output(), conversation.output(STDERR)

    @asynccontextmanager
    async def forward(self, pod: str, *ports: int) -> AsyncIterator[Conversation]:
        """Port-forward in the form of the Python client: channels 2 N and 2 N + 1 for the Nth port, both begin with the port."""
        path = self.path(pod, "portforward", {"ports": ",".join(map(str, ports))})
        async with self.session.ws_connect(path, protocols=("v4.channel.k8s.io",)) as socket:
            conversation = Conversation(socket)
            announced = {2 * index + half: struct.pack("<H", port) for index, port in enumerate(ports) for half in (0, 1)}
            await conversation.until(lambda channels: all(channels.get(n, b"")[:2] == text for n, text in announced.items()))
            yield conversation


@asynccontextmanager
async def stream_client(api_server: Any, namespace: str) -> AsyncIterator[StreamClient]:
    connector = aiohttp.TCPConnector(ssl=api_server.tls, limit=0)
    headers = {"Authorization": f"Bearer {api_server.token}"}
    async with aiohttp.ClientSession(api_server.url, connector=connector, headers=headers) as session:
        yield StreamClient(session, namespace)
