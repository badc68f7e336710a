"""The node as a process: this machine joined to any API server.

SIGTERM ends the process and leaves the pods running; the next one adopts them, as it does after a kill -9. The settings that a
kubelet reads from a configuration file are detected where possible, so a kubeconfig is all that is needed.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import shutil
import signal
import socket
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from logging import getLogger
from pathlib import Path

from shunter.api.formats import cidr
from shunter.api.names import subdomain_faults
from shunter.api.resources import CONFIG_MAPS
from shunter.cancelling import cancelled
from shunter.cluster.node.content.images import load_images
from shunter.cluster.node.draining import drain, remove_node
from shunter.cluster.node.net import external_services
from shunter.cluster.node.node import Node
from shunter.cluster.node.pod.lifecycle import MAX_BACK_OFF
from shunter.cluster.node.resources import claimed, machine_capacity
from shunter.cluster.node.runtime.protocol import HostPort, Level
from shunter.cluster.node.server.access import KubeletAccess, ReviewGuard
from shunter.cluster.node.teardown import teardown
from shunter.cluster.state_dir import user_state
from shunter.errors import EnvironmentProblem, InputError
from shunter.file_locks import is_held, take
from shunter.kube import kubeconfig
from shunter.kube.client import Client, connect
from shunter.kube.controllers.manager import Manager
from shunter.kube.errors import PASSING, Forbidden, NotFound
from shunter.kube.kubeconfig import Connection
from shunter.kube.logs import set_up
from shunter.kube.tls.certificates import KeyPair, issue, new_authority

log = getLogger(__name__)

COMPONENT = "shunter-node"
_SERVING_DAYS = 3650
_RETRY_SECONDS = 1.0
_LOCK = "lock"


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeOptions:
    """The flags of `shunter node`; empty ones are detected."""

    kubeconfig: Path | None = None
    name: str = ""
    state_dir: Path | None = None
    level: Level | None = None
    images: Path | None = None
    allocatable: str = ""
    strict_resources: bool = False
    max_restart_period: float = 0.0
    """Longest restart back-off of containers, in seconds; 0 is Kubernetes' default."""
    address: str = ""
    port: int = 0
    client_ca_file: Path | None = None
    tls_cert_dir: Path | None = None
    health_probe_bind_address: str = "0"
    reach: tuple[str, ...] = ()
    """Ways for pods to what is outside of their network, each `NAME:PORT=HOST:PORT`."""
    drain: bool = False
    """Empty the node and remove it, whichever process runs it, instead of running it."""


def serve(options: NodeOptions) -> None:
    """Runs the node until SIGTERM or SIGINT, or drains it, with its log on stderr."""
    import uvloop

    set_up()
    uvloop.run(run(options))


async def run(options: NodeOptions) -> None:
    """Runs until a signal; pods run on. InputError for wrong options, EnvironmentProblem when cluster or machine are not as
    needed, e.g. when another process runs this node."""
    name = node_name(options.name)
    state_dir = options.state_dir or default_state_dir(name)
    connection = kubeconfig.find(options.kubeconfig)
    async with connect(connection, component=COMPONENT) as client:
        if options.drain and (drained := running_process(state_dir) > 0):
            await drain(client, name)
            await stop_process(state_dir)
        with alone(state_dir):
            if not options.drain:
                await serve_pods(client, await new_node(client, connection, options, name, state_dir), options)
                return
            if not drained:
                await drain_as_node(client, await new_node(client, connection, options, name, state_dir), name)
            await remove_node(client, name)
            await asyncio.to_thread(remove_files, state_dir)


async def new_node(client: Client, connection: Connection, options: NodeOptions, name: str, state_dir: Path) -> Node:
    """The node that the options describe. Raises InputError and EnvironmentProblem."""
    capacity = machine_capacity()
    api_server = HostPort(*connection.address)
    address = checked_address(options.address) if options.address else own_address(api_server)
    access = KubeletAccess(
        serving=serving_certificate(options.tls_cert_dir, name, address),
        client_ca=await client_authority(client, connection, options.client_ca_file),
        guard=ReviewGuard(client, name),
    )
    return Node(
        client,
        name=name,
        api_server=api_server,
        directory=state_dir / "node",
        access=access,
        images=load_images(options.images),
        level=options.level,
        max_restart_period=options.max_restart_period or MAX_BACK_OFF,
        address=address,
        port=options.port,
        capacity=capacity,
        allocatable=allocatable_amounts(options.allocatable, capacity, strict=options.strict_resources),
        guest=True,
        external_services=external_services.parsed(options.reach),
    )


async def serve_pods(client: Client, node: Node, options: NodeOptions) -> None:
    """Runs the node until a signal."""
    manager = Manager(client, component=COMPONENT, health_probe_bind_address=options.health_probe_bind_address)
    manager.background("node", node.run)
    manager.add_ready_check("node", lambda: "" if node.ready.is_set() else "the node is not registered yet")
    await manager.run()


async def drain_as_node(client: Client, node: Node, name: str) -> None:
    """Drains while this process is the node, since no other is: pods need one to end."""
    running = asyncio.ensure_future(node.run())
    draining = asyncio.ensure_future(_drained(client, node, name))
    try:
        await asyncio.wait({running, draining}, return_when=asyncio.FIRST_COMPLETED)
        await (running if running.done() else draining)
    finally:
        await cancelled([running, draining])


async def _drained(client: Client, node: Node, name: str) -> None:
    await node.ready.wait()
    await drain(client, name)


async def stop_process(state_dir: Path) -> None:
    """Has the process that runs the node end, if there is one, and waits for that."""
    if pid := running_process(state_dir):
        os.kill(pid, signal.SIGTERM)
        await asyncio.to_thread(_wait_for_lock, state_dir / _LOCK)


def _wait_for_lock(path: Path) -> None:
    with open(path, "rb") as handle:
        fcntl.flock(handle, fcntl.LOCK_SH)


def remove_files(state_dir: Path) -> None:
    """Removes what the node left on this machine."""
    teardown(state_dir / "node")
    shutil.rmtree(state_dir / "node", ignore_errors=True)


def node_name(wanted: str) -> str:
    """The name given, else this machine's host name in lower case, as kubelet does it. Raises InputError."""
    name = wanted or socket.gethostname().lower()
    if subdomain_faults(name):
        raise InputError(f"{name!r} is not a node name.", "Give one of lower case letters, digits, `-` and `.` with --name.")
    return name


def default_state_dir(name: str) -> Path:
    """`$XDG_STATE_HOME/shunter/nodes/NAME`, beside the embedded clusters' directories."""
    return user_state() / "nodes" / name


def allocatable_amounts(text: str, capacity: dict[str, Fraction], *, strict: bool) -> dict[str, Fraction]:
    """What the scheduler may give away: what the machine has, but for what is claimed. Raises InputError for claims that cannot
    be read and, when `strict`, for those beyond the machine."""
    claims = claimed(text)
    if strict:
        for name, amount in claims.items():
            if amount > capacity.get(name, 0):
                has = f"has {capacity[name]}" if name in capacity else "has none"
                raise InputError(
                    f"--allocatable {name}: this machine {has}, and --strict-resources forbids more.", "Leave one of them out."
                )
    return {**capacity, **claims}


def own_address(api_server: HostPort) -> str:
    """The address of this machine on the way to the API server: that is where the server finds us, by default.
    Raises EnvironmentProblem when there is no way."""
    try:
        (family, kind, _, _, target), *_ = socket.getaddrinfo(*api_server, type=socket.SOCK_DGRAM)
        with socket.socket(family, kind) as probe:
            # Connecting a datagram socket sends nothing; it chooses the route.
            probe.connect(target)
            return str(probe.getsockname()[0])
    except OSError as error:
        raise EnvironmentProblem(f"No route to the API server at {api_server.host}: {error.strerror or error}.") from error


def checked_address(text: str) -> str:
    """An address that was given. Raises InputError: a Node has no names for its server."""
    found = cidr.address(text)
    if found is None:
        raise InputError(f"--address {text!r} is not an IP address.", "Give one that the API server reaches.")
    return str(found)


def serving_certificate(directory: Path | None, name: str, address: str) -> KeyPair:
    """tls.crt and tls.key of the directory, else a self-signed certificate: API servers verify a kubelet's certificate only when
    started with --kubelet-certificate-authority. Raises InputError."""
    if directory is None:
        authority = new_authority(f"{COMPONENT}-{name}")
        return issue(authority, f"system:node:{name}", [name, address], organizations=["system:nodes"], days=_SERVING_DAYS)
    certificate, key = directory / "tls.crt", directory / "tls.key"
    try:
        pair = KeyPair(certificate.read_bytes(), key.read_bytes())
        # Without a password: there is no one to type it.
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, password="")
    except ssl.SSLError as error:
        raise InputError(f"--tls-cert-dir {directory}: tls.crt and tls.key are no certificate and its key: {error}.") from error
    except OSError as error:
        raise InputError(f"--tls-cert-dir: {error.filename} cannot be read: {error.strerror}.") from error
    return pair


async def client_authority(client: Client, connection: Connection, file: Path | None) -> bytes:
    """The authority whose client certificates are taken: the file's, else the one that the cluster publishes for this purpose,
    else (a node may not read that) the one that the kubeconfig trusts. Waits for a server that is away. Raises InputError."""
    if file is not None:
        try:
            authority = file.read_bytes()
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_verify_locations(cadata=authority.decode())
        except (ssl.SSLError, ValueError) as error:
            raise InputError(f"--client-ca-file {file} holds no certificate: {error}.") from error
        except OSError as error:
            raise InputError(f"--client-ca-file {file} cannot be read: {error.strerror}.") from error
        return authority
    while True:
        try:
            published = await client.get(CONFIG_MAPS, "extension-apiserver-authentication", "kube-system", view=dict)
            return str((published.get("data") or {}).get("client-ca-file") or "").encode()
        except (Forbidden, NotFound) as error:
            log.info("Client certificates are checked with the kubeconfig's CA: %s", error.message)
            return connection.tls.ca
        except PASSING as error:
            log.warning("Waiting for the API server: %s", error.message)
            await asyncio.sleep(_RETRY_SECONDS)


@contextlib.contextmanager
def alone(state_dir: Path) -> Iterator[None]:
    """While no other process runs a node on this directory. Raises EnvironmentProblem."""
    try:
        state_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle = open(state_dir / _LOCK, "ab")  # noqa: SIM115 -- held over the yield
    except OSError as error:
        raise EnvironmentProblem(
            f"state directory {state_dir}: {error.strerror}.", "Choose one you can write with --state-dir."
        ) from error
    with handle:
        if not take(handle):
            raise EnvironmentProblem(f"Another process runs a node in {state_dir}.", "Choose another with --state-dir.")
        try:
            handle.truncate(0)
            handle.write(str(os.getpid()).encode())
            handle.flush()
        except OSError as error:
            raise EnvironmentProblem(f"state directory {state_dir}: {error.strerror}.", "Make room on its disk.") from error
        yield


def running_process(state_dir: Path) -> int:
    """The process that runs a node on this directory; 0 when there is none (the kernel drops its lock however it ends)."""
    with contextlib.suppress(FileNotFoundError), open(state_dir / _LOCK, "rb") as handle:
        return int(handle.read() or 0) if is_held(handle) else 0
    return 0
