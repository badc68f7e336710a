"""The node's HTTPS server, in kubelet's form, for the API server: container logs, streams to containers and ports, usage.

    GET /containerLogs/NAMESPACE/POD/CONTAINER?follow=&tailLines=&sinceSeconds=&sinceTime=&timestamps=&previous=&limitBytes=
    GET, POST /exec/..., /attach/..., /portForward/...    see streams.endpoints
    GET /stats/summary                                    see stats
    GET /healthz

`access` authorizes all requests but those for /healthz.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from json import dumps
from pathlib import Path
from typing import NamedTuple, Protocol

from shunter.api.formats.times import moment
from shunter.cluster.node.server.access import AccessRequest, KubeletAccess, subresource
from shunter.cluster.node.server.logs import LogOptions, read_log
from shunter.cluster.node.server.stats import Stats
from shunter.cluster.node.streams import endpoints
from shunter.cluster.node.streams.endpoints import NOT_FOUND, StreamServer
from shunter.errors import EnvironmentProblem
from shunter.kube.http.limits import Limits, Timeouts
from shunter.kube.http.request import Request, bearer_token, flag
from shunter.kube.http.response import Response
from shunter.kube.http.server import HttpServer

_SHUTDOWN_SECONDS = 1.0
LIMITS = Limits(body=64 * 1024, held=4 * 2**20)
TIMEOUTS = Timeouts(idle=60.0)


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

    def container_log(self, namespace: str, pod: str, container: str, *, previous: bool) -> ContainerLog:
        """The log of a container's newest run, or with `previous` of the run before it. Raises LogUnavailableError."""


class KubeletServer:
    """Listens on one address and port."""

    def __init__(self, access: KubeletAccess, logs: Logs, streams: StreamServer, stats: Stats, directory: Path) -> None:
        self._access = access
        self._stats = stats
        self._logs = logs
        self._streams = streams
        self._directory = directory
        self._server = HttpServer(self._handle, LIMITS, timeouts=TIMEOUTS, accepts=self._refusal)

    async def start(self, address: str, port: int = 0) -> int:
        """Starts to serve; returns the port, which the system chooses for 0. Raises EnvironmentProblem when it is taken."""
        try:
            return await self._server.start(address, port, self._tls())
        except OSError as error:
            raise EnvironmentProblem(
                f"The node's server cannot listen on {address} port {port}: {error.strerror or error}.",
                "Choose another with --address or --port.",
            ) from error

    async def stop(self) -> None:
        """Cuts all streams; other requests in progress have a second to be answered."""
        await self._streams.stop()
        await self._server.stop(_SHUTDOWN_SECONDS)

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

    async def _refusal(self, request: Request) -> Response | None:
        """Why a request is not answered; None when it is."""
        if request.path == "/healthz":
            return None
        refusal = await self._access.guard.refusal(access_request(request))
        return Response(refusal.message.encode(), status=refusal.status) if refusal else None

    async def _handle(self, request: Request) -> Response | None:
        if refusal := await self._refusal(request):
            return refusal
        if request.path == "/healthz":
            return Response(b"ok")
        match request.path.strip("/").split("/"):
            case ["containerLogs", namespace, pod, container] if request.method == "GET":
                return await self._container_logs(request, namespace, pod, container)
            case ["stats", "summary"] if request.method == "GET":
                return Response(dumps(await self._stats.summary()).encode(), content_type="application/json")
            case [first, *_] if first in endpoints.PATHS and request.method in ("GET", "POST"):
                return await self._streams.answer(request)
        return NOT_FOUND

    async def _container_logs(self, request: Request, namespace: str, pod: str, container: str) -> Response | None:
        try:
            options, previous = log_options(request.query, datetime.now(UTC))
            log = self._logs.container_log(namespace, pod, container, previous=previous)
        except LogUnavailableError as error:
            return Response(str(error).encode(), status=error.status)
        answer = request.stream(content_type="text/plain")
        async for block in read_log(log.path, options, is_over=log.is_over):
            await answer.write(block)
        await answer.end()
        return None


def access_request(request: Request) -> AccessRequest:
    """The credentials and the target of a request."""
    bearer = bearer_token(request.headers.get("authorization", ""))
    return AccessRequest(request.method, request.certificate or None, bearer, subresource(request.path))


def log_options(query: Mapping[str, str], now: datetime) -> tuple[LogOptions, bool]:
    """The options of a log request, and whether it is about the run before. Raises LogUnavailableError (400) for bad ones."""
    try:
        since = moment(query["sinceTime"]) if query.get("sinceTime") else None
        if query.get("sinceSeconds"):
            since = datetime.fromtimestamp(max(0.0, now.timestamp() - int(query["sinceSeconds"])), UTC)
        options = LogOptions(
            follow=flag(query, "follow"),
            tail_lines=int(query["tailLines"]) if query.get("tailLines") else None,
            since=since,
            timestamps=flag(query, "timestamps"),
            limit_bytes=int(query["limitBytes"]) if query.get("limitBytes") else None,
        )
    except ValueError as error:
        raise LogUnavailableError(400, f"unable to decode log options: {error}") from error
    return options, flag(query, "previous")
