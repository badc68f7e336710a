"""Removing what a node left on its machine, with no agent running: processes, mounts, namespaces, bridge, cgroups, files.

What stays is the past: logs and exit states of pods.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from shunter.cluster.node.launch import attempt, removal, user_namespace
from shunter.cluster.node.launch.netlink import RouteSocket
from shunter.cluster.node.layout import NodeDirectory, PodDirectory
from shunter.cluster.node.net.network import owner_name
from shunter.cluster.node.runtime.cgroups import find_cgroups

_KILL_SECONDS = 5.0


def teardown(directory: Path) -> None:
    """Ends and removes everything of a node but what tells of its past: the logs and exit states of pods that the API server
    may still know. The next node shows those, and removes the others. Safe to call again, or for nothing."""
    node = NodeDirectory(directory)
    for pod in node.pods():
        kill_pod(pod)
    user_namespace.end(str(node.holder_file))
    if sys.platform == "linux":
        network = attempt.read_json(str(node.network_file))
        if network:
            # Without root the bridge was in the user namespace, and is gone with it.
            with suppress(PermissionError):
                RouteSocket().delete_link(network["bridge"])
        find_cgroups(owner_name(directory)).remove_all()
        removal.unmount_below(str(directory))
    for pod in node.pods():
        keep_past(pod)
    kept = {node.pods_directory} if node.pods() else set()
    for path in directory.glob("*"):
        if path not in kept:
            removal.delete(path)
    if not kept:
        removal.delete(directory)


def keep_past(pod: PodDirectory) -> None:
    """Deletes sandbox, volumes and the containers' own files of an ended pod; logs and states stay."""
    for path in pod.path.glob("*"):
        if path not in (pod.pod_file, pod.path / "containers"):
            removal.delete(path)
    for path in _attempt_directories(pod):
        removal.delete(path / "root")


def kill_pod(pod: PodDirectory) -> None:
    """Kills the containers of a pod and waits until their supervisors are gone (at most 5 seconds)."""
    running = [path for path in _attempt_directories(pod) if attempt.send_control(str(path), attempt.KILL)]
    deadline = time.monotonic() + _KILL_SECONDS
    for path in running:
        while _is_supervised(path) and time.monotonic() < deadline:
            # The FIFO answers only whether there is a reader; there is no descriptor to wait on without becoming a reader.
            time.sleep(0.005)


def _attempt_directories(pod: PodDirectory) -> Iterator[Path]:
    containers = pod.path / "containers"
    if containers.is_dir():
        for container in containers.iterdir():
            yield from container.iterdir()


def _is_supervised(path: Path) -> bool:
    """Whether a supervisor has the attempt's control FIFO open."""
    try:
        os.close(os.open(path / "control", os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC))
    except OSError:
        return False
    return True
