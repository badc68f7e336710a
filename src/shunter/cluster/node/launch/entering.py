"""Into a running container: what every command that is run in one has in common."""

from __future__ import annotations

import os
from typing import Any

from shunter.cluster.node.launch import attempt, linux, sandbox
from shunter.cluster.node.launch.cgroup_files import CgroupFiles

_NAMESPACES = ("ipc", "uts", "net", "pid", "mnt")


class RunningContainer:
    """A container that runs now. Raises RuntimeError where none does.

    `enter` takes the calling process in; only its children, though, are processes of the container. They call `join` before they
    execute anything.
    """

    def __init__(self, directory: str) -> None:
        self.spec: dict[str, Any] = attempt.read_json(f"{directory}/spec.json")
        state = attempt.read_json(f"{directory}/state.json")
        if not state or "pid" not in state or "exit_code" in state:
            raise RuntimeError("container is not running")
        self.pid: int = state["pid"]
        # Paths of this machine: opened before its mounts are out of sight.
        self._groups = CgroupFiles(self.spec["cgroup_files"])

    @property
    def _has_namespaces(self) -> bool:
        return bool(self.spec["level"] == "namespaces")

    def enter(self) -> None:
        """The calling process sees what the container sees. Raises OSError."""
        if self._has_namespaces:
            for kind in _NAMESPACES:
                linux.set_namespace(f"/proc/{self.pid}/ns/{kind}")
        os.chdir(self.spec["cwd"])

    def join(self) -> None:
        """The calling process, with its standard streams in place, gets the container's limits, user and rights, no more."""
        self._groups.join()
        if self._has_namespaces:
            sandbox.keep_capabilities(self.spec["capabilities"])
            sandbox.become_user(self.spec)
