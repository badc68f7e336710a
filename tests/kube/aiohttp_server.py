"""A server of aiohttp, a peer that is not ours, and our transport to it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from aiohttp import web

from shunter.kube.kubeconfig import Connection

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def aiohttp_server(handler: Handler) -> AsyncIterator[Connection]:
    """Serves on a free port; yields how to get there, with a path before all others."""
    runner = web.ServerRunner(web.Server(handler, access_log=None), shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield Connection(server=f"http://127.0.0.1:{runner.addresses[0][1]}/prefix")
    finally:
        await runner.cleanup()
