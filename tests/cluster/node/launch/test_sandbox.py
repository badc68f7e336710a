"""What is waited for before a pod has its network, and what stays on the machine of one whose namespaces cannot be made."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="needs namespaces of its own"),
]

_TRIES = """
import os, sys
from shunter.cluster.node.launch import linux
from shunter.cluster.node.launch.netlink import RouteSocket
from shunter.cluster.node.launch.removal import mounts_below
from shunter.cluster.node.launch.sandbox import create_pod, enter_new_namespaces

directory = sys.argv[1]
linux.unshare(linux.CLONE_NEWNS | linux.CLONE_NEWNET)
linux.mount("", "/", flags=linux.MS_REC | linux.MS_PRIVATE)
if sys.argv[2] == "bridge":
    RouteSocket().add_bridge("there", gateway="10.9.0.1")
network = {"bridge": "there", "gateway": "10.9.0.1", "address": "10.9.0.2", "prefix": 24, "host_end": "x" * int(sys.argv[3])}
memory = [{"path": f"{directory}/volumes/memory", "bytes": 0}]
request = {"directory": directory, "network": network, "hostname": "p", "shm_bytes": 0, "memory_volumes": memory}
waited = []
wait_until_up = RouteSocket.wait_until_up
RouteSocket.wait_until_up = lambda self, name: waited.append(name) or wait_until_up(self, name)
try:
    create_pod(request)
except OSError as error:
    print(error)
print(mounts_below(directory))
print(*waited)
"""


def after_a_try(directory: Path, bridge: str, name_length: int) -> list[str]:
    """The error, if there was one, the mounts that are left below the pod's directory, and the links that were waited for."""
    arguments = [sys.executable, "-c", _TRIES, str(directory), bridge, str(name_length)]
    return subprocess.run(arguments, check=True, capture_output=True, text=True).stdout.splitlines()


def test_a_bridge_that_is_gone_is_named_and_nothing_stays_mounted(tmp_path: Path) -> None:
    error, mounts, _ = after_a_try(tmp_path, "no bridge", 8)
    assert "the node's bridge there no longer exists" in error
    assert mounts == "[]"


def test_nothing_stays_mounted_of_a_pod_that_cannot_be_connected(tmp_path: Path) -> None:
    """No name of a link has 40 letters."""
    error, mounts, _ = after_a_try(tmp_path, "bridge", 40)
    assert "gone" not in error
    assert mounts == "[]"


def test_a_pod_has_its_network_when_all_that_its_packets_pass_is_up(tmp_path: Path) -> None:
    """The bridge too: without a pod it was off, and the answer to the first packet of a pod was lost, and with it a second."""
    *_, waited = after_a_try(tmp_path, "bridge", 8)
    assert waited.split() == ["eth0", "x" * 8, "there"]
