"""The one seam between us and HTTP: everything that talks to an API server goes through a `Transport`.

Three of them: real, recording, and fault-injecting. A transport knows bytes and status codes, nothing of Kubernetes objects.
"""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar
from urllib.parse import urlencode, urlsplit

import shunter
from shunter.errors import EnvironmentProblem
from shunter.kube.errors import ConnectionProblem, Status, Unauthorized, from_answer
from shunter.kube.http.client import Answer, AnswerStream, Fields, HttpClient, UpgradedConnection, target
from shunter.kube.http.connection import Origin

if TYPE_CHECKING:
    from shunter.kube.credentials import ClientCertificate
    from shunter.kube.kubeconfig import Connection

A = TypeVar("A")

MAX_REQUESTS = 64
"""Requests in flight per transport, by default; watches and log streams do not count."""

REQUEST_TIMEOUT = 60.0
"""Seconds for one request with a body in the answer; kube-apiserver itself gives up after 60."""

CONNECT_TIMEOUT = 10.0


class Response(NamedTuple):
    """An answer of any status code. Header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Transport(Protocol):
    """Sends requests to one API server."""

    async def request(
        self, method: str, path: str, *, params: Mapping[str, str] = ..., headers: Mapping[str, str] = ..., body: bytes = ...
    ) -> Response:
        """The whole answer, whatever its status; ConnectionProblem when there is none."""

    def stream(
        self, method: str, path: str, *, params: Mapping[str, str] = ..., headers: Mapping[str, str] = ...
    ) -> AsyncGenerator[bytes]:
        """The body's chunks as they arrive, until the server ends it; raises the ApiError of a refusal before the first chunk,
        and ConnectionProblem when the connection breaks. Close it (`aclosing`) to hang up."""

    async def close(self) -> None:
        """Closes all connections."""


class InnerTransport:
    """The part that transports around a transport share: what they do nothing to goes through it."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner

    def stream(
        self, method: str, path: str, *, params: Mapping[str, str] = {}, headers: Mapping[str, str] = {}
    ) -> AsyncGenerator[bytes]:
        """The stream of the inner transport."""
        return self._inner.stream(method, path, params=params, headers=headers)

    async def close(self) -> None:
        """Closes the inner transport, even if others use it."""
        await self._inner.close()


class HttpTransport:
    """The real thing. Connects on first use; a 401 makes the credentials refresh once and the request go out again."""

    def __init__(
        self,
        connection: Connection,
        *,
        user_agent: str = "shunter",
        max_requests: int = MAX_REQUESTS,
    ) -> None:
        self._connection = connection
        self._server = connection.server.rstrip("/")
        self._prefix = urlsplit(self._server).path
        self._user_agent = f"{user_agent}/{shunter.__version__}"
        self._slots = asyncio.Semaphore(max_requests)
        self._client: HttpClient | None = None
        self._certificate: ClientCertificate | None = None
        """Our identity in the TLS connections of `_client`."""

    async def request(
        self, method: str, path: str, *, params: Mapping[str, str] = {}, headers: Mapping[str, str] = {}, body: bytes = b""
    ) -> Response:
        """The whole answer, whatever its status, for no more than `max_requests` at once. ConnectionProblem when there is none in
        time; Unauthorized where there is no identity to ask with."""
        where = target(self._prefix + path, params)
        async with self._slots:
            try:
                answer = await self._answer(
                    headers, lambda client, fields: client.request(method, where, fields, body, seconds=REQUEST_TIMEOUT)
                )
            except OSError as error:
                raise self._problem(method, path, error) from error
        return Response(*answer)

    async def upgrade(self, path: str, params: Fields, headers: Mapping[str, str]) -> UpgradedConnection:
        """A connection that goes on in another protocol, which `headers` name; only this transport can. Raises the ApiError
        of a refusal, and ConnectionProblem."""
        where = f"{target(self._prefix + path, {})}?{urlencode(params)}"
        try:
            answer = await self._answer(headers, lambda client, fields: client.upgrade(where, fields, seconds=REQUEST_TIMEOUT))
        except OSError as error:
            raise self._problem("GET", path, error) from error
        if isinstance(answer, Answer):
            raise from_answer("GET", path, answer.status, answer.headers, answer.body)
        return answer

    async def stream(
        self, method: str, path: str, *, params: Mapping[str, str] = {}, headers: Mapping[str, str] = {}
    ) -> AsyncGenerator[bytes]:
        """The chunks as they come, however long that takes, and besides `max_requests`. Raises the ApiError of a refusal before
        the first chunk, and ConnectionProblem when the connection breaks."""
        where = target(self._prefix + path, params)
        try:
            answer = await self._answer(headers, lambda client, fields: client.stream(method, where, fields))
            try:
                if answer.status >= 400:
                    raise from_answer(method, path, answer.status, answer.headers, await answer.read())
                async for chunk in answer.chunks():
                    yield chunk
            finally:
                answer.close()
        except OSError as error:
            raise self._problem(method, path, error) from error

    async def close(self) -> None:
        """Cuts the connections, also those in use. A later request makes new ones."""
        if self._client is not None:
            self._client.close()
            self._client = None

    async def _answer(self, headers: Mapping[str, str], send: Callable[[HttpClient, Fields], Awaitable[A]]) -> A:
        """What `send` returns; after a 401 it is called a second time, if there may be a better identity."""
        client, fields = await self._identified(headers)
        answer = await send(client, fields)
        if getattr(answer, "status", 0) != 401 or not await self._refreshed(client):
            return answer
        if isinstance(answer, AnswerStream):
            answer.close()
        return await send(*await self._identified(headers))

    async def _refreshed(self, refused: HttpClient) -> bool:
        """Whether there may be a better identity now than that of the client whose request was refused. It may be one of TLS, so
        new connections are made for it; of many requests that are refused at once the first does that for all."""
        if self._client is refused:
            try:
                is_fresh = await self._connection.credentials.refresh()
            except EnvironmentProblem as error:
                raise _unauthorized(error) from error
            if not is_fresh:
                return False
            self._client = None
        return True

    async def _identified(self, headers: Mapping[str, str]) -> tuple[HttpClient, Fields]:
        """The client to ask, and the headers of a request with our identity."""
        connection = self._connection
        try:
            identity = await connection.credentials.headers()
            certificate = await connection.credentials.certificate()
            if self._client is None or certificate != self._certificate:
                self._certificate = certificate
                tls = await connection.ssl_context() if self._server.startswith("https:") else None
                origin = Origin(*connection.address, tls, connection.tls.server_name, connection.proxy)
                self._client = HttpClient(origin, connect_seconds=CONNECT_TIMEOUT)
        except EnvironmentProblem as error:
            raise _unauthorized(error) from error
        return self._client, [("User-Agent", self._user_agent), *identity, *headers.items()]

    def _problem(self, method: str, path: str, error: OSError) -> ConnectionProblem:
        if isinstance(error, ssl.SSLCertVerificationError):
            text = f"its certificate is not trusted: {error.verify_message}"
            remedy = "The kubeconfig's certificate-authority must be the one of this server."
        else:
            text = _error_text(error)
            remedy = "Is the cluster running, and is this the right kubeconfig context?"
        return ConnectionProblem(f"{method} {path}: no answer from {self._server}: {text}.", remedy=remedy)


def _unauthorized(error: EnvironmentProblem) -> Unauthorized:
    """A token file or a plugin that fails now may work in a minute: informers wait, commands end."""
    return Unauthorized(Status(code=401, reason="Unauthorized", message=error.message), remedy=error.remedy)


def _error_text(error: OSError) -> str:
    """What went wrong, in the system's words where it is a matter of the system: event loops add addresses of their own."""
    number = error.errno or 0
    if number > 0 and not isinstance(error, ssl.SSLError):
        return os.strerror(number)
    return error.strerror or str(error) or type(error).__name__
