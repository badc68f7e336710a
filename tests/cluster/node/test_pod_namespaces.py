"""The namespaces of two pods are ready before these come; whatever becomes of them, pods get theirs."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from cluster.node.conftest import NodeUnderTest

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="needs networks of their own for pods"),
]

_SHOW_NETWORK = "readlink /proc/self/ns/net"


async def _ready(node: NodeUnderTest) -> dict[int, str]:
    """The processes that wait for a pod, each with its network, after a pod that showed that pods get networks here."""
    if not _waiting():
        assert (await node.run_shell("first", "true"))["status"]["phase"] == "Succeeded"
    own = os.readlink("/proc/self/ns/net")
    await node.eventually(lambda: [network for network in _waiting().values() if network not in ("", own)][1:])
    return _waiting()


def _waiting() -> dict[int, str]:
    return {child: _network(child) for launcher in _children(os.getpid(), "shunter-launch") for child in _children(launcher)}


def _children(number: int, name: str = "shunter-spare") -> list[int]:
    found = Path(f"/proc/{number}/task/{number}/children").read_text().split()
    return [int(child) for child in found if _name(child) == name]


def _name(number: str) -> str:
    try:
        return Path(f"/proc/{number}/comm").read_text().strip()
    except OSError:
        return ""


def _network(number: int) -> str:
    try:
        return os.readlink(f"/proc/{number}/ns/net")
    except OSError:
        return ""


async def test_a_pod_gets_a_network_that_was_ready_and_another_takes_its_place(node: NodeUnderTest) -> None:
    ready = await _ready(node)
    assert (await node.run_shell("p", _SHOW_NETWORK))["status"]["phase"] == "Succeeded"
    assert (await node.log("p")).strip() in ready.values()
    await node.eventually(lambda: len(_waiting()) == 2 and _waiting() != ready)


async def test_a_pod_of_the_host_network_leaves_what_is_ready_to_others(node: NodeUnderTest) -> None:
    ready = await _ready(node)
    main = {"name": "main", "image": "any", "command": ["sh", "-c", _SHOW_NETWORK]}
    await node.create("p", {"restartPolicy": "Never", "hostNetwork": True, "containers": [main]})
    assert (await node.finished("p"))["status"]["phase"] == "Succeeded"
    assert (await node.log("p")).strip() == os.readlink("/proc/self/ns/net")
    assert _waiting() == ready


async def test_a_pod_gets_a_network_where_what_was_ready_was_killed(node: NodeUnderTest) -> None:
    ready = await _ready(node)
    for number in ready:
        os.kill(number, signal.SIGKILL)
    assert (await node.run_shell("p", _SHOW_NETWORK))["status"]["phase"] == "Succeeded"
    assert (await node.log("p")).strip() not in (*ready.values(), os.readlink("/proc/self/ns/net"))


async def test_nothing_that_is_ready_outlives_the_launcher(node: NodeUnderTest) -> None:
    ready = await _ready(node)
    (launcher,) = _children(os.getpid(), "shunter-launch")
    os.kill(launcher, signal.SIGKILL)
    await node.eventually(lambda: not any(_name(str(number)) == "shunter-spare" for number in ready))
