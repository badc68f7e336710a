"""Pods that have just got their network, and whether anything listens in it yet."""

from __future__ import annotations

import asyncio
import socket
from collections import Counter
from typing import NamedTuple

from shunter.cluster.node.launch.listening import has_listener

STARTING_SECONDS = 30.0
"""A pod in which nothing has listened for so long is not expected to: an import of torch on a busy machine takes less."""
HELD_SECONDS = 0.5
"""How long a client waits for a listener: what being refused would cost."""
_LOOK_SECONDS = 0.002
"""Between two looks whether something listens; one takes less than 0.1 ms."""
_DISTANCE = 20
"""Of all looks together, in the time that one takes: they use a twentieth of a core at most."""


class _StartingPod(NamedTuple):
    diagnosis: socket.socket
    forget: asyncio.TimerHandle


class StartingPods:
    """Starting pods by address, until something listens in them, they are removed, or STARTING_SECONDS have passed. Owns their
    sockets."""

    def __init__(self) -> None:
        self._pods: dict[str, _StartingPod] = {}
        self._looks: dict[str, asyncio.Task[None]] = {}
        self._waiting: Counter[str] = Counter()
        self._have_waited: set[str] = set()
        self._initializing: set[str] = set()

    def add(self, address: str, diagnosis: socket.socket, *, has_init_containers: bool = False) -> None:
        """A pod has got that address; the socket (launch.listening) is of its network. With init containers it does not wait
        for others until `set_initialized`: one that waits for a name (v1's workers for their Master) would begin later."""
        self.remove(address)
        self._have_waited.discard(address)
        self._initializing.discard(address)
        if has_init_containers:
            self._initializing.add(address)
        forget = asyncio.get_running_loop().call_later(STARTING_SECONDS, self.remove, address)
        self._pods[address] = _StartingPod(diagnosis, forget)

    def set_initialized(self, address: str) -> None:
        """The pod at that address starts its main containers."""
        self._initializing.discard(address)

    def is_awaited(self, address: str, asker: str) -> bool:
        """Whether a pod that starts has that address, nothing listens in it yet, and the asker is past its init containers and
        has not waited in vain before."""
        if asker in self._have_waited or asker in self._initializing:
            return False
        return address in self._looks or self._is_silent(address)

    async def wait(self, address: str, asker: str) -> None:
        """Until something listens there, for HELD_SECONDS at most. An asker that waited in vain does not wait again, for whatever
        address: who looks up a list of peers before anything listens is held up once."""
        look = self._looks.get(address)
        if look is None:
            look = self._looks[address] = asyncio.ensure_future(self._look(address))
        self._waiting[address] += 1
        try:
            listens, _ = await asyncio.wait([look], timeout=HELD_SECONDS)
            if not listens:
                self._have_waited.add(asker)
        finally:
            self._waiting[address] -= 1
            if not self._waiting[address]:
                del self._waiting[address]

    def remove(self, address: str) -> None:
        """The pod is gone, or starts no longer."""
        pod = self._pods.pop(address, None)
        if pod is not None:
            pod.forget.cancel()
            pod.diagnosis.close()

    def close(self) -> None:
        """Forgets all pods and closes their sockets."""
        for address in list(self._pods):
            self.remove(address)

    async def _look(self, address: str) -> None:
        """One for all who wait: until something listens, the pod is removed, or no client waits any more."""
        now = asyncio.get_running_loop().time
        try:
            while True:
                begun = now()
                if not self._is_silent(address):
                    return
                await asyncio.sleep(max(_LOOK_SECONDS, (now() - begun) * _DISTANCE * len(self._looks)))
                if not self._waiting[address]:
                    return
        finally:
            del self._looks[address]

    def _is_silent(self, address: str) -> bool:
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
