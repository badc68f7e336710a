"""Level `namespaces` without root: the launcher lives in a user namespace in which it is root, with its own mounts and network.

An idle process, the holder, keeps these namespaces alive across launchers, because pods of an earlier agent still run in them.
When the holder and the last container have ended, the kernel removes all mounts and links in these namespaces.
"""

from __future__ import annotations

import os
import signal
from typing import Any

from shunter.cluster.node.launch import attempt, linux
from shunter.cluster.node.launch.netlink import RouteSocket

_KINDS = ("user", "mnt", "net")


def enter(holder_file: str) -> str:
    """Joins the node's user namespace, or creates it. Returns the reason when the machine does not allow it, else an empty
    string."""
    try:
        _enter(holder_file)
    except OSError as error:
        return f"{error.strerror}: {error.filename or 'user namespace'}"
    return ""


def _enter(holder_file: str) -> None:
    pid = holder(holder_file)
    if pid:
        for kind in _KINDS:
            linux.set_namespace(f"/proc/{pid}/ns/{kind}")
        return
    user, group = os.geteuid(), os.getegid()
    linux.unshare(linux.CLONE_NEWUSER)
    _write("/proc/self/setgroups", "deny")
    _write("/proc/self/uid_map", f"0 {user} 1")
    _write("/proc/self/gid_map", f"0 {group} 1")
    linux.unshare(linux.CLONE_NEWNS | linux.CLONE_NEWNET)
    linux.mount("", "/", flags=linux.MS_REC | linux.MS_PRIVATE)
    RouteSocket().set_up("lo")
    pid = os.fork()
    if pid == 0:
        _hold()
    attempt.write_json(holder_file, {"pid": pid, "started": start_time(pid)})


def holder(holder_file: str) -> int:
    """The pid of the node's holder; 0 when there is none (any more)."""
    known: dict[str, Any] | None = attempt.read_json(holder_file)
    return known["pid"] if known and start_time(known["pid"]) == known["started"] else 0


def end(holder_file: str) -> None:
    """Ends the holder, if there is one."""
    if pid := holder(holder_file):
        os.kill(pid, signal.SIGKILL)


def start_time(pid: int) -> str:
    """When a process started, in clock ticks since boot; empty when there is no such process. Together with the pid it identifies
    a process uniquely."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[19]
    except OSError:
        return ""


def _hold() -> None:
    os.setsid()
    linux.set_process_name("shunter-holder")
    os.closerange(0, 1024)
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    while True:
        signal.pause()


def _write(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)
