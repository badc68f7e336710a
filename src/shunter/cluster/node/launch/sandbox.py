"""What a pod and its containers see of the machine: namespaces, network, mounts.

A pod's network, host name and IPC namespaces are held open by files they are bound to, not by a process, so they survive
whatever is killed. A container gets its own mount and pid namespaces, and a root of its own (rootfs).
"""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from shunter.cluster.node.launch import linux
from shunter.cluster.node.launch.netlink import RouteSocket
from shunter.cluster.node.launch.removal import unmount_below
from shunter.cluster.node.launch.rootfs import OWN_TREES, assemble_root, bind_read_only, touch

_OLD_ROOT = "/.host"
_NAMESPACES = {"net": linux.CLONE_NEWNET, "uts": linux.CLONE_NEWUTS, "ipc": linux.CLONE_NEWIPC}
_LAST_CAPABILITY = 40


def enter_new_namespaces(*, own_network: bool) -> RouteSocket:
    """Takes the calling process into the namespaces of a pod to be. Returns a socket of the network that it was in before.
    Raises OSError."""
    host = RouteSocket()  # a netlink socket stays in the network namespace it comes from
    linux.unshare(sum(_NAMESPACES[kind] for kind in _kinds(own_network=own_network)))
    return host


def create_pod(request: dict[str, Any], host: RouteSocket | None = None) -> None:
    """Creates a pod's namespaces, bound below `directory`, its /dev/shm and its network. Ends in the new namespaces. A `host` is
    of `enter_new_namespaces`: the calling process is in those of a pod with a network of its own already.

    `network` is absent for pods on the host's network; else bridge, gateway, address, prefix (bits) and the host end's name.
    """
    directory = request["directory"]
    network = request.get("network")
    kinds = _kinds(own_network=bool(network))
    host = host or enter_new_namespaces(own_network=bool(network))
    bridge = _bridge(host, network["bridge"]) if network else 0
    socket.sethostname(request["hostname"])
    os.makedirs(f"{directory}/ns", exist_ok=True)
    try:
        _make_pod(request, kinds, host, bridge)
    except OSError:
        unmount_below(directory)  # each further try would put mounts over these
        raise


def _bridge(host: RouteSocket, name: str) -> int:
    try:
        return host.index_of(name)
    except OSError as error:
        raise OSError(
            error.errno, f"the node's bridge {name} no longer exists: shunter down and shunter up recreate it"
        ) from None


def _make_pod(request: dict[str, Any], kinds: Iterable[str], host: RouteSocket, bridge: int) -> None:
    directory, network = request["directory"], request.get("network")
    for kind in kinds:
        touch(f"{directory}/ns/{kind}")
        linux.mount(f"/proc/self/ns/{kind}", f"{directory}/ns/{kind}", flags=linux.MS_BIND)
    for volume in [{"path": f"{directory}/shm", "bytes": request["shm_bytes"]}, *request["memory_volumes"]]:
        mount_memory(volume["path"], volume["bytes"])
    if network:
        _connect(host, bridge, network)


def mount_memory(path: str, size: int) -> None:
    """A tmpfs of at most `size` bytes; 0 means half of the machine's memory."""
    os.makedirs(path, exist_ok=True)
    options = f"mode=1777,size={size}" if size else "mode=1777"
    linux.mount("tmpfs", path, "tmpfs", linux.MS_NOSUID | linux.MS_NODEV, options)


def create_bridge(request: dict[str, Any]) -> None:
    """Sees to it that the node's bridge is there and has the gateway address.

    A bridge without that address is what a node leaves that was killed between both steps, or whose files were deleted since.
    """
    routes = RouteSocket()
    with suppress(FileExistsError):
        routes.add_bridge(request["bridge"], gateway=request["gateway"])
    with suppress(FileExistsError):
        routes.add_address(request["bridge"], request["gateway"], request["prefix"])


def enter_container(spec: dict[str, Any], directory: str) -> None:
    """Puts the calling process, which is in its process namespace already, into the container that `spec` describes."""
    for path in spec["namespaces"]:
        linux.set_namespace(path)
    linux.unshare(linux.CLONE_NEWNS)
    linux.mount("", "/", flags=linux.MS_REC | linux.MS_PRIVATE)
    root = assemble_root(spec, f"{directory}/root")
    os.mkdir(root + _OLD_ROOT)
    linux.pivot_root(root, root + _OLD_ROOT)
    os.chdir("/")
    for path in spec["reachable"]:
        _open_to_all(path)
    _mount_kernel_trees(spec["shm"], own_network=any(path.endswith("/net") for path in spec["namespaces"]))
    # Sources are paths of the host, now below _OLD_ROOT; targets are resolved by the kernel inside the new root, so a symlink in
    # the image can never lead a mount out of it.
    for bind in spec["mounts"]:
        _bind(_OLD_ROOT + bind["source"], bind["target"], read_only=bind["read_only"])
    for bind in spec["mounts"]:
        if bind["sealed"]:
            bind_read_only(bind["target"])
    for path in spec["hidden"]:
        if os.path.isdir(path):
            linux.mount("tmpfs", path, "tmpfs", linux.MS_RDONLY, "size=4k,mode=000")
    linux.unmount(_OLD_ROOT)
    os.rmdir(_OLD_ROOT)
    os.makedirs(spec["cwd"], exist_ok=True)
    if spec["read_only_root"]:
        _seal_root({bind["target"] for bind in spec["mounts"]})
    keep_capabilities(spec["capabilities"])
    os.chdir(spec["cwd"])


def keep_capabilities(numbers: list[int]) -> None:
    """Programs that the calling process executes from here on can have these capabilities and no others."""
    for number in range(_LAST_CAPABILITY + 1):
        if number not in numbers:
            linux.drop_capability(number)


def become_user(spec: dict[str, Any]) -> None:
    """The calling process gets the user and groups that `spec` names, and its standard streams with it: what it has open as
    /dev/stdout it may open again. Root keeps its rights; any other user loses them. Call `linux.die_with_parent` after it: the
    kernel forgets that when the user changes."""
    if spec.get("no_new_privileges"):
        linux.keep_from_gaining_rights()
    user = spec.get("user")  # containers of an earlier version say nothing of it
    if not user:
        return
    for stream in (0, 1, 2):
        if stat.S_ISFIFO(os.fstat(stream).st_mode) or os.isatty(stream):
            os.fchown(stream, user["uid"], -1)
    os.setgroups(user["groups"])
    os.setresgid(user["gid"], user["gid"], user["gid"])
    os.setresuid(user["uid"], user["uid"], user["uid"])


def _open_to_all(path: str) -> None:
    """Any user may pass through this directory of the image, as through those of images that are made for all users."""
    with suppress(OSError):
        mode = os.stat(path).st_mode
        if not mode & stat.S_IXOTH:
            os.chmod(path, stat.S_IMODE(mode) | stat.S_IXOTH)


def _seal_root(volumes: set[str]) -> None:
    """The root file system becomes read-only, but for volumes and what the kernel and the node put there."""
    kept = (*OWN_TREES, *volumes)
    with open("/proc/self/mountinfo", errors="surrogateescape") as file:
        mounts = dict.fromkeys(linux.mount_point(line) for line in file)
    for path in mounts:
        if not any(path == tree or path.startswith(tree.rstrip("/") + "/") for tree in kept):
            bind_read_only(path)


def _kinds(*, own_network: bool) -> list[str]:
    return [kind for kind in _NAMESPACES if kind != "net" or own_network]


def _connect(host: RouteSocket, bridge: int, network: dict[str, Any]) -> None:
    own = RouteSocket()
    descriptor = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    cable: dict[str, Any] = {"bridge": bridge, "peer": "eth0", "peer_address": network["address"], "peer_namespace": descriptor}
    try:
        host.add_veth(network["host_end"], **cable)
    except FileExistsError:
        # The name of a host end is derived from the address, so one that is left over belongs to a pod that is gone.
        host.delete_link(network["host_end"])
        host.add_veth(network["host_end"], **cable)
    os.close(descriptor)
    own.set_up("lo")
    own.add_address("eth0", network["address"], network["prefix"])
    own.set_up("eth0")
    own.add_default_route("eth0", network["gateway"])
    own.wait_until_up("eth0")
    host.wait_until_up(network["host_end"])
    host.wait_until_up(network["bridge"])


def _mount_kernel_trees(shm: str, *, own_network: bool) -> None:
    linux.mount("proc", "/proc", "proc", linux.MS_NOSUID | linux.MS_NODEV | linux.MS_NOEXEC)
    os.makedirs("/dev/pts", exist_ok=True)
    linux.mount("devpts", "/dev/pts", "devpts", linux.MS_NOSUID | linux.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=620")
    os.makedirs("/dev/shm", exist_ok=True)
    linux.mount(_OLD_ROOT + shm, "/dev/shm", flags=linux.MS_BIND)
    if own_network:
        linux.mount("sysfs", "/sys", "sysfs", linux.MS_RDONLY | linux.MS_NOSUID | linux.MS_NODEV | linux.MS_NOEXEC)
        if os.path.isdir(f"{_OLD_ROOT}/sys/fs/cgroup"):
            linux.mount(f"{_OLD_ROOT}/sys/fs/cgroup", "/sys/fs/cgroup", flags=linux.MS_BIND | linux.MS_REC)
    else:
        linux.mount(f"{_OLD_ROOT}/sys", "/sys", flags=linux.MS_BIND | linux.MS_REC)


def _bind(source: str, target: str, *, read_only: bool) -> None:
    if os.path.isdir(source):
        os.makedirs(target, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        touch(target)
    linux.mount(source, target, flags=linux.MS_BIND | linux.MS_REC)
    if read_only:
        bind_read_only(target)
