"""The paths of the node's server that lead to streams, as kubelet has them.

/exec/NAMESPACE/POD[/UID]/CONTAINER?command=&input=1&output=1&error=1&tty=1
/attach/NAMESPACE/POD[/UID]/CONTAINER?input=1&output=1&error=1&tty=1
/portForward/NAMESPACE/POD[/UID]?port=
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Protocol
from urllib.parse import parse_qs

from shunter.api.meta import Json
from shunter.cancelling import cancelled
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
from shunter.kube.http.connection_streams import connection_streams
from shunter.kube.http.request import Request
from shunter.kube.http.response import Response
from shunter.kube.http.websocket import WebSocket, acceptance

PATHS = ("exec", "attach", "portForward")
_TUNNEL = f"SPDY/3.1+{PROTOCOL}"
_SPDY = "SPDY/3.1"
_OFFERED = "X-Stream-Protocol-Version"
NOT_FOUND = Response(b"404 page not found\n", status=404)


class Pods(Protocol):
    """Finds what streams lead to; raises StreamRefusedError."""

    def running_container(self, namespace: str, pod: str, container: str, *, uid: str) -> RunningContainer:
        """What exec and attach lead to. An empty `uid` is any pod of the name. Raises StreamRefusedError."""

    def forwarded_pod(self, namespace: str, pod: str, *, uid: str) -> ForwardedPod:
        """What a port-forward leads to. An empty `uid` is any pod of the name. Raises StreamRefusedError."""


class StreamServer:
    """Answers requests of these paths, once their sender is authorized."""

    def __init__(self, launcher: Launcher, pods: Pods) -> None:
        self._launcher = launcher
        self._pods = pods
        self._sessions: set[asyncio.Task[None]] = set()
        """Of connections, while they are served here."""

    async def stop(self) -> None:
        """Cuts all streams. Commands see the end of their input."""
        await cancelled(self._sessions)

    async def answer(self, request: Request) -> Response | None:
        """Upgrades the connection and serves it to its end, or says why not."""
        session = asyncio.current_task()
        assert session is not None, "a handler runs in a task"
        # Only `stop` cancels it once the connection is taken over: a command runs on when its client goes away.
        self._sessions.add(session)
        try:
            match [part for part in request.path.split("/") if part]:
                case ["exec", namespace, pod, *uid, container] if len(uid) < 2:
                    await self._execute(request, self._container(namespace, pod, container, uid))
                case ["attach", namespace, pod, *uid, container] if len(uid) < 2:
                    await self._attach(request, self._container(namespace, pod, container, uid))
                case ["portForward", namespace, pod, *uid] if len(uid) < 2:
                    await self._forward(request, self._pods.forwarded_pod(namespace, pod, uid="".join(uid)))
                case _:
                    return NOT_FOUND
        except StreamRefusedError as error:
            return Response(f"{error}\n".encode(), status=error.status, headers=tuple(error.headers.items()))
        finally:
            self._sessions.discard(session)
        return None

    def _container(self, namespace: str, pod: str, container: str, uid: list[str]) -> RunningContainer:
        return self._pods.running_container(namespace, pod, container, uid="".join(uid))

    async def _execute(self, request: Request, container: RunningContainer) -> None:
        options = command_options(request.query)
        argv = _all(request, "command")
        if not argv:
            raise StreamRefusedError(400, "you must specify at least 1 command to run")
        client = _command_client(request, options)
        await _converse(client, lambda client: sessions.execute(self._launcher, container, argv, options, client))

    async def _attach(self, request: Request, container: RunningContainer) -> None:
        options = command_options(request.query)
        client = _command_client(request, options)
        await _converse(client, lambda client: sessions.attach(self._launcher, container, options, client))

    async def _forward(self, request: Request, pod: ForwardedPod) -> None:
        if not _is_websocket(request):
            await PortForwarding(_spdy(request, (PROTOCOL,)), pod).run()
        elif _TUNNEL in _offered(request, "sec-websocket-protocol"):
            await PortForwarding(MessageStream(_websocket(request, (_TUNNEL,))), pod).run()
        else:
            ports = websocket_ports.ports(_all(request, "port"))
            await websocket_ports.forward_ports(_websocket(request, (websocket_ports.PROTOCOL,)), pod, ports)


async def _converse(client: CommandClient, command: Callable[[CommandClient], Awaitable[Json]]) -> None:
    try:
        with suppress(ConnectionError, TimeoutError):
            await client.start()
            await client.finish(await command(client))
    finally:
        await client.stop()


def _command_client(request: Request, options: CommandOptions) -> CommandClient:
    if _is_websocket(request):
        return WebSocketCommandClient(_websocket(request, websocket_command.PROTOCOLS), options)
    return SpdyCommandClient(_spdy(request, spdy_command.PROTOCOLS), options)


def _all(request: Request, parameter: str) -> list[str]:
    return parse_qs(request.query_string, keep_blank_values=True).get(parameter, [])


def _is_websocket(request: Request) -> bool:
    return request.upgrade.lower() == "websocket"


def _offered(request: Request, header: str) -> list[str]:
    """The protocols that a client can speak, the one it likes best first."""
    return [name for name in (part.strip() for part in request.headers.get(header, "").split(",")) if name]


def _spdy(request: Request, protocols: Sequence[str]) -> ByteStream:
    """Upgrades to SPDY. Raises StreamRefusedError, in the words of k8s.io/streaming, or ConnectionError."""
    if not request.upgrade:
        raise StreamRefusedError(400, "Upgrade request required")
    if _SPDY.lower() not in request.upgrade.lower():
        raise StreamRefusedError(400, f"unable to upgrade: the header Upgrade does not name {_SPDY}")
    offered = _offered(request, _OFFERED.lower())
    if not offered:
        raise StreamRefusedError(400, f"unable to upgrade: header {_OFFERED} does not exist in request")
    chosen = next((name for name in offered if name in protocols), "")
    if not chosen:
        why = f"unable to negotiate protocol: client supports [{' '.join(offered)}], server accepts [{' '.join(protocols)}]"
        accepted = {"X-Accepted-Stream-Protocol-Versions": ", ".join(protocols)}
        raise StreamRefusedError(403, f"unable to upgrade: {why}", accepted)
    reader, writer = connection_streams(*request.take_over())
    head = f"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: {_SPDY}\r\n{_OFFERED}: {chosen}\r\n\r\n"
    writer.write(head.encode())
    return SocketStream(reader, writer)


def _websocket(request: Request, protocols: Sequence[str]) -> WebSocket:
    """Upgrades to WebSocket. Raises StreamRefusedError when the client speaks none of the protocols, or ConnectionError."""
    offered = _offered(request, "sec-websocket-protocol")
    chosen = next((name for name in offered if name in protocols), "")
    if not chosen:
        why = f"requested protocol(s) are not supported: [{' '.join(offered)}]; supports [{' '.join(protocols)}]"
        raise StreamRefusedError(403, why)
    try:
        answer = acceptance(request.headers, chosen)
    except ValueError as error:
        raise StreamRefusedError(400, f"unable to upgrade: {error}") from error
    reader, writer = connection_streams(*request.take_over())
    writer.write(answer)
    return WebSocket(reader, writer, protocol=chosen)
