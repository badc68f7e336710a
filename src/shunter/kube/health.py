"""Plain HTTP endpoints of a process: /healthz, /readyz, /metrics, each on an address from a flag."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from shunter.errors import EnvironmentProblem, InputError

if TYPE_CHECKING:
    from aiohttp import web

Check = Callable[[], str]
"""Why the process is not healthy or not ready; empty when it is."""


class Address(NamedTuple):
    """Where to listen; an empty host means all interfaces, port 0 a free one."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_address(text: str) -> Address | None:
    """`:8080`, `127.0.0.1:8080`, `[::1]:8080`; `0` and empty text mean not at all. InputError for anything else."""
    if text in ("", "0"):
        return None
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65535:
        raise InputError(f"{text!r} is not an address to listen on.", "Write HOST:PORT or :PORT, or 0 for none.")
    return Address(host.strip("[]"), int(port))


class Answer(NamedTuple):
    status: int
    text: str
    content_type: str = "text/plain"


Endpoint = Callable[[], Answer]

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

    def __init__(self, address: Address, endpoints: Mapping[str, Endpoint], *, tls: ssl.SSLContext | None = None) -> None:
        self.address = address
        self._endpoints = endpoints
        self._tls = tls
        self._runner: web.ServerRunner | None = None

    async def start(self) -> None:
        """Listens; `address` then has the real port. EnvironmentProblem when the port is taken."""
        from aiohttp import web

        self._runner = web.ServerRunner(web.Server(self._serve, access_log=None))
        await self._runner.setup()
        site = web.TCPSite(self._runner, self.address.host or None, self.address.port, ssl_context=self._tls)
        try:
            await site.start()
        except OSError as error:
            await self._runner.cleanup()
            raise EnvironmentProblem(
                f"Cannot listen on {self.address}: {error.strerror or error}.", "Choose another port, or 0 for none."
            ) from error
        self.address = Address(self.address.host, self._runner.addresses[0][1])

    async def stop(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    async def _serve(self, request: web.BaseRequest) -> web.StreamResponse:
        from aiohttp import web

        wanted = request.path + (VERBOSE if "verbose" in request.query else "")
        endpoint = self._endpoints.get(wanted) or self._endpoints.get(request.path)
        answer = endpoint() if endpoint else Answer(404, "not found\n")
        return web.Response(status=answer.status, text=answer.text, headers={"Content-Type": answer.content_type})
