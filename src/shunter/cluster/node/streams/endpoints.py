"""The paths of the node's server that lead to streams, as kubelet has them:

/exec/NAMESPACE/POD[/UID]/CONTAINER?command=&input=1&output=1&error=1&tty=1
/attach/NAMESPACE/POD[/UID]/CONTAINER?input=1&output=1&error=1&tty=1
/portForward/NAMESPACE/POD[/UID]?port=
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from typing import Any, Protocol

from aiohttp import web

from shunter.api.meta import Json
from shunter.cluster.node.runtime.launcher import Launcher
from shunter.cluster.node.streams import sessions, spdy_command, websocket_command, websocket_ports
from shunter.cluster.node.streams.byte_stream import ByteStream, MessageStream, SocketStream
from shunter.cluster.node.streams.port_forward import PROTOCOL, ForwardedPod, PortForwarding
from shunter.cluster.node.streams.remote_command import (
    CommandClient,
    CommandOptions,
    StreamRefusedError,
    command_options,
)
from shunter.cluster.node.streams.sessions import RunningContainer
from shunter.cluster.node.streams.spdy_command import SpdyCommandClient
from shunter.cluster.node.streams.websocket_command import WebSocketCommandClient
from shunter.cluster.upgrade import TakenOver, take_over, wants_upgrade

PATHS = ("exec", "attach", "portForward")
_TUNNEL = f"SPDY/3.1+{PROTOCOL}"
_SPDY = "SPDY/3.1"
_OFFERED = "X-Stream-Protocol-Version"
_MAX_MESSAGE_BYTES = 32 * 1024 * 1024
"""What a WebSocket message may hold, as with kubelet."""
_CLOSE_SECONDS = 2.0


class Pods(Protocol):
    """Finds what streams lead to; raises StreamRefusedError."""

    def running_container(self, namespace: str, pod: str, container: str, *, uid: str) -> RunningContainer: ...

    def forwarded_pod(self, namespace: str, pod: str, *, uid: str) -> ForwardedPod: ...


class StreamServer:
    """Answers requests of these paths, once whoever sent them is allowed to."""

    def __init__(self, launcher: Launcher, pods: Pods) -> None:
        self._launcher = launcher
        self._pods = pods
        self._sessions: set[asyncio.Task[None]] = set()

    async def stop(self) -> None:
        """Cuts all streams. Commands see the end of their input."""
        for session in self._sessions:
            session.cancel()
        await asyncio.gather(*self._sessions, return_exceptions=True)

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        """Upgrades the connection and serves it to its end, or says why not."""
        try:
            match [part for part in request.path.split("/") if part]:
                case ["exec", namespace, pod, *uid, container] if len(uid) < 2:
                    return await self._execute(request, self._container(namespace, pod, container, uid))
                case ["attach", namespace, pod, *uid, container] if len(uid) < 2:
                    return await self._attach(request, self._container(namespace, pod, container, uid))
                case ["portForward", namespace, pod, *uid] if len(uid) < 2:
                    return await self._forward(request, self._pods.forwarded_pod(namespace, pod, uid="".join(uid)))
        except StreamRefusedError as error:
            return web.Response(status=error.status, text=f"{error}\n", headers=error.headers)
        return web.Response(status=404, text="404 page not found\n")

    def _container(self, namespace: str, pod: str, container: str, uid: list[str]) -> RunningContainer:
        return self._pods.running_container(namespace, pod, container, uid="".join(uid))

    async def _execute(self, request: web.BaseRequest, container: RunningContainer) -> web.StreamResponse:
        options = command_options(request.query)
        argv = request.query.getall("command", [])
        if not argv:
            raise StreamRefusedError(400, "you must specify at least 1 command to run")
        return await self._serve_command(
            request, options, lambda client: sessions.execute(self._launcher, container, argv, options, client)
        )

    async def _attach(self, request: web.BaseRequest, container: RunningContainer) -> web.StreamResponse:
        options = command_options(request.query)
        return await self._serve_command(
            request, options, lambda client: sessions.attach(self._launcher, container, options, client)
        )

    async def _serve_command(
        self, request: web.BaseRequest, options: CommandOptions, command: Callable[[CommandClient], Awaitable[Json]]
    ) -> web.StreamResponse:
        client: CommandClient
        if _is_websocket(request):
            socket = await _websocket(request, websocket_command.PROTOCOLS)
            client, response = WebSocketCommandClient(socket, options), socket
            await self._serve(_converse(client, command))
            return response
        client = SpdyCommandClient(_spdy(request, spdy_command.PROTOCOLS), options)
        await self._serve(_converse(client, command))
        return TakenOver()

    async def _forward(self, request: web.BaseRequest, pod: ForwardedPod) -> web.StreamResponse:
        if not _is_websocket(request):
            await self._serve(PortForwarding(_spdy(request, (PROTOCOL,)), pod).run())
            return TakenOver()
        if _TUNNEL in _offered(request, "Sec-WebSocket-Protocol"):
            socket = await _websocket(request, (_TUNNEL,))
            await self._serve(PortForwarding(MessageStream(socket), pod).run())
            return socket
        ports = websocket_ports.ports(request.query.getall("port", []))
        socket = await _websocket(request, (websocket_ports.PROTOCOL,))
        await self._serve(websocket_ports.forward_ports(socket, pod, ports))
        return socket

    async def _serve(self, session: Coroutine[Any, Any, None]) -> None:
        """Runs a session that outlives its handler, which is cancelled when the client goes away: a command runs on."""
        task = asyncio.create_task(session)
        self._sessions.add(task)
        task.add_done_callback(self._sessions.discard)
        await asyncio.shield(task)


async def _converse(client: CommandClient, command: Callable[[CommandClient], Awaitable[Json]]) -> None:
    try:
        with suppress(ConnectionError, TimeoutError):
            await client.start()
            await client.finish(await command(client))
    finally:
        await client.stop()


def _is_websocket(request: web.BaseRequest) -> bool:
    return wants_upgrade(request.headers) and request.headers.get("Upgrade", "").lower() == "websocket"


def _offered(request: web.BaseRequest, header: str) -> list[str]:
    """The protocols that a client can speak, the one it likes best first."""
    values = (name.strip() for line in request.headers.getall(header, []) for name in line.split(","))
    return [value for value in values if value]


def _spdy(request: web.BaseRequest, protocols: Sequence[str]) -> ByteStream:
    """Upgrades to SPDY. Raises StreamRefusedError, in the words of k8s.io/streaming, or ConnectionError."""
    if not wants_upgrade(request.headers):
        raise StreamRefusedError(400, "Upgrade request required")
    if _SPDY.lower() not in request.headers.get("Upgrade", "").lower():
        raise StreamRefusedError(400, f"unable to upgrade: the header Upgrade does not name {_SPDY}")
    offered = _offered(request, _OFFERED)
    if not offered:
        raise StreamRefusedError(400, f"unable to upgrade: header {_OFFERED} does not exist in request")
    chosen = next((name for name in offered if name in protocols), "")
    if not chosen:
        why = f"unable to negotiate protocol: client supports [{' '.join(offered)}], server accepts [{' '.join(protocols)}]"
        accepted = {"X-Accepted-Stream-Protocol-Versions": ", ".join(protocols)}
        raise StreamRefusedError(403, f"unable to upgrade: {why}", accepted)
    reader, writer = take_over(request)
    head = f"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: {_SPDY}\r\n{_OFFERED}: {chosen}\r\n\r\n"
    writer.write(head.encode())
    return SocketStream(reader, writer)


async def _websocket(request: web.BaseRequest, protocols: Sequence[str]) -> web.WebSocketResponse:
    """Upgrades to WebSocket. Raises StreamRefusedError when the client speaks none of the protocols."""
    offered = _offered(request, "Sec-WebSocket-Protocol")
    if not set(offered) & set(protocols):
        why = f"requested protocol(s) are not supported: [{' '.join(offered)}]; supports [{' '.join(protocols)}]"
        raise StreamRefusedError(403, why)
    socket = web.WebSocketResponse(protocols=protocols, max_msg_size=_MAX_MESSAGE_BYTES, compress=False, timeout=_CLOSE_SECONDS)
    await socket.prepare(request)
    return socket
