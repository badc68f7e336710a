"""The root directory of a container: everything of the image can be read, what the container writes goes to its own directory.

With real root, the image's root is one overlay, and each file system mounted inside it another. In a user namespace the kernel
refuses an overlay over a tree that contains mounts, so each top-level directory gets its own overlay; a directory for which that
fails too is mounted read-only.
"""

from __future__ import annotations

import os
import re
from typing import Any

from shunter.cluster.node.launch import linux

OWN_TREES = ("/proc", "/sys", "/dev", "/run")
"""Not the host's: made anew for every container."""
_VIRTUAL = {
    "autofs", "binfmt_misc", "bpf", "cgroup", "cgroup2", "configfs", "debugfs", "devpts", "devtmpfs", "efivarfs", "fusectl",
    "hugetlbfs", "mqueue", "nsfs", "proc", "pstore", "ramfs", "securityfs", "sysfs", "tracefs",
}  # fmt: skip
_IMAGES = ("/snap", "/var/lib/containerd", "/var/lib/containers", "/var/lib/docker", "/var/lib/kubelet", "/var/snap")
"""Where other programs mount images and volumes: often a hundred mounts, none of which a training job uses."""
_PODS = re.compile(r"/node/pods/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/")
"""Mounts of the pods of Shunter's other clusters: each would add a millisecond to the start of a container."""
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
_ACCELERATORS = ("nvidia", "dri", "kfd", "infiniband", "accel")
_DEVICE_LINKS = {"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2"}


def assemble_root(spec: dict[str, Any], scratch: str) -> str:
    """Mounts the container's root below `scratch` and returns its path."""
    root = f"{scratch}/merged"
    os.makedirs(root)
    for path, content in spec["files"].items():
        os.makedirs(f"{scratch}/upper{os.path.dirname(path)}", mode=0o755, exist_ok=True)
        with open(f"{scratch}/upper{path}", "w") as file:
            file.write(content)
    try:
        _overlay(spec["image_root"], f"{scratch}/upper", f"{scratch}/work", root)
    except OSError:
        _assemble_by_directories(spec["image_root"], scratch, root)
    else:
        if spec["image_root"] == "/":
            _add_host_mounts(scratch, root, spec["hidden"])
    for path in (*OWN_TREES, "/tmp"):
        os.makedirs(root + path, exist_ok=True)
    _add_devices(scratch, root)
    return root


def bind_read_only(target: str) -> None:
    """Makes a bind mount read-only. Flags the mount has already must be named again: a user namespace may not drop them."""
    flags = os.statvfs(target).f_flag
    kept = flags & (os.ST_NOSUID | os.ST_NODEV | os.ST_NOEXEC | os.ST_NOATIME | os.ST_NODIRATIME)
    relative = linux.MS_RELATIME if flags & os.ST_RELATIME else 0
    linux.mount("", target, flags=linux.MS_BIND | linux.MS_REMOUNT | linux.MS_RDONLY | kept | relative)


def touch(path: str) -> None:
    """Creates the file, if it is missing, as a target for a bind mount."""
    if not os.path.exists(path):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644))


def _overlay(lower: str, upper: str, work: str, target: str, options: str = "") -> None:
    os.makedirs(upper, exist_ok=True)
    os.makedirs(work, exist_ok=True)
    # Of our own paths find_level has seen to it; this one may be that of any file system of the machine.
    lower = re.sub(r"([\\:,])", r"\\\1", lower)
    options = f"lowerdir={lower},upperdir={upper},workdir={work}{options}"
    # What a container writes is gone with it. Without `volatile` (Linux 5.10) its end writes to disk all that the machine has in
    # memory for the file system of the state directory, other programs' data as well.
    try:
        linux.mount("overlay", target, "overlay", options=f"{options},volatile")
    except OSError:
        linux.mount("overlay", target, "overlay", options=options)


def _overlay_or_read_only(lower: str, upper: str, work: str, target: str, options: str = "") -> None:
    try:
        _overlay(lower, upper, work, target, options)
    except OSError:
        linux.mount(lower, target, flags=linux.MS_BIND | linux.MS_REC)
        bind_read_only(target)


def _add_host_mounts(scratch: str, root: str, hidden: list[str]) -> None:
    """Adds an overlay for each file system mounted inside the lower directory, as an overlay does not show those. Leaves out file
    systems that are unmounted or removed meanwhile, whichever error the kernel reports."""
    for number, (path, fstype) in enumerate(_host_mounts(hidden)):
        try:
            if os.path.isdir(path) and not fstype.startswith(("nfs", "fuse")):
                _overlay_or_read_only(path, f"{scratch}/upper{number}", f"{scratch}/work{number}", root + path)
            else:
                linux.mount(path, root + path, flags=linux.MS_BIND | linux.MS_REC)
        except OSError:
            if (path, fstype) in _host_mounts(hidden):
                raise


def _host_mounts(hidden: list[str]) -> list[tuple[str, str]]:
    """Mounted file systems with users' files (not the kernel's), outermost first."""
    found: dict[str, str] = {}
    skipped = (*OWN_TREES, *_IMAGES, *hidden)
    with open("/proc/self/mountinfo", errors="surrogateescape") as file:
        for line in file:
            path = linux.mount_point(line)
            fstype = line.partition(" - ")[2].split()[0]
            if path == "/" or fstype in _VIRTUAL or _PODS.search(path):
                continue
            if any(path == tree or path.startswith(tree + "/") for tree in skipped):
                continue
            found[path] = fstype
    return sorted(found.items())


def _assemble_by_directories(lower: str, scratch: str, root: str) -> None:
    linux.mount("tmpfs", root, "tmpfs", options="mode=755")
    for entry in os.scandir(lower):
        target, source = f"{root}/{entry.name}", os.path.join(lower, entry.name)
        if entry.is_symlink():
            os.symlink(os.readlink(source), target)
        elif entry.is_dir() and f"/{entry.name}" not in OWN_TREES:
            os.mkdir(target)
            _overlay_or_read_only(source, f"{scratch}/upper/{entry.name}", f"{scratch}/work-{entry.name}", target, ",userxattr")


def _add_devices(scratch: str, root: str) -> None:
    """Shows all devices of the machine; what is created in /dev stays in the container. GPUs and similar devices, found by name,
    are bind mounts of the machine's own files, as in container engines."""
    try:
        _overlay("/dev", f"{scratch}/upper-dev", f"{scratch}/work-dev", f"{root}/dev")
        shown: tuple[str, ...] = ()
    except OSError:
        linux.mount("tmpfs", f"{root}/dev", "tmpfs", linux.MS_NOSUID, "mode=755")
        shown = _DEVICES
    for name in os.listdir("/dev"):
        if name in shown or name.startswith(_ACCELERATORS):
            target = f"{root}/dev/{name}"
            if os.path.isdir(f"/dev/{name}"):
                os.makedirs(target, exist_ok=True)
            else:
                touch(target)
            linux.mount(f"/dev/{name}", target, flags=linux.MS_BIND | linux.MS_REC)
    if shown:
        for name, destination in _DEVICE_LINKS.items():
            os.symlink(destination, f"{root}/dev/{name}")
        os.symlink("pts/ptmx", f"{root}/dev/ptmx")
