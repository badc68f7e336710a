"""An HTTPS server with a certificate of the cluster's CA: stands for a webhook or a node."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from aiohttp import web

from cluster.api_server import RunningApiServer
from shunter.kube.tls.certificates import KeyPair, issue

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


def issued(server: RunningApiServer, name: str, *, organizations: tuple[str, ...] = ()) -> KeyPair:
    """A certificate by the server's own CA."""
    pki = server.state.pki
    authority = KeyPair((pki / "ca.crt").read_bytes(), (pki / "ca.key").read_bytes())
    return issue(authority, name, ["127.0.0.1", f"{name}.hooks.svc"], organizations=organizations)


@asynccontextmanager
async def serving(
    server: RunningApiServer, handler: Handler, directory: Path, *, client_certificates: bool = False
) -> AsyncIterator[int]:
    """Serves on a free port of 127.0.0.1; yields the port."""
    pair = issued(server, "webhook")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(server.ca))
    context.verify_mode = ssl.CERT_REQUIRED if client_certificates else ssl.CERT_NONE
    (directory / "tls.crt").write_bytes(pair.certificate)
    (directory / "tls.key").write_bytes(pair.key)
    context.load_cert_chain(directory / "tls.crt", directory / "tls.key")
    runner = web.ServerRunner(web.Server(handler))
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context)
    await site.start()
    try:
        assert site._server is not None
        yield site._server.sockets[0].getsockname()[1]  # type: ignore[attr-defined]
    finally:
        await runner.cleanup()
