"""Pods that have just got their network, and whether anything listens in it yet."""

from __future__ import annotations

import asyncio
import socket
from typing import NamedTuple

from shunter.cluster.node.launch.listening import has_listener

STARTING_SECONDS = 30.0
"""A pod in which nothing has listened for so long is not expected to: an import of torch on a busy machine takes less."""


class _StartingPod(NamedTuple):
    diagnosis: socket.socket
    forget: asyncio.TimerHandle


class StartingPods:
    """By address, until something listens in them, they are removed, or STARTING_SECONDS are over. Owns their sockets."""

    def __init__(self) -> None:
        self._pods: dict[str, _StartingPod] = {}

    def add(self, address: str, diagnosis: socket.socket) -> None:
        """A pod has got that address; the socket (launch.listening) is of its network."""
        self.remove(address)
        forget = asyncio.get_running_loop().call_later(STARTING_SECONDS, self.remove, address)
        self._pods[address] = _StartingPod(diagnosis, forget)

    def is_silent(self, address: str) -> bool:
        """Whether a pod that starts has that address, and nothing listens in it yet."""
        pod = self._pods.get(address)
        if pod is None:
            return False
        try:
            is_silent = not has_listener(pod.diagnosis)
        except OSError:
            is_silent = False
        if not is_silent:
            self.remove(address)
        return is_silent

    def remove(self, address: str) -> None:
        """The pod is gone, or starts no longer."""
        pod = self._pods.pop(address, None)
        if pod is not None:
            pod.forget.cancel()
            pod.diagnosis.close()

    def close(self) -> None:
        for address in list(self._pods):
            self.remove(address)
