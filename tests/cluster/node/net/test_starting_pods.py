"""Pods that start: silent until something listens that others can reach, or the kernel does not say."""

from __future__ import annotations

import asyncio
import socket
import struct

import pytest

from shunter.cluster.node.net import starting_pods
from shunter.cluster.node.net.starting_pods import StartingPods

pytestmark = pytest.mark.integration

ADDRESS, OTHER = "10.1.0.2", "10.1.0.3"
ASKER = "10.1.0.9"
ANY, LOOPBACK = bytes(16), b"\x7f\0\0\1" + bytes(12)
ANY_IPV6, LOOPBACK_IPV6 = bytes(16), bytes(15) + b"\1"


def message(kind: int, body: bytes) -> bytes:
    return struct.pack("=IHHII", 16 + len(body), kind, 2, 1, 0) + body


def listener(source: bytes) -> bytes:
    """inet_diag_msg of a socket that listens on an address."""
    return message(20, bytes(8) + source + bytes(48))


DONE = message(3, bytes(4))


@pytest.mark.parametrize(
    ("ipv4", "ipv6", "is_silent"),
    [
        pytest.param(DONE, DONE, True, id="nothing"),
        pytest.param(listener(LOOPBACK) + DONE, listener(LOOPBACK_IPV6) + DONE, True, id="loopback-only"),
        pytest.param(listener(LOOPBACK) + listener(ANY) + DONE, DONE, False, id="ipv4"),
        pytest.param(DONE, listener(ANY_IPV6) + DONE, False, id="ipv6-as-torch-does"),
        pytest.param(message(2, struct.pack("=i", -2)), DONE, False, id="kernel-without-it"),
    ],
)
async def test_a_pod_is_silent_until_something_listens_outside_its_loopback(ipv4: bytes, ipv6: bytes, is_silent: bool) -> None:
    kernel, diagnosis = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    pods = StartingPods()
    with kernel:
        kernel.send(ipv4)
        kernel.send(ipv6)
        pods.add(ADDRESS, diagnosis)
        assert pods.is_awaited(ADDRESS, ASKER) == is_silent
        pods.close()
    assert diagnosis.fileno() == -1


async def test_a_pod_that_has_listened_is_never_asked_again() -> None:
    kernel, diagnosis = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    pods = StartingPods()
    with kernel:
        kernel.send(listener(ANY) + DONE)
        pods.add(ADDRESS, diagnosis)
        assert not pods.is_awaited(ADDRESS, ASKER)
    assert diagnosis.fileno() == -1
    assert not pods.is_awaited(ADDRESS, ASKER)


async def test_an_address_that_no_pod_has_is_not_silent() -> None:
    assert not StartingPods().is_awaited(ADDRESS, ASKER)


class Kernel:
    """In place of the kernel: counts how often it is asked."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.listens, self.asked = False, 0
        monkeypatch.setattr(starting_pods, "has_listener", self._has_listener)

    def _has_listener(self, diagnosis: socket.socket) -> bool:
        self.asked += 1
        return self.listens

    def pods(self, *addresses: str) -> StartingPods:
        pods = StartingPods()
        for address in addresses:
            pods.add(address, socket.socket())
        return pods


async def test_the_kernel_is_asked_once_for_all_who_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(starting_pods, "_LOOK_SECONDS", 0.05)
    kernel = Kernel(monkeypatch)
    pods = kernel.pods(ADDRESS)
    waits = [asyncio.ensure_future(pods.wait(ADDRESS, f"10.1.1.{number}")) for number in range(200)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert kernel.asked == 1
    kernel.listens = True
    await asyncio.gather(*waits)
    assert kernel.asked == 2
    assert not pods.is_awaited(ADDRESS, ASKER)


async def test_who_waited_in_vain_waits_no_more_for_any_address_and_others_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(starting_pods, "HELD_SECONDS", 0.01)
    pods = Kernel(monkeypatch).pods(ADDRESS, OTHER)
    assert pods.is_awaited(ADDRESS, ASKER)
    await pods.wait(ADDRESS, ASKER)
    assert not pods.is_awaited(ADDRESS, ASKER)
    assert not pods.is_awaited(OTHER, ASKER)
    assert pods.is_awaited(ADDRESS, "10.1.0.8")
    pods.add(ASKER, socket.socket())  # the next pod of that address
    assert pods.is_awaited(OTHER, ASKER)
    pods.close()


async def test_a_pod_waits_for_others_from_its_main_containers_on(monkeypatch: pytest.MonkeyPatch) -> None:
    pods = Kernel(monkeypatch).pods(ADDRESS)
    pods.add(ASKER, socket.socket(), has_init_containers=True)
    assert not pods.is_awaited(ADDRESS, ASKER)
    assert pods.is_awaited(ASKER, OTHER)
    pods.set_initialized(ASKER)
    assert pods.is_awaited(ADDRESS, ASKER)
    pods.add(ASKER, socket.socket(), has_init_containers=True)  # the next pod of that address, which is ended early
    pods.add(ASKER, socket.socket())
    assert pods.is_awaited(ADDRESS, ASKER)
    pods.close()


async def test_the_next_pod_of_an_address_is_waited_for_as_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = Kernel(monkeypatch)
    pods = kernel.pods(ADDRESS)
    kernel.listens = True
    await pods.wait(ADDRESS, ASKER)
    kernel.listens = False
    pods.add(ADDRESS, socket.socket())
    waits = asyncio.ensure_future(pods.wait(ADDRESS, ASKER))
    await asyncio.sleep(0.02)
    assert not waits.done()
    kernel.listens = True
    async with asyncio.timeout(5):
        await waits


async def test_nobody_looks_when_nobody_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(starting_pods, "HELD_SECONDS", 0.0)
    kernel = Kernel(monkeypatch)
    pods = kernel.pods(ADDRESS)
    await pods.wait(ADDRESS, ASKER)
    await asyncio.sleep(0.02)
    asked = kernel.asked
    await asyncio.sleep(0.02)
    assert kernel.asked == asked
    pods.close()


async def test_a_pod_that_goes_is_waited_for_no_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    pods = Kernel(monkeypatch).pods(ADDRESS)
    monkeypatch.setattr(starting_pods, "HELD_SECONDS", 1000.0)
    waits = asyncio.ensure_future(pods.wait(ADDRESS, ASKER))
    await asyncio.sleep(0)
    pods.remove(ADDRESS)
    async with asyncio.timeout(5):
        await waits
