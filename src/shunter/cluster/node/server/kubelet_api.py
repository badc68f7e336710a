"""The node's HTTPS server, in kubelet's form, for the API server: container logs, streams to containers and ports, usage.

    GET /containerLogs/NAMESPACE/POD/CONTAINER?follow=&tailLines=&sinceSeconds=&sinceTime=&timestamps=&previous=&limitBytes=
    GET, POST /exec/..., /attach/..., /portForward/...    see streams.endpoints
    GET /stats/summary                                    see stats
    GET /healthz

Who may do what beyond /healthz is kubelet_access's to say.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple, Protocol

from aiohttp import web

from shunter.cluster.node.server.access import Approach, KubeletAccess, subresource
from shunter.cluster.node.server.logs import LogOptions, read_log
from shunter.cluster.node.server.stats import Stats
from shunter.cluster.node.streams import endpoints
from shunter.cluster.node.streams.endpoints import StreamServer
from shunter.errors import EnvironmentProblem

_SHUTDOWN_SECONDS = 1.0
QUIET_SECONDS = 60.0
"""For which a connection is kept on which nothing whole is asked: aiohttp waits for headers without end."""
HANDSHAKE_SECONDS = 10.0
_TRUE = ("1", "t", "T", "TRUE", "true", "True")


class ContainerLog(NamedTuple):
    """Where a container's log is, and whether no more will be written to it."""

    path: Path
    is_over: Callable[[], bool]


class LogUnavailableError(Exception):
    """There is no such log. `status` is the HTTP status, the message kubelet's."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Logs(Protocol):
    """Finds logs; raises LogUnavailableError."""

    def container_log(self, namespace: str, pod: str, container: str, *, previous: bool) -> ContainerLog: ...


class KubeletServer:
    """Listens on one address and port."""

    def __init__(self, access: KubeletAccess, logs: Logs, streams: StreamServer, stats: Stats, directory: Path) -> None:
        self._access = access
        self._stats = stats
        self._logs = logs
        self._streams = streams
        self._directory = directory
        self._server: web.Server | None = None
        self._listener: asyncio.Server | None = None
        self._sweeping: asyncio.Task[None] | None = None
        self._busy: set[web.RequestHandler] = set()
        """Connections whose request is being answered."""
        self._quiet_since: dict[web.RequestHandler, float] = {}

    async def start(self, address: str, port: int = 0) -> int:
        """Starts to serve; returns the port, which the system chooses for 0. Raises EnvironmentProblem when it is taken."""
        self._server = web.Server(self._handle, handler_cancellation=True, access_log=None)
        loop = asyncio.get_running_loop()
        tls = self._tls()
        try:
            self._listener = await loop.create_server(
                self._server, address, port, ssl=tls, ssl_handshake_timeout=HANDSHAKE_SECONDS
            )
        except OSError as error:
            raise EnvironmentProblem(
                f"The node's server cannot listen on {address} port {port}: {error.strerror or error}.",
                "Choose another with --address or --port.",
            ) from error
        self._sweeping = loop.create_task(self._cut_quiet(self._server))
        chosen: int = self._listener.sockets[0].getsockname()[1]
        return chosen

    async def stop(self) -> None:
        if self._listener is not None:
            self._listener.close()
        if self._sweeping is not None:
            self._sweeping.cancel()
        await self._streams.stop()
        if self._server is not None:
            await self._server.shutdown(_SHUTDOWN_SECONDS)

    def _tls(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        if self._access.client_ca:
            # Not the default context: its strictness (from Python 3.13) refuses certificates that Go and kubelet take.
            context.load_verify_locations(cadata=self._access.client_ca.decode())
            context.verify_mode = ssl.CERT_OPTIONAL
        # The ssl module reads certificates from files only.
        combined = self._directory / "kubelet.pem"
        combined.touch(mode=0o600)
        combined.write_bytes(self._access.serving.certificate + self._access.serving.key)
        context.load_cert_chain(combined)
        return context

    async def _cut_quiet(self, server: web.Server) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(QUIET_SECONDS / 2)
            now = loop.time()
            quiet = [connection for connection in server.connections if connection not in self._busy]
            self._quiet_since = {connection: self._quiet_since.get(connection, now) for connection in quiet}
            for connection, since in self._quiet_since.items():
                if now - since >= QUIET_SECONDS and connection.transport is not None:
                    connection.transport.abort()

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        self._busy.add(request.protocol)
        try:
            return await self._answered(request)
        finally:
            self._busy.discard(request.protocol)
            self._quiet_since.pop(request.protocol, None)

    async def _answered(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.path == "/healthz":
            return web.Response(text="ok")
        refusal = await self._access.guard.refusal(approach(request))
        if refusal is not None:
            return web.Response(status=refusal.status, text=refusal.message)
        match request.path.strip("/").split("/"):
            case ["containerLogs", namespace, pod, container] if request.method == "GET":
                return await self._container_logs(request, namespace, pod, container)
            case ["stats", "summary"] if request.method == "GET":
                return web.json_response(await self._stats.summary())
            case [first, *_] if first in endpoints.PATHS and request.method in ("GET", "POST"):
                return await self._streams.answer(request)
        return web.Response(status=404, text="404 page not found\n")

    async def _container_logs(self, request: web.BaseRequest, namespace: str, pod: str, container: str) -> web.StreamResponse:
        try:
            options, previous = log_options(request.query, datetime.now(UTC))
            log = self._logs.container_log(namespace, pod, container, previous=previous)
        except LogUnavailableError as error:
            return web.Response(status=error.status, text=str(error))
        response = web.StreamResponse(headers={"Content-Type": "text/plain"})
        response.enable_chunked_encoding()
        await response.prepare(request)
        async for block in read_log(log.path, options, is_over=log.is_over):
            await response.write(block)
        await response.write_eof()
        return response


def approach(request: web.BaseRequest) -> Approach:
    """What a request shows of who sent it."""
    certificate = request.transport.get_extra_info("peercert") if request.transport is not None else None
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    bearer = token.strip() if scheme.lower() == "bearer" else ""
    return Approach(request.method, certificate or None, bearer, subresource(request.path))


def log_options(query: Mapping[str, str], now: datetime) -> tuple[LogOptions, bool]:
    """The options of a log request, and whether it is about the run before. Raises LogUnavailableError (400) for bad ones."""
    try:
        since = datetime.fromisoformat(query["sinceTime"]) if query.get("sinceTime") else None
        if query.get("sinceSeconds"):
            since = datetime.fromtimestamp(max(0.0, now.timestamp() - int(query["sinceSeconds"])), UTC)
        options = LogOptions(
            follow=query.get("follow", "") in _TRUE,
            tail_lines=int(query["tailLines"]) if query.get("tailLines") else None,
            since=since,
            timestamps=query.get("timestamps", "") in _TRUE,
            limit_bytes=int(query["limitBytes"]) if query.get("limitBytes") else None,
        )
    except ValueError as error:
        raise LogUnavailableError(400, f"unable to decode log options: {error}") from error
    return options, query.get("previous", "") in _TRUE
