"""Pods that start: silent until something listens that others can reach, or the kernel does not say."""

from __future__ import annotations

import socket
import struct

import pytest

from shunter.cluster.node.net.starting_pods import StartingPods

pytestmark = pytest.mark.integration

ADDRESS = "10.1.0.2"
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
        assert pods.is_silent(ADDRESS) == is_silent
        pods.close()
    assert diagnosis.fileno() == -1


async def test_a_pod_that_has_listened_is_never_asked_again() -> None:
    kernel, diagnosis = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    pods = StartingPods()
    with kernel:
        kernel.send(listener(ANY) + DONE)
        pods.add(ADDRESS, diagnosis)
        assert not pods.is_silent(ADDRESS)
    assert diagnosis.fileno() == -1
    assert not pods.is_silent(ADDRESS)


async def test_an_address_that_no_pod_has_is_not_silent() -> None:
    assert not StartingPods().is_silent(ADDRESS)
