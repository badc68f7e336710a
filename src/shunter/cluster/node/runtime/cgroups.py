"""Resource limits by cgroups, versions 1 and 2, behind one interface. Writes only files below our own groups.

Version 1 has one tree per controller (memory, cpu), version 2 a single one. A hybrid machine mounts both; the version that has
the memory controller counts.
"""

from __future__ import annotations

import os
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple, Protocol

_CPU_PERIOD = 100_000
_MIN_CPU_QUOTA = 1_000
ROOT = Path("/sys/fs/cgroup")


class Limits(NamedTuple):
    """What a container may use: bytes, cores. None is no limit."""

    memory: int | None = None
    cpu: Fraction | None = None


class Group(NamedTuple):
    """One container's group: the files a process writes `0` to in order to join, and those that count memory kills."""

    join_files: tuple[str, ...] = ()
    oom_files: tuple[str, ...] = ()


class Cgroups(Protocol):
    """Creates and removes groups below one directory of ours, `name` being a relative path such as `UID/container`."""

    description: str

    def create(self, name: str, limits: Limits) -> Group:
        """A group with these limits. Raises OSError when the kernel refuses."""

    def remove(self, name: str) -> None:
        """Removes a group and those below it, once their processes are gone."""

    def remove_all(self) -> None:
        """Removes everything of ours."""


class NoCgroups:
    """The driver where we may not create groups: limits are not enforced."""

    description = "none"

    def create(self, name: str, limits: Limits) -> Group:
        """A group without files, which limits nothing and counts nothing."""
        return Group()

    def remove(self, name: str) -> None:
        """Does nothing: there are no cgroups."""

    def remove_all(self) -> None:
        """Does nothing: there are no cgroups."""


class CgroupsV1:
    """`ROOT/memory/OWNER/NAME` and `ROOT/cpu/OWNER/NAME`; no group for a controller without a limit."""

    description = "v1"

    def __init__(self, root: Path, owner: str) -> None:
        self._trees = {controller: root / controller / owner for controller in ("memory", "cpu")}

    def create(self, name: str, limits: Limits) -> Group:
        """Creates a group per limit, and none in the tree of a controller without one. A memory limit covers swap too, where the
        kernel accounts for it. Raises OSError."""
        joined: list[str] = []
        oom_files: list[str] = []
        if limits.memory is not None:
            group = self._trees["memory"] / name
            group.mkdir(parents=True, exist_ok=True)
            (group / "memory.limit_in_bytes").write_text(str(limits.memory))
            # Swap would turn a memory kill into minutes of thrashing; kernels without swap accounting lack the file.
            with suppress(FileNotFoundError, PermissionError):
                (group / "memory.memsw.limit_in_bytes").write_text(str(limits.memory))
            joined.append(str(group / "cgroup.procs"))
            oom_files.append(str(group / "memory.oom_control"))
        if limits.cpu is not None:
            group = self._trees["cpu"] / name
            group.mkdir(parents=True, exist_ok=True)
            (group / "cpu.cfs_period_us").write_text(str(_CPU_PERIOD))
            (group / "cpu.cfs_quota_us").write_text(str(_quota(limits.cpu)))
            joined.append(str(group / "cgroup.procs"))
        return Group(tuple(joined), tuple(oom_files))

    def remove(self, name: str) -> None:
        """Removes the group in both trees, if it exists; a group with a process in it stays."""
        for tree in self._trees.values():
            _remove_tree(tree / name)

    def remove_all(self) -> None:
        """Removes everything of ours in both trees."""
        for tree in self._trees.values():
            _remove_tree(tree)


class CgroupsV2:
    """`PARENT/OWNER/NAME`. memory.oom.group makes the kernel end a container as a whole, as kubelet sets it."""

    description = "v2"

    def __init__(self, parent: Path, owner: str) -> None:
        self._tree = parent / owner

    def create(self, name: str, limits: Limits) -> Group:
        """Creates a group, or none without limits. Enables the memory and cpu controllers in every group above; a memory limit
        disables swap. Raises OSError."""
        if limits == Limits():
            return Group()
        group = self._tree
        for part in name.split("/"):
            group.mkdir(exist_ok=True)
            (group / "cgroup.subtree_control").write_text("+memory +cpu")
            group = group / part
        group.mkdir(exist_ok=True)
        if limits.memory is not None:
            (group / "memory.max").write_text(str(limits.memory))
            (group / "memory.oom.group").write_text("1")
            with suppress(FileNotFoundError):
                (group / "memory.swap.max").write_text("0")
        if limits.cpu is not None:
            (group / "cpu.max").write_text(f"{_quota(limits.cpu)} {_CPU_PERIOD}")
        oom_files = (str(group / "memory.events"),) if limits.memory is not None else ()
        return Group((str(group / "cgroup.procs"),), oom_files)

    def remove(self, name: str) -> None:
        """Removes the group, if it exists; a group with a process in it stays."""
        _remove_tree(self._tree / name)

    def remove_all(self) -> None:
        """Removes `PARENT/OWNER` and everything below it."""
        _remove_tree(self._tree)


def find_cgroups(owner: str, root: Path = ROOT) -> Cgroups:
    """The driver that this machine allows, found by creating and removing a group, as permissions alone do not tell."""
    candidates: list[Cgroups] = []
    if (root / "memory" / "cgroup.procs").exists():
        candidates.append(CgroupsV1(root, owner))
    if (root / "cgroup.controllers").exists():
        candidates.append(CgroupsV2(root, owner))
    for driver in candidates:
        try:
            driver.create("probe", Limits(memory=1 << 30, cpu=Fraction(1)))
            driver.remove("probe")
        except OSError:
            continue
        return driver
    return NoCgroups()


def _quota(cores: Fraction) -> int:
    return max(_MIN_CPU_QUOTA, int(cores * _CPU_PERIOD))


def _remove_tree(group: Path) -> None:
    """Removes groups, innermost first. One that still has a process in it stays, and is removed with the rest at `down`."""
    for directory, _, _ in sorted(os.walk(group), reverse=True):
        with suppress(OSError):
            os.rmdir(directory)
