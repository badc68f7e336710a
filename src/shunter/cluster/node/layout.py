"""Where the node keeps what belongs to a pod. Everything of a pod lives below one directory, so removing it removes the pod.

NODE/pods/UID/pod.json                     the pod as last seen, for a restarted agent whose pod is gone from the API
NODE/pods/UID/sandbox.json                 its address
NODE/pods/UID/ns/  shm/                    namespaces, /dev/shm
NODE/pods/UID/volumes/NAME/
NODE/pods/UID/containers/NAME/N/           attempts, see launch.attempt
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple


class PodDirectory(NamedTuple):
    """The directory of one pod."""

    path: Path

    @property
    def uid(self) -> str:
        """The pod's uid, after which the directory is called."""
        return self.path.name

    @property
    def pod_file(self) -> Path:
        """The pod's metadata, written before its sandbox is made."""
        return self.path / "pod.json"

    @property
    def gpus_file(self) -> Path:
        """The indexes of the GPUs that each container was given, by its name: a restarted agent gives no others."""
        return self.path / "gpus.json"

    @property
    def sandbox_file(self) -> Path:
        """The pod's address and, at level `namespaces`, whether it is the machine's, and during which start of the machine it was
        made."""
        return self.path / "sandbox.json"

    @property
    def namespaces(self) -> Path:
        """The directory where the pod's namespaces are bound, under the names net, uts and ipc."""
        return self.path / "ns"

    @property
    def shm(self) -> Path:
        """What all containers of the pod have as /dev/shm."""
        return self.path / "shm"

    def volume(self, name: str) -> Path:
        """Where the volume of this name in the pod's spec is."""
        return self.path / "volumes" / name

    def attempt(self, container: str, number: int) -> Path:
        """The directory of one run of a container; the first has number 0."""
        return self.path / "containers" / container / str(number)

    def attempts(self, container: str) -> list[int]:
        """The attempts that left a directory, oldest first."""
        try:
            return sorted(int(name) for name in os.listdir(self.path / "containers" / container))
        except FileNotFoundError:
            return []

    def roots(self) -> list[Path]:
        """What each attempt of each container wrote outside of volumes, where it has a root of its own."""
        return sorted(self.path.glob("containers/*/*/root"))


class NodeDirectory(NamedTuple):
    """The node's part of the state directory."""

    path: Path

    @property
    def shims(self) -> Path:
        """Programs that pods expect of their images, such as nslookup."""
        return self.path / "bin"

    @property
    def python(self) -> Path:
        """What Python interpreters of pods import first, at level plain."""
        return self.path / "python"

    @property
    def network_file(self) -> Path:
        """The bridge and the subnet of the cluster, kept since pods that run have addresses in it."""
        return self.path / "network.json"

    @property
    def level_file(self) -> Path:
        """The level that the last trial of this machine found, and why, for a start with a full disk."""
        return self.path / "level.json"

    @property
    def holder_file(self) -> Path:
        """The process that keeps the pods' user namespace, where they run in one because the node is not root."""
        return self.path / "holder.json"

    @property
    def api_server_file(self) -> Path:
        """The port on which pods find the API server, kept since pods that run use it."""
        return self.path / "api-server.json"

    @property
    def ports_file(self) -> Path:
        """The ports of this machine that stand for ports of pods, at level plain."""
        return self.path / "ports.json"

    @property
    def launcher_log(self) -> Path:
        """What the launcher and the warm parents say."""
        return self.path / "launcher.log"

    @property
    def pods_directory(self) -> Path:
        """What the directories of all pods are in."""
        return self.path / "pods"

    def pod(self, uid: str) -> PodDirectory:
        """The directory of the pod with this uid, whether or not it exists."""
        return PodDirectory(self.pods_directory / uid)

    def pods(self) -> list[PodDirectory]:
        """The directories of all pods that have one, in the order of their uids."""
        try:
            return [self.pod(uid) for uid in sorted(os.listdir(self.pods_directory))]
        except FileNotFoundError:
            return []
