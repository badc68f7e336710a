"""Plain HTTP endpoints of a process: /healthz, /readyz, /metrics, each on an address from a flag."""

from __future__ import annotations

import ssl
from collections.abc import Awaitable, Callable, Mapping
from typing import NamedTuple

from shunter.api.formats.digits import whole_number
from shunter.errors import EnvironmentProblem, InputError
from shunter.kube.http.connection import host_port
from shunter.kube.http.limits import Limits
from shunter.kube.http.request import Request
from shunter.kube.http.response import Response
from shunter.kube.http.server import HttpServer

LIMITS = Limits(body=0, held=2**20, connections=256)
STOP_SECONDS = 1.0
"""For requests in progress when the server stops."""
Check = Callable[[], str]
"""Why the process is not healthy or not ready; empty when it is."""


class Address(NamedTuple):
    """Where to listen; an empty host means all interfaces, port 0 a free one."""

    host: str
    port: int

    def __str__(self) -> str:
        return host_port(self.host, self.port)


def parse_address(text: str) -> Address | None:
    """`:8080`, `127.0.0.1:8080`, `[::1]:8080`; `0` and empty text mean not at all. InputError for anything else, also for an
    address of IPv6 without brackets: which of its colons begins the port is ambiguous."""
    if text in ("", "0"):
        return None
    written, colon, port = text.rpartition(":")
    host = written[1:-1] if written.startswith("[") and written.endswith("]") else written
    number = whole_number(port)
    is_host = not any(char in "[]" or char.isspace() for char in host) and (":" not in host or host != written)
    if not colon or not is_host or number is None or number > 65535:
        raise InputError(f"{text!r} is not an address to listen on.", "Write HOST:PORT, [IPV6]:PORT or :PORT, or 0 for none.")
    return Address(host, number)


class Answer(NamedTuple):
    """The whole answer of an endpoint; `status` is that of HTTP."""

    status: int
    text: str
    content_type: str = "text/plain"


Endpoint = Callable[[], Answer]
Guard = Callable[[Request], Awaitable[Answer | None]]
"""The answer to a request that is refused; None if it is allowed."""

VERBOSE = "?verbose"


def checked(path: str, checks: Mapping[str, Check]) -> dict[str, Endpoint]:
    """The endpoint `path`: 200 `ok` while all checks pass, else 500 with a line per check, as Kubernetes' own components answer;
    and `path?verbose`, which shows the lines always."""

    def answer(*, is_verbose: bool) -> Answer:
        problems = {name: check() for name, check in checks.items()}
        lines = [f"[-]{name} failed: {problem}" if problem else f"[+]{name} ok" for name, problem in problems.items()]
        if any(problems.values()):
            return Answer(500, "\n".join(lines) + "\n")
        return Answer(200, "\n".join([*lines, f"{path} check passed", ""]) if is_verbose else "ok")

    return {path: lambda: answer(is_verbose=False), f"{path}{VERBOSE}": lambda: answer(is_verbose=True)}


class EndpointServer:
    """Serves GET of a few paths on one address."""

    def __init__(
        self,
        address: Address,
        endpoints: Mapping[str, Endpoint],
        *,
        tls: ssl.SSLContext | None = None,
        guard: Guard | None = None,
    ) -> None:
        self.address = address
        self._guard = guard
        self._endpoints = endpoints
        self._tls = tls
        self._server = HttpServer(self._serve, LIMITS)

    async def start(self) -> None:
        """Listens; `address` then has the real port. EnvironmentProblem when the port is taken."""
        try:
            port = await self._server.start(self.address.host, self.address.port, self._tls)
        except OSError as error:
            raise EnvironmentProblem(
                f"Cannot listen on {self.address}: {error.strerror or error}.", "Choose another port, or 0 for none."
            ) from error
        self.address = Address(self.address.host, port)

    async def stop(self) -> None:
        """Accepts no more connections, and waits up to `STOP_SECONDS` for requests in progress."""
        await self._server.stop(STOP_SECONDS)

    async def _serve(self, request: Request) -> Response:
        wanted = request.path + (VERBOSE if "verbose" in request.query else "")
        endpoint = self._endpoints.get(wanted) or self._endpoints.get(request.path)
        refusal = await self._guard(request) if self._guard else None
        answer = refusal or (endpoint() if endpoint else Answer(404, "not found\n"))
        return Response(answer.text.encode(), status=answer.status, content_type=answer.content_type)
