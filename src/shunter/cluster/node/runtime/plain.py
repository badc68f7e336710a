"""Level `plain`: every container is a process of this machine, in its own session and directory. Works anywhere."""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterable, Sequence
from logging import getLogger
from pathlib import Path

from shunter.api.core import Service
from shunter.api.meta import Json
from shunter.cluster.node.content import images
from shunter.cluster.node.content.environment import program
from shunter.cluster.node.content.substitution import (
    LOOPBACK,
    Substitution,
    directory,
    endpoint_key,
    substituted,
    substituted_environment,
    substituted_paths,
)
from shunter.cluster.node.launch import attempt
from shunter.cluster.node.launch.removal import delete_tree
from shunter.cluster.node.layout import NodeDirectory, PodDirectory
from shunter.cluster.node.net.external_services import ExternalService
from shunter.cluster.node.net.names import Endpoint
from shunter.cluster.node.programs.in_cluster_python import account_variables, write_sitecustomize
from shunter.cluster.node.programs.shims import write_shims
from shunter.cluster.node.runtime.launcher import Launcher
from shunter.cluster.node.runtime.pod_ports import PortTable
from shunter.cluster.node.runtime.protocol import CONNECT_SECONDS, ContainerRequest, HostPort, Level, kernel_name

log = getLogger(__name__)


class PlainRuntime:
    """Pods as processes that share this machine's network and files."""

    level = Level.PLAIN

    def __init__(
        self, node: NodeDirectory, launcher: Launcher, *, api_server: HostPort, external_services: Sequence[ExternalService] = ()
    ) -> None:
        self._node = node
        self._api_server = api_server
        self._external_services = {(service.name, service.port): service.target for service in external_services}
        self._launcher = launcher
        self._services: tuple[Service, ...] = ()
        self._endpoints: tuple[Endpoint, ...] = ()
        self._ports = PortTable(node.ports_file)

    async def start(self) -> None:
        """Writes the shims, and the sitecustomize module that Python interpreters of pods import first."""
        write_shims(self._node.shims)
        write_sitecustomize(self._node.python)

    async def stop(self) -> None:
        """Does nothing: there are no resources of the agent alone."""

    @property
    def switches_users(self) -> bool:
        """Never: containers run as the user that the node runs as."""
        return False

    async def create_sandbox(self, pod: Json, directory: PodDirectory) -> str:
        """Always the loopback address, as all pods have this machine's network. Raises EnvironmentProblem when its name is too
        long, as the other levels do."""
        kernel_name(pod)
        attempt.write_json(str(directory.sandbox_file), {"address": LOOPBACK})
        return LOOPBACK

    def adopt_sandbox(self, directory: PodDirectory) -> str:
        """The loopback address, or empty where the pod has no sandbox."""
        return LOOPBACK if directory.sandbox_file.exists() else ""

    async def release_sandbox(self, directory: PodDirectory) -> None:
        """Removes the volumes: there are neither addresses nor namespaces. Logs a warning for files that cannot be removed."""
        remove_directory(directory.path / "volumes")

    async def remove_sandbox(self, directory: PodDirectory) -> None:
        """Removes the pod's directory. Logs a warning for files that cannot be removed."""
        remove_directory(directory.path)

    def set_initialized(self, pod: Json, directory: PodDirectory) -> None:
        """Changes nothing: no name is held back here."""

    def attempt_spec(self, request: ContainerRequest) -> Json:
        """Replaces addresses, ports and paths of the pod in its environment and arguments with those of this machine. A
        workingDir that no volume provides becomes a directory of the attempt. Raises ValueError when the container names no
        program."""
        container = request.container
        substitution = self._substitution(request)
        environment = substituted_environment(request.declared, substitution)
        base = {name: value.replace(images.SHIMS, str(self._node.shims)) for name, value in request.image.environment.items()}
        argv = request.image.provided(program(container, {**request.platform, **environment}, request.image.entrypoint))
        work = request.directory.attempt(container["name"], request.number) / "work"
        wanted = container.get("workingDir") or ""
        cwd = substituted_paths(wanted, request.mounts) if wanted else str(work)
        env = {**base, "HOSTNAME": kernel_name(request.pod), **_loopback_defaults(), **request.platform, **environment}
        return {
            "level": self.level.value,
            "argv": [substituted(word, substitution).replace(images.SHIMS, str(self._node.shims)) for word in argv],
            "env": {**env, **account_variables(request.mounts, self._node.python, env)},
            # A workingDir that no volume provides would be this machine's own directory of that name.
            "cwd": cwd if cwd != wanted else str(work),
            "paths": {mount.target: mount.source for mount in request.mounts},
            "cgroup_files": list(request.group.join_files),
            "oom_files": list(request.group.oom_files),
        }

    def publish(self, services: Iterable[Service], endpoints: Iterable[Endpoint]) -> None:
        """Sets the addresses to replace in containers that start from now on; running containers keep theirs. Frees the ports of
        pods that are gone."""
        self._services = tuple(services)
        self._endpoints = tuple(endpoints)
        self._ports.keep({(one.namespace, endpoint_key(one)) for one in self._endpoints})

    def api_server(self, pod: Json) -> HostPort:
        """The address at which it listens on this machine, the same for all pods."""
        return self._api_server

    async def connect(self, pod: Json, directory: PodDirectory, port: int) -> socket.socket:
        """A connection to the port of this machine that stands for the pod's. Raises LauncherError or OSError."""
        actual = self._ports.assigned((pod["metadata"]["namespace"], _own_key(pod)), port)
        return await self._launcher.connect_inside("", actual, CONNECT_SECONDS)

    def probe_address(self, pod_ip: str) -> str:
        """The loopback address, whatever the status says."""
        return LOOPBACK

    def _substitution(self, request: ContainerRequest) -> Substitution:
        metadata, spec = request.pod["metadata"], request.pod["spec"]
        namespace = metadata.get("namespace", "")
        return Substitution(
            directory(namespace, self._services, self._endpoints, spec.get("subdomain", "")),
            _own_key(request.pod),
            tuple(request.mounts),
            lambda key, port: self._ports.port((namespace, key), port),
            self._external_services,
        )


def remove_directory(directory: Path) -> None:
    """Deletes a directory of a pod, if it exists. Logs a warning for files that this process may not delete, as nothing else
    would report them."""
    try:
        if directory.exists():
            delete_tree(str(directory))
    except OSError as error:
        log.warning(
            "%s of a pod that has ended cannot be removed (%s). It takes up disk space: delete it as its owner.", directory, error
        )
        return
    if directory.exists():
        log.warning("%s of a pod that has ended cannot be removed and takes up disk space: delete it yourself.", directory)


def _own_key(pod: Json) -> str:
    hostname, subdomain = pod["spec"].get("hostname"), pod["spec"].get("subdomain")
    return f"{hostname}.{subdomain}" if hostname and subdomain else str(pod["metadata"]["name"])


def _loopback_defaults() -> dict[str, str]:
    """Environment that fits peers on this machine: gloo must not pick another interface, and resolvers must not wait for lost
    answers."""
    return {"GLOO_SOCKET_IFNAME": "lo" if sys.platform == "linux" else "lo0", "RES_OPTIONS": "timeout:1 attempts:1"}
