"""The one seam between us and HTTP: everything that talks to an API server goes through a `Transport`.

Three of them: real (aiohttp), recording, and fault-injecting. A transport knows bytes and status codes, nothing of Kubernetes
objects. aiohttp is imported when the first real transport is made, because it costs 0.2 s and 20 MB.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncGenerator, Mapping
from typing import TYPE_CHECKING, NamedTuple, Protocol

import shunter
from shunter.errors import EnvironmentProblem
from shunter.kube.errors import ConnectionProblem, Status, Unauthorized, from_answer

if TYPE_CHECKING:
    import aiohttp

    from shunter.kube.kubeconfig import Connection

MAX_REQUESTS = 64
"""Requests in flight per transport; watches and log streams do not count."""

REQUEST_TIMEOUT = 60.0
"""Seconds for one request with a body in the answer; kube-apiserver itself gives up after 60."""

CONNECT_TIMEOUT = 10.0


class Response(NamedTuple):
    """An answer of any status code."""

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


class AioHttpTransport:
    """The real thing. Connects on first use; a 401 makes the credentials refresh once and the request go out again."""

    def __init__(self, connection: Connection, *, user_agent: str = "shunter", timeout: float = REQUEST_TIMEOUT) -> None:
        import aiohttp

        self._aiohttp = aiohttp
        self._connection = connection
        self._server = connection.server.rstrip("/")
        self._user_agent = f"{user_agent}/{shunter.__version__}"
        self._timeout = aiohttp.ClientTimeout(total=timeout, sock_connect=CONNECT_TIMEOUT)
        self._stream_timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT)
        self._slots = asyncio.Semaphore(MAX_REQUESTS)
        self._session: aiohttp.ClientSession | None = None
        self._ssl: ssl.SSLContext | None = None

    async def request(
        self, method: str, path: str, *, params: Mapping[str, str] = {}, headers: Mapping[str, str] = {}, body: bytes = b""
    ) -> Response:
        async with self._slots:
            try:
                async with await self._send(method, path, params, headers, body, self._timeout) as answer:
                    return Response(answer.status, answer.headers, await answer.read())
            except (self._aiohttp.ClientError, TimeoutError, OSError) as error:
                raise self._problem(method, path, error) from error

    async def stream(
        self, method: str, path: str, *, params: Mapping[str, str] = {}, headers: Mapping[str, str] = {}
    ) -> AsyncGenerator[bytes]:
        try:
            async with await self._send(method, path, params, headers, b"", self._stream_timeout) as answer:
                if answer.status >= 400:
                    raise from_answer(method, path, answer.status, answer.headers, await answer.read())
                async for chunk in answer.content.iter_any():
                    yield chunk
        except (self._aiohttp.ClientError, TimeoutError, OSError) as error:
            raise self._problem(method, path, error) from error

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _send(
        self,
        method: str,
        path: str,
        params: Mapping[str, str],
        headers: Mapping[str, str],
        body: bytes,
        timeout: aiohttp.ClientTimeout,
    ) -> aiohttp.ClientResponse:
        answer = await self._attempt(method, path, params, headers, body, timeout)
        if answer.status == 401 and await self._connection.credentials.refresh():
            answer.release()
            self._ssl = None
            answer = await self._attempt(method, path, params, headers, body, timeout)
        return answer

    async def _attempt(
        self,
        method: str,
        path: str,
        params: Mapping[str, str],
        headers: Mapping[str, str],
        body: bytes,
        timeout: aiohttp.ClientTimeout,
    ) -> aiohttp.ClientResponse:
        try:
            identity = await self._connection.credentials.headers()
            if self._ssl is None:
                self._ssl = await self._connection.ssl_context()
        except EnvironmentProblem as error:
            # A token file or a plugin that fails now may work in a minute: informers wait, commands end.
            status = Status(code=401, reason="Unauthorized", message=error.message)
            raise Unauthorized(status, remedy=error.remedy) from error
        if self._session is None:
            self._session = self._new_session()
        return await self._session.request(
            method,
            self._server + path,
            params=params,
            headers=[*identity, *headers.items()],
            data=body or None,
            timeout=timeout,
            ssl=self._ssl,
            server_hostname=self._connection.tls.server_name or None,
            proxy=self._connection.proxy or None,
            allow_redirects=False,
        )

    def _new_session(self) -> aiohttp.ClientSession:
        return self._aiohttp.ClientSession(
            connector=self._aiohttp.TCPConnector(limit=0),
            cookie_jar=self._aiohttp.DummyCookieJar(),
            headers={"User-Agent": self._user_agent, "Accept-Encoding": "identity"},
            read_bufsize=2**20,
            skip_auto_headers=("Content-Type", "Accept"),
        )

    def _problem(self, method: str, path: str, error: BaseException) -> ConnectionProblem:
        cause = error.os_error if isinstance(error, self._aiohttp.ClientConnectorError) else error
        if isinstance(cause, ssl.SSLCertVerificationError):
            said = f"its certificate is not trusted: {cause.verify_message}"
            remedy = "The kubeconfig's certificate-authority must be the one of this server."
        else:
            said = getattr(cause, "strerror", None) or str(cause) or type(cause).__name__
            remedy = "Is the cluster running, and is this the right kubeconfig context?"
        return ConnectionProblem(f"{method} {path}: no answer from {self._server}: {said}.", remedy=remedy)
