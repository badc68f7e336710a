"""The interface to the ways in which a machine can run pods: one protocol, a module per level.

namespaces   Linux: own network address, names, host name, mounts, processes        namespaces.py
plain        anywhere: own session and directory; addresses, ports, paths replaced    plain.py
simulated    no processes at all                                                     simulated.py
"""

from __future__ import annotations

import socket
from collections.abc import Iterable
from enum import Enum
from typing import NamedTuple, Protocol

from shunter.api.core import Service
from shunter.api.meta import Json
from shunter.cluster.node.content.images import Image
from shunter.cluster.node.content.mounts import Mount
from shunter.cluster.node.layout import PodDirectory
from shunter.cluster.node.net.etc_files import pod_domain
from shunter.cluster.node.net.names import Endpoint
from shunter.cluster.node.runtime.cgroups import Group
from shunter.errors import EnvironmentProblem

CONNECT_SECONDS = 10.0
"""The timeout for establishing a forwarded connection."""
LONGEST_KERNEL_NAME = 64
"""What sethostname(2) takes."""


class Level(Enum):
    """How much of a pod's isolation this machine can provide."""

    NAMESPACES = "namespaces"
    PLAIN = "plain"
    SIMULATED = "simulated"


class HostPort(NamedTuple):
    """Where something listens; the host is a name or an address."""

    host: str
    port: int


class ContainerRequest(NamedTuple):
    """The input for an attempt's spec, before the level adapts it."""

    pod: Json
    container: Json
    directory: PodDirectory
    number: int
    image: Image
    declared: dict[str, str]
    """The environment that the pod declares, Services included; it overrides the image's."""
    platform: dict[str, str]
    """The environment that every container gets, unchanged; the pod's own overrides it."""
    mounts: list[Mount]
    group: Group


class Runtime(Protocol):
    """Creates pods' sandboxes and the specs with which attempts are launched."""

    level: Level

    @property
    def switches_users(self) -> bool:
        """Whether containers run as the user that their pod names."""

    async def start(self) -> None:
        """Prepares what all pods share."""

    async def stop(self) -> None:
        """Releases what belongs to this process; pods keep running."""

    async def create_sandbox(self, pod: Json, directory: PodDirectory) -> str:
        """Makes the pod's sandbox and returns its address. Called once a pod; a restarted agent calls `adopt_sandbox`."""

    def adopt_sandbox(self, directory: PodDirectory) -> str:
        """The address of a sandbox that an earlier agent made; empty when there is none (any more)."""

    async def release_sandbox(self, directory: PodDirectory) -> None:
        """Frees the address, namespaces and volumes of a finished pod and removes what its containers wrote elsewhere; its logs
        stay."""

    async def remove_sandbox(self, directory: PodDirectory) -> None:
        """Removes the sandbox and the directory of a pod whose processes have ended."""

    def set_initialized(self, pod: Json, directory: PodDirectory) -> None:
        """The pod's init containers are through: its main containers start."""

    def attempt_spec(self, request: ContainerRequest) -> Json:
        """What the launcher gets. Raises ValueError when the container names no program."""

    def publish(self, services: Iterable[Service], endpoints: Iterable[Endpoint]) -> None:
        """Sets the Services and pods that names resolve to from now on."""

    def api_server(self, pod: Json) -> HostPort:
        """The address at which the pod reaches the API server."""

    async def connect(self, pod: Json, directory: PodDirectory, port: int) -> socket.socket:
        """A connection to a port of the pod's own loopback. Raises LauncherError or OSError."""

    def probe_address(self, pod_ip: str) -> str:
        """The address at which the agent reaches the ports of a pod."""


def host_name(pod: Json) -> str:
    """spec.hostnameOverride, else spec.hostname, else the pod's name, cut to what kubelet allows (63 characters)."""
    spec = pod["spec"]
    return str(spec.get("hostnameOverride") or spec.get("hostname") or pod["metadata"]["name"])[:63].rstrip("-.")


def kernel_name(pod: Json) -> str:
    """What `hostname` prints in the pod: with setHostnameAsFQDN its full name, where it has one. Raises EnvironmentProblem, in
    kubelet's words, for one that Linux does not take."""
    domain = pod_domain(pod)
    if not domain or not pod["spec"].get("setHostnameAsFQDN"):
        return host_name(pod)
    full = f"{host_name(pod)}.{domain}"
    if len(full) > LONGEST_KERNEL_NAME:
        raise EnvironmentProblem(
            f"failed to construct FQDN from pod hostname and cluster domain, FQDN {full} is too long"
            f" ({LONGEST_KERNEL_NAME} characters is the max, {len(full)} characters requested)",
            "Choose a shorter hostname or subdomain, or leave out setHostnameAsFQDN.",
        )
    return full


def uses_host_network(pod: Json) -> bool:
    """Whether the pod uses the machine's network instead of its own (spec.hostNetwork)."""
    return bool(pod["spec"].get("hostNetwork"))
