"""Serves the page: to the user of this machine (`shunter ui`), or to the users of a cluster (`shunter ui serve`)."""

from __future__ import annotations

import asyncio
import errno
import secrets
import signal
import ssl
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from shunter.api.viewers import is_origin
from shunter.errors import EnvironmentProblem, InputError
from shunter.kube import kubeconfig as kubeconfigs
from shunter.kube.kubeconfig import Connection, Tls
from shunter.kube.tls.serving_tls import ServingTls
from shunter.page.access.guard import Settings, cookie_name, local_hosts
from shunter.page.access.logins import LocalLogin, Login, ProxyLogin, ProxyRules, TokenLogin
from shunter.page.record import PageRecord, recorded
from shunter.page.server import PageServer
from shunter.page.views.view import PageOptions

SECRET_BYTES = 16
"""The minimum length of a proxy's secret."""
IDLE_SECONDS = 3600.0
SWITCH_SECONDS = 0.001
"""Python's thread switch interval while the page is served: the event loop, which sends changes, then waits less for the threads
that compute diagnoses. The default of 5 ms would delay each of its steps."""
NEXT_PORTS = 20
"""How many ports are tried after the chosen one if that is in use."""


class LocalOptions(NamedTuple):
    """The page for the user of this machine."""

    connection: Connection
    page: PageOptions
    port: int
    record: Path
    """The file by which other commands find the page (`record.py`)."""


async def served_here(options: LocalOptions, started: Callable[[PageRecord, int], None]) -> None:
    """Serves on 127.0.0.1 until SIGINT or SIGTERM. `started` is called with the record and the port: that of the options, or one
    of the next if it is in use. Raises EnvironmentProblem."""
    key = secrets.token_bytes(32)

    def settings(bound: int) -> Settings:
        return Settings(local_hosts(bound), cookie_name(bound, is_secure=False))

    stopped = stop_requested()
    server = PageServer(LocalLogin(options.connection), options.page, settings, key=key)
    bound = await listening(server, "127.0.0.1", options.port, tries=1 + NEXT_PORTS)
    record = PageRecord(url=f"http://127.0.0.1:{bound}", cluster=options.page.cluster, key=key)
    with recorded(options.record, record):
        started(record, bound)
        await until_stopped(server, stopped)


class ServeOptions(NamedTuple):
    """The flags of `shunter ui serve`."""

    connection: Connection
    is_proxied: bool = False
    urls: tuple[str, ...] = ()
    bind_address: str = "0.0.0.0"
    port: int = 8443
    tls_cert_dir: Path | None = None
    user_header: str = "kubeflow-userid"
    groups_header: str = ""
    proxy_secret_file: Path | None = None
    proxy_client_ca: Path | None = None
    frame_ancestors: str = ""
    namespaces: tuple[str, ...] = ()
    read_only: bool = False


def connection_of(kubeconfig: Path | None, context: str, server: str, authority: Path | None, *, is_proxied: bool) -> Connection:
    """The cluster to show. With `--server`, which needs viewers' tokens, it has no credentials. Raises InputError for flags that
    exclude each other, and if no cluster is found."""
    if not server:
        return kubeconfigs.find(kubeconfig, context=context)
    if kubeconfig or context or is_proxied:
        raise InputError("--server goes with --auth token and without --kubeconfig and --context.", "Leave one of them out.")
    if not server.startswith("https://"):
        raise InputError(f"--server {server}: tokens are sent by https only.", "Give an https:// URL.")
    return Connection(server=server, tls=Tls(ca=authority.read_bytes() if authority else b""))


def addresses(options: ServeOptions) -> tuple[bool, frozenset[str]]:
    """Whether viewers use https, and the accepted values of Host. Raises InputError."""
    hosts: set[str] = set()
    is_secure = options.tls_cert_dir is not None
    for url in options.urls:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.netloc or parts.path not in ("", "/") or "@" in parts.netloc:
            raise InputError(f"--url {url}: not the address of a page.", "Give one such as https://shunter.example.com.")
        is_local = parts.hostname in ("localhost", "127.0.0.1", "::1")
        if parts.scheme == "http" and not is_local:
            raise InputError(f"--url {url}: http is allowed only on this machine.", "Use an https:// URL.")
        is_secure = is_secure or parts.scheme == "https"
        hosts.add(parts.netloc.lower())
    if not hosts and options.port:
        hosts |= local_hosts(options.port)
    return is_secure, frozenset(hosts)


def login_of(options: ServeOptions) -> Login:
    """The login that the flags select. Raises InputError if a proxy could not be authenticated."""
    if not options.is_proxied:
        return TokenLogin(options.connection)
    secret = b""
    if options.proxy_secret_file is not None:
        secret = options.proxy_secret_file.read_bytes().strip()
        if len(secret) < SECRET_BYTES:
            raise InputError(
                f"--proxy-secret-file {options.proxy_secret_file}: it has {len(secret)} bytes.", f"Use {SECRET_BYTES} or more."
            )
    elif options.proxy_client_ca is None:
        raise InputError(
            "--auth proxy: any client that reaches this port could impersonate any viewer.",
            "Authenticate the proxy: --proxy-secret-file, or --proxy-client-ca with --tls-cert-dir.",
        )
    if options.proxy_client_ca is not None and options.tls_cert_dir is None:
        raise InputError("--proxy-client-ca: client certificates need TLS.", "Give --tls-cert-dir.")
    rules = ProxyRules(options.user_header, options.groups_header, secret, options.proxy_client_ca is not None)
    return ProxyLogin(options.connection, rules)


async def served(options: ServeOptions, started: Callable[[int], None]) -> None:
    """Serves until SIGINT or SIGTERM; `started` is called with the port. Raises InputError for options that exclude each other,
    before it listens, and EnvironmentProblem."""
    is_secure, hosts = addresses(options)
    login = login_of(options)
    ancestors = options.frame_ancestors
    if ancestors and not is_origin(ancestors):
        raise InputError(f"--frame-ancestors {ancestors}: not an origin.", "Give one such as https://kubeflow.example.com.")

    def settings(bound: int) -> Settings:
        cookie = cookie_name(bound, is_secure=is_secure)
        return Settings(hosts or local_hosts(bound), cookie, is_secure, ancestors or "'none'")

    page = PageOptions(
        cluster=options.connection.context or "cluster",
        is_read_only=options.read_only,
        namespaces=options.namespaces,
        idle_seconds=IDLE_SECONDS,
    )
    stopped = stop_requested()
    server = PageServer(login, page, settings)
    tls = _tls(options)
    started(await listening(server, options.bind_address, options.port, tls.context if tls else None))
    following = asyncio.create_task(tls.follow()) if tls else None
    await until_stopped(server, stopped)
    if following is not None:
        following.cancel()


def _tls(options: ServeOptions) -> ServingTls | None:
    if options.tls_cert_dir is None:
        return None
    tls = ServingTls()
    tls.use(options.tls_cert_dir)
    if options.proxy_client_ca is not None:
        tls.context.load_verify_locations(cafile=options.proxy_client_ca)
        # Optional in the handshake, since probes have no certificate; `proxied_user` rejects viewers' requests without one.
        tls.context.verify_mode = ssl.CERT_OPTIONAL
    return tls


async def listening(server: PageServer, host: str, port: int, tls: ssl.SSLContext | None = None, *, tries: int = 1) -> int:
    """Starts the server on the first free of `tries` ports and returns it. Raises EnvironmentProblem."""
    for candidate in range(port, min(port + tries, 65536)) if port else (0,):
        try:
            return await server.start(host, candidate, tls)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise EnvironmentProblem(
                    f"--port {candidate}: {error.strerror or error}.", "Choose another with --port."
                ) from error
    more = f", and so are the {tries - 1} after it" if tries > 1 else ""
    raise EnvironmentProblem(f"--port {port}: in use{more}.", "Choose another with --port.")


def stop_requested() -> asyncio.Event:
    """Set by SIGINT and SIGTERM. To be called before the server's address is printed: asyncio may notice a signal that arrives
    while the handlers are being added only when the loop wakes for another reason."""
    stopped = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    return stopped


async def until_stopped(server: PageServer, stopped: asyncio.Event) -> None:
    """Waits for the event, then ends all streams and stops the server."""
    sys.setswitchinterval(SWITCH_SECONDS)
    await stopped.wait()
    await server.stop()
