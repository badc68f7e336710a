"""The node as a process: this machine joined to any API server.

SIGTERM ends the process and leaves the pods running; the next one adopts them, as it does after a kill -9. What a kubelet is told
by a configuration file is found out here where that is possible, so a kubeconfig is all that is needed.
"""

from __future__ import annotations

import contextlib
import fcntl
import ipaddress
import os
import re
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from logging import getLogger
from pathlib import Path

from shunter.api.resources import CONFIG_MAPS
from shunter.cluster.node.images import load_images
from shunter.cluster.node.kubelet_access import KubeletAccess, ReviewedCallers
from shunter.cluster.node.node import Node
from shunter.cluster.node.resources import claimed, machine_capacity
from shunter.cluster.node.runtime import HostPort, Level
from shunter.errors import EnvironmentProblem, InputError
from shunter.kube import kubeconfig
from shunter.kube.certificates import KeyPair, issue, new_authority
from shunter.kube.client import Client, connect
from shunter.kube.errors import ApiError
from shunter.kube.kubeconfig import Connection
from shunter.kube.logs import set_up
from shunter.kube.manager import Manager

log = getLogger(__name__)

COMPONENT = "shunter-node"
_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
_SERVING_DAYS = 3650


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeOptions:
    """The flags of `shunter node`; what is empty is found out."""

    kubeconfig: Path | None = None
    name: str = ""
    state_dir: Path | None = None
    level: Level | None = None
    images: Path | None = None
    allocatable: str = ""
    strict_resources: bool = False
    address: str = ""
    port: int = 0
    client_ca_file: Path | None = None
    tls_cert_dir: Path | None = None
    health_probe_bind_address: str = "0"


def serve(options: NodeOptions) -> None:
    """Runs the node until SIGTERM or SIGINT, with its log on stderr."""
    import uvloop

    set_up()
    uvloop.run(run(options))


async def run(options: NodeOptions) -> None:
    """Runs until a signal; pods run on. InputError for wrong options, EnvironmentProblem when cluster or machine are not as
    needed, e.g. when another process runs this node."""
    name = node_name(options.name)
    capacity = machine_capacity()
    allocatable = allocatable_amounts(options.allocatable, capacity, strict=options.strict_resources)
    images = load_images(options.images)
    connection = kubeconfig.find(options.kubeconfig)
    api_server = HostPort(*connection.address)
    address = options.address or own_address(api_server)
    state_dir = options.state_dir or default_state_dir(name)
    with alone(state_dir):
        async with connect(connection, component=COMPONENT) as client:
            access = KubeletAccess(
                serving=serving_certificate(options.tls_cert_dir, name, address),
                client_ca=await client_authority(client, connection, options.client_ca_file),
                guard=ReviewedCallers(client, name),
            )
            node = Node(
                client,
                name=name,
                api_server=api_server,
                directory=state_dir / "node",
                access=access,
                images=images,
                level=options.level,
                address=address,
                port=options.port,
                capacity=capacity,
                allocatable=allocatable,
                guest=True,
            )
            manager = Manager(client, component=COMPONENT, health_probe_bind_address=options.health_probe_bind_address)
            manager.background("node", node.run)
            manager.add_ready_check("node", lambda: "" if node.ready.is_set() else "the node is not registered yet")
            await manager.run()


def node_name(wanted: str) -> str:
    """The name given, else this machine's host name in lower case, as kubelet does it. Raises InputError."""
    name = wanted or socket.gethostname().lower()
    if not _NAME.fullmatch(name) or len(name) > 253:
        raise InputError(f"{name!r} is not a node name.", "Give one of lower case letters, digits, `-` and `.` with --name.")
    return name


def default_state_dir(name: str) -> Path:
    """`$XDG_STATE_HOME/shunter/nodes/NAME`, beside the embedded clusters' directories."""
    base = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    return Path(base) / "shunter" / "nodes" / name


def allocatable_amounts(text: str, capacity: dict[str, Fraction], *, strict: bool) -> dict[str, Fraction]:
    """What the scheduler may give away: what the machine has, but for what is claimed. Raises InputError for claims that cannot
    be read and, when `strict`, for those beyond the machine."""
    claims = claimed(text)
    if strict:
        for name, amount in claims.items():
            if amount > capacity.get(name, 0):
                has = f"has {capacity[name]}" if name in capacity else "has none"
                raise InputError(
                    f"--allocatable {name}: this machine {has}, and --strict-resources allows no more.", "Leave one of them out."
                )
    return {**capacity, **claims}


def own_address(api_server: HostPort) -> str:
    """The address of this machine on the way to the API server: that is where the server finds us, unless told otherwise.
    Raises EnvironmentProblem when there is no way."""
    try:
        (family, kind, _, _, target), *_ = socket.getaddrinfo(*api_server, type=socket.SOCK_DGRAM)
        with socket.socket(family, kind) as probe:
            # Connecting a datagram socket sends nothing; it chooses the route.
            probe.connect(target)
            return str(probe.getsockname()[0])
    except OSError as error:
        raise EnvironmentProblem(f"There is no way to the API server at {api_server.host}: {error.strerror or error}.") from error


def serving_certificate(directory: Path | None, name: str, address: str) -> KeyPair:
    """tls.crt and tls.key of the directory, else a self-signed certificate: API servers verify a kubelet's certificate only when
    started with --kubelet-certificate-authority. Raises InputError."""
    if directory is None:
        host = str(ipaddress.ip_address(address))
        authority = new_authority(f"{COMPONENT}-{name}")
        return issue(authority, f"system:node:{name}", [name, host], organizations=["system:nodes"], days=_SERVING_DAYS)
    try:
        return KeyPair((directory / "tls.crt").read_bytes(), (directory / "tls.key").read_bytes())
    except OSError as error:
        raise InputError(f"--tls-cert-dir: {error.filename} cannot be read: {error.strerror}.") from error


async def client_authority(client: Client, connection: Connection, file: Path | None) -> bytes:
    """The authority whose client certificates are taken: the file's, else the one that the cluster publishes for this purpose,
    else (a node may not read that) the one that the kubeconfig trusts. Raises InputError."""
    if file is not None:
        try:
            return file.read_bytes()
        except OSError as error:
            raise InputError(f"--client-ca-file {file} cannot be read: {error.strerror}.") from error
    try:
        published = await client.get(CONFIG_MAPS, "extension-apiserver-authentication", "kube-system", view=dict)
    except ApiError as error:
        log.info("Client certificates are checked with the kubeconfig's authority: %s", error.message)
        return connection.tls.ca
    return str((published.get("data") or {}).get("client-ca-file") or "").encode()


@contextlib.contextmanager
def alone(state_dir: Path) -> Iterator[None]:
    """While no other process runs a node on this directory. Raises EnvironmentProblem."""
    try:
        state_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle = open(state_dir / "lock", "ab")  # noqa: SIM115 -- held over the yield
    except OSError as error:
        raise EnvironmentProblem(
            f"state directory {state_dir}: {error.strerror}.", "Choose one you can write with --state-dir."
        ) from error
    with handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise EnvironmentProblem(
                f"Another process runs a node in {state_dir}.", "Choose another with --state-dir."
            ) from error
        yield
