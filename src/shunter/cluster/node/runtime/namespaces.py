"""Level `namespaces`: a pod has its own network address, host name and IPC; a container its own root, mounts and processes."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable, Sequence
from logging import getLogger
from pathlib import Path

from shunter.api.core import Service
from shunter.api.formats import quantity
from shunter.api.meta import Json
from shunter.cluster.node.content import images
from shunter.cluster.node.content.environment import program
from shunter.cluster.node.content.mounts import Mount, uncovered
from shunter.cluster.node.content.service_links import API_SERVER, API_SERVER_NAMESPACE
from shunter.cluster.node.content.user_identity import ROOT, Accounts, sets_user, user_identity
from shunter.cluster.node.content.volumes import memory_volumes
from shunter.cluster.node.launch import attempt
from shunter.cluster.node.layout import NodeDirectory, PodDirectory
from shunter.cluster.node.net.api_server_proxy import ApiServerProxy
from shunter.cluster.node.net.dns import NameServer
from shunter.cluster.node.net.etc_files import hosts_file, resolver_file
from shunter.cluster.node.net.external_services import ExternalService, names
from shunter.cluster.node.net.names import CLUSTER_DOMAIN, Endpoint, zone
from shunter.cluster.node.net.network import PREFIX, Network, choose_network
from shunter.cluster.node.net.starting_pods import StartingPods
from shunter.cluster.node.programs.shims import write_shims
from shunter.cluster.node.runtime.launcher import Launcher, LauncherError
from shunter.cluster.node.runtime.protocol import (
    CONNECT_SECONDS,
    ContainerRequest,
    HostPort,
    Level,
    host_name,
    kernel_name,
    uses_host_network,
)

log = getLogger(__name__)

SHM_BYTES = 64 * 1024 * 1024
"""Size of /dev/shm, as containerd makes it; an emptyDir with medium Memory mounted there replaces it, as on a cluster."""
DNS_PORT = 53
API_SERVER_NAME = f"{API_SERVER}.{API_SERVER_NAMESPACE}.svc"
API_SERVER_PORT = 443
_NAMESPACES = ("net", "uts", "ipc")
# What containerd gives a container (CAP_* numbers of capabilities(7)).
_CAPABILITIES = {
    "CHOWN": 0, "DAC_OVERRIDE": 1, "FOWNER": 3, "FSETID": 4, "KILL": 5, "SETGID": 6, "SETUID": 7, "SETPCAP": 8,
    "NET_BIND_SERVICE": 10, "NET_RAW": 13, "SYS_CHROOT": 18, "MKNOD": 27, "AUDIT_WRITE": 29, "SETFCAP": 31,
}  # fmt: skip
_GRANTABLE = {"NET_ADMIN": 12, "IPC_LOCK": 14, "SYS_PTRACE": 19, "SYS_ADMIN": 21, "SYS_NICE": 23, "SYS_RESOURCE": 24}
_ALL_CAPABILITIES = 41


class NamespaceRuntime:
    """Linux with the right to create namespaces, mounts and a bridge."""

    level = Level.NAMESPACES

    def __init__(
        self,
        node: NodeDirectory,
        launcher: Launcher,
        *,
        host_ip: str,
        api_server: HostPort,
        external_services: Sequence[ExternalService] = (),
    ) -> None:
        self._node = node
        self._api_server = api_server
        self._proxy = ApiServerProxy(*api_server)
        self._proxy_port = 0
        self._external_services = external_services
        self._service_proxies: list[ApiServerProxy] = []
        self._launcher = launcher
        self._host_ip = host_ip
        self._network = _stored_network(node)
        self._addresses: dict[str, str] = {}
        self._starting = StartingPods()
        self._names = NameServer(self._starting)

    @property
    def switches_users(self) -> bool:
        """Whether the launcher is root of the machine: a user namespace of ours has no other users."""
        return self._launcher.is_root

    @property
    def gateway(self) -> str:
        """The address of the machine, and of the name server, in the pods' network."""
        return self._network.gateway

    async def start(self) -> None:
        """Creates the bridge; serves names, the API server and the services outside the cluster at its address."""
        write_shims(self._node.shims, self._network.gateway)
        await self._launcher.request("bridge", bridge=self._network.bridge, gateway=self._network.gateway, prefix=PREFIX)
        await self._names.start(*await self._launcher.name_server_sockets(self._network.gateway, DNS_PORT))
        listener = await self._api_server_listener()
        self._proxy_port = listener.getsockname()[1]
        if attempt.read_json(str(self._node.api_server_file)) != self._proxy_port:
            attempt.write_json(str(self._node.api_server_file), self._proxy_port)
        await self._proxy.start(listener)
        for service in self._external_services:
            proxy = ApiServerProxy(*service.target)
            await proxy.start(await self._launcher.listener(self._network.gateway, service.port))
            self._service_proxies.append(proxy)

    async def stop(self) -> None:
        """Stops serving names and the API server to pods; bridge and pods stay."""
        for proxy in (self._proxy, *self._service_proxies):
            await proxy.stop()
        await self._names.stop()
        self._starting.close()

    async def _api_server_listener(self) -> socket.socket:
        """The socket at which pods reach the API server. Running pods know the port, so it stays the same."""
        before = attempt.read_json(str(self._node.api_server_file)) or API_SERVER_PORT
        try:
            return await self._launcher.listener(self._network.gateway, before)
        except (OSError, LauncherError) as error:
            log.warning("Port %d for the pods' connection to the API server is in use (%s): using another port", before, error)
            return await self._launcher.listener(self._network.gateway, 0)

    async def create_sandbox(self, pod: Json, directory: PodDirectory) -> str:
        """A pod with hostNetwork gets the machine's address. Raises EnvironmentProblem when all addresses are taken or its name
        is too long, LauncherError or OSError when the sandbox cannot be made."""
        hostname = kernel_name(pod)
        on_host = uses_host_network(pod)
        address = self._host_ip if on_host else self._network.free_address(self._addresses.values())
        if not on_host:
            self._addresses[directory.uid] = address
        diagnosis = await self._launcher.create_pod(
            directory=str(directory.path),
            hostname=hostname,
            shm_bytes=SHM_BYTES,
            memory_volumes=[
                {"path": str(directory.volume(name)), "bytes": int(quantity.parse(limit)) if limit else 0}
                for name, limit in memory_volumes(pod["spec"]).items()
            ],
            network=None
            if on_host
            else {
                "bridge": self._network.bridge,
                "gateway": self._network.gateway,
                "prefix": PREFIX,
                "address": address,
                "host_end": self._network.host_end(address),
            },
        )
        if diagnosis is not None:
            self._starting.add(address, diagnosis, has_init_containers=bool(pod["spec"].get("initContainers")))
        try:
            attempt.write_json(
                str(directory.sandbox_file), {"address": address, "on_host": on_host, "generation": self._launcher.generation}
            )
        except OSError:
            # Without the file it would be created a second time.
            await self.release_sandbox(directory)
            raise
        return address

    def adopt_sandbox(self, directory: PodDirectory) -> str:
        """The sandbox's address; empty also when the machine or the user namespace of the pods was started after the sandbox, as
        its namespaces are gone then."""
        stored = attempt.read_json(str(directory.sandbox_file))
        # After a reboot the files exist, but not the mounts on them; pods of level plain have no sandbox.
        if not stored or stored.get("generation") != self._launcher.generation:
            return ""
        if not stored["on_host"]:
            self._addresses[directory.uid] = stored["address"]
        return str(stored["address"])

    async def release_sandbox(self, directory: PodDirectory) -> None:
        """Removes namespaces, /dev/shm, volumes and the containers' roots, after which the address is free."""
        # By the launcher: on some disks removing a directory takes milliseconds, during which the name server could not answer.
        parts = (directory.namespaces, directory.shm, directory.path / "volumes", *directory.roots())
        await self._launcher.request("remove", directories=[str(part) for part in parts])
        self._free_address(directory)

    async def remove_sandbox(self, directory: PodDirectory) -> None:
        """Removes the pod's whole directory with what is mounted in it, after which the address is free."""
        await self._launcher.request("remove", directories=[str(directory.path)])
        self._free_address(directory)

    def _address(self, pod: Json, directory: PodDirectory) -> str:
        return self._host_ip if uses_host_network(pod) else self._addresses[directory.uid]

    def _free_address(self, directory: PodDirectory) -> None:
        self._starting.remove(self._addresses.pop(directory.uid, ""))

    def set_initialized(self, pod: Json, directory: PodDirectory) -> None:
        """From now on the pod may be held up by names of pods in which nothing listens yet."""
        self._starting.set_initialized(self._address(pod, directory))

    def attempt_spec(self, request: ContainerRequest) -> Json:
        """The spec, with namespaces, mounts, files such as /etc/hosts, user and capabilities. Raises ValueError when the
        container names no program."""
        pod, container = request.pod, request.container
        hostname = host_name(pod)
        on_host = uses_host_network(pod)
        address = self._address(pod, request.directory)
        attempt_directory = request.directory.attempt(container["name"], request.number)
        target = container.get("targetContainerName", "")
        looks_into = request.directory.attempt(target, max(request.directory.attempts(target), default=0)) if target else ""
        termination_path = container.get("terminationMessagePath") or "/dev/termination-log"
        mounts = [
            Mount(str(self._node.shims), images.SHIMS, read_only=True),
            *request.mounts,
            *uncovered(request.image.trees, request.mounts),
            Mount(str(attempt_directory / "termination"), termination_path, read_only=False),
        ]
        files = {"/etc/hostname": f"{kernel_name(pod)}\n", "/etc/hosts": hosts_file(pod, hostname, address)}
        if not on_host:
            files["/etc/resolv.conf"] = resolver_file(pod, self._network.gateway)
        context = container.get("securityContext") or {}
        user = None
        if self.switches_users and sets_user(pod["spec"], container):
            user = user_identity(pod, container, _accounts(request.image.root))
        home = {"HOME": user.home} if user and user.uid != ROOT else {}
        return {
            "level": self.level.value,
            "argv": request.image.provided(
                program(container, {**request.platform, **request.declared}, request.image.entrypoint)
            ),
            "env": {**request.image.environment, **home, "HOSTNAME": kernel_name(pod), **request.platform, **request.declared},
            "cwd": container.get("workingDir") or "/",
            "namespaces": [str(request.directory.namespaces / kind) for kind in _NAMESPACES if not (on_host and kind == "net")],
            "shares_processes_of": str(looks_into),
            "image_root": request.image.root,
            "files": files,
            "shm": str(request.directory.shm),
            "mounts": [mount._asdict() for mount in mounts],
            "hidden": [str(self._node.path.parent)],
            "capabilities": capabilities(context),
            "user": user._asdict() if user else None,
            "reachable": reachable(request.image.trees) if user and user.uid != ROOT else [],
            "no_new_privileges": context.get("allowPrivilegeEscalation") is False,
            "read_only_root": bool(context.get("readOnlyRootFilesystem")),
            "cgroup_files": list(request.group.join_files),
            "oom_files": list(request.group.oom_files),
        }

    def publish(self, services: Iterable[Service], endpoints: Iterable[Endpoint]) -> None:
        """Sets what the name server answers from now on, including names for the API server and the services outside the
        cluster."""
        gateway = self._network.gateway
        fixed = {f"{API_SERVER_NAME}.{CLUSTER_DOMAIN}": gateway, **names(self._external_services, gateway)}
        self._names.publish(zone(services, endpoints, fixed))

    def api_server(self, pod: Json) -> HostPort:
        """Its name and our port in the pods' network; its own address for a pod with hostNetwork."""
        # By name, which a server certificate is sure to contain.
        return self._api_server if uses_host_network(pod) else HostPort(API_SERVER_NAME, self._proxy_port)

    async def connect(self, pod: Json, directory: PodDirectory, port: int) -> socket.socket:
        """A connection made inside the pod's network namespace, or in the machine's for a pod with hostNetwork. Raises
        LauncherError or OSError."""
        namespace = "" if uses_host_network(pod) else str(directory.namespaces / "net")
        return await self._launcher.connect_inside(namespace, port, CONNECT_SECONDS)

    def probe_address(self, pod_ip: str) -> str:
        """The pod's own address, which the machine reaches through the bridge."""
        return pod_ip


def reachable(trees: Iterable[str]) -> list[str]:
    """The directories that lead to the trees an image is made of, and the trees, outermost first."""
    found = {str(place) for tree in map(os.path.realpath, trees) for place in (Path(tree), *Path(tree).parents)}
    return sorted(found, key=lambda path: path.count("/"))


def _accounts(root: str) -> Accounts:
    texts = []
    for name in ("passwd", "group"):
        try:
            texts.append(Path(root, "etc", name).read_text(errors="replace"))
        except OSError:
            texts.append("")
    return Accounts(*texts)


def capabilities(security: Json) -> list[int]:
    """The numbers of the capabilities a container keeps: containerd's default, changed by its securityContext."""
    if security.get("privileged"):
        return list(range(_ALL_CAPABILITIES))
    changes = security.get("capabilities") or {}
    added = {_plain_name(name) for name in changes.get("add") or ()}
    dropped = {_plain_name(name) for name in changes.get("drop") or ()}
    if "ALL" in added:
        return list(range(_ALL_CAPABILITIES))
    kept = {} if "ALL" in dropped else {name: number for name, number in _CAPABILITIES.items() if name not in dropped}
    kept.update({name: number for name, number in {**_CAPABILITIES, **_GRANTABLE}.items() if name in added})
    return sorted(kept.values())


def _plain_name(capability: str) -> str:
    return capability.upper().removeprefix("CAP_")


def _stored_network(node: NodeDirectory) -> Network:
    """The cluster's network, chosen once, because running pods have addresses in it."""
    stored = attempt.read_json(str(node.network_file))
    if stored:
        return Network(**stored)
    network = choose_network(node.path)
    attempt.write_json(str(node.network_file), network._asdict())
    return network
