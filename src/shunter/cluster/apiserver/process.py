"""The API server as a process: serves one embedded cluster until SIGTERM, on a socket that listens already.

Keys and tokens are the supervisor's (docs/architecture.md). Prints nothing when all is well; /readyz answers once it serves.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import signal
import socket
import ssl
import sys
from pathlib import Path

import uvloop

from shunter.cluster.apiserver import builtin
from shunter.cluster.apiserver.admission.webhooks import Webhooks
from shunter.cluster.apiserver.auth.authn import Authenticator
from shunter.cluster.apiserver.auth.authz import Authorizer
from shunter.cluster.apiserver.auth.rbac import Rbac
from shunter.cluster.apiserver.auth.service_account_tokens import TokenIssuer
from shunter.cluster.apiserver.backend import Backend, StoredObjects
from shunter.cluster.apiserver.bootstrap import bootstrap
from shunter.cluster.apiserver.custom_resources import crd_lifecycle
from shunter.cluster.apiserver.registry import Registry
from shunter.cluster.apiserver.server import BODY_LIMIT, ApiServer
from shunter.cluster.apiserver.storage import event_expiry
from shunter.cluster.apiserver.storage.disk_room import StorageRoom
from shunter.cluster.apiserver.storage.store import Store
from shunter.cluster.apiserver.subresources.pod_logs import NodeClient
from shunter.kube.http.limits import Limits
from shunter.kube.http.server import HttpServer

_SHUTDOWN_SECONDS = 5.0
LIMITS = Limits(body=BODY_LIMIT, held=128 * 2**20)


def tls_context(pki: Path) -> ssl.SSLContext:
    """The server's TLS: its own certificate, and client certificates of the cluster's CA for those who have one."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(pki / "ca.crt"))
    context.verify_mode = ssl.CERT_OPTIONAL
    context.load_cert_chain(pki / "server.crt", pki / "server.key")
    return context


async def serve(state_dir: Path, listener: socket.socket, disabled_plugins: frozenset[str]) -> None:
    """Serves until SIGTERM or SIGINT; then ends watches, lets requests finish, and commits."""
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    pki = state_dir / "pki"
    store = Store(state_dir / "store" / "cluster.sqlite3")
    store.start()
    registry = Registry(builtin.kinds())
    authorizer = Authorizer(Rbac(store))
    backend = Backend(
        store=store,
        registry=registry,
        objects=StoredObjects(store),
        webhooks=Webhooks(store, registry, authorizer.answer),
        authorizer=authorizer,
        room=StorageRoom(state_dir),
        disabled_plugins=disabled_plugins,
    )
    issuer = TokenIssuer(pki / "server.key")
    nodes = NodeClient(pki)
    expiring = asyncio.create_task(event_expiry.expire(store))
    try:
        crd_lifecycle.follow(backend)
        await bootstrap(backend)
        api = ApiServer(backend, Authenticator(state_dir / "tokens.json", issuer, store), issuer, nodes)
        server = HttpServer(api.handle, LIMITS, accepts=api.accepts)
        await server.start_on(listener, tls_context(pki))
        gc.collect()
        gc.freeze()
        await stop.wait()
        api.stop_watches()
        await server.stop(_SHUTDOWN_SECONDS)
    finally:
        expiring.cancel()
        await backend.webhooks.close()
        nodes.close()
        store.close()


def run(state_dir: Path, listener: socket.socket, disabled_plugins: frozenset[str]) -> None:
    """`serve` in this process, with its log on stderr. Raises EnvironmentProblem, OSError or sqlite3.Error where the state
    directory cannot be used."""
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    gc.set_threshold(50_000, 20, 50)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serve(state_dir, listener, disabled_plugins))
