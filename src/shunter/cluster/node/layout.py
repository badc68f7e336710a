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
        return self.path.name

    @property
    def pod_file(self) -> Path:
        return self.path / "pod.json"

    @property
    def gpus_file(self) -> Path:
        return self.path / "gpus.json"

    @property
    def sandbox_file(self) -> Path:
        return self.path / "sandbox.json"

    @property
    def namespaces(self) -> Path:
        return self.path / "ns"

    @property
    def shm(self) -> Path:
        return self.path / "shm"

    def volume(self, name: str) -> Path:
        return self.path / "volumes" / name

    def attempt(self, container: str, number: int) -> Path:
        return self.path / "containers" / container / str(number)

    def attempts(self, container: str) -> list[int]:
        """The attempts that left a directory, oldest first."""
        try:
            return sorted(int(name) for name in os.listdir(self.path / "containers" / container))
        except FileNotFoundError:
            return []


class NodeDirectory(NamedTuple):
    """The node's part of the state directory."""

    path: Path

    @property
    def shims(self) -> Path:
        return self.path / "bin"

    @property
    def python(self) -> Path:
        """What Python interpreters of pods import first, at level plain."""
        return self.path / "python"

    @property
    def network_file(self) -> Path:
        return self.path / "network.json"

    @property
    def level_file(self) -> Path:
        return self.path / "level.json"

    @property
    def holder_file(self) -> Path:
        return self.path / "holder.json"

    @property
    def api_server_file(self) -> Path:
        return self.path / "api-server.json"

    @property
    def ports_file(self) -> Path:
        return self.path / "ports.json"

    @property
    def launcher_log(self) -> Path:
        return self.path / "launcher.log"

    def pod(self, uid: str) -> PodDirectory:
        return PodDirectory(self.path / "pods" / uid)

    def pods(self) -> list[PodDirectory]:
        try:
            return [self.pod(uid) for uid in sorted(os.listdir(self.path / "pods"))]
        except FileNotFoundError:
            return []
