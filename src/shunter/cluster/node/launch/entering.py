"""Enters a running container: the common part of all commands that run in one."""

from __future__ import annotations

import os
from typing import Any

from shunter.cluster.node.launch import attempt, linux, sandbox
from shunter.cluster.node.launch.cgroup_files import CgroupFiles

_NAMESPACES = ("ipc", "uts", "net", "pid", "mnt")


class RunningContainer:
    """A container that runs now. Raises RuntimeError where none does.

    `enter` moves the calling process into its namespaces, but only children of that process are in its PID namespace. They call
    `join` before they execute a program.
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
        """Gives the calling process the container's view of the machine. Raises OSError."""
        if self._has_namespaces:
            for kind in _NAMESPACES:
                linux.set_namespace(f"/proc/{self.pid}/ns/{kind}")
        os.chdir(self.spec["cwd"])

    def join(self) -> None:
        """Gives the calling process, whose standard streams are in place, exactly the container's limits, user and rights."""
        self._groups.join()
        if self._has_namespaces:
            sandbox.keep_capabilities(self.spec["capabilities"])
            sandbox.become_user(self.spec)
