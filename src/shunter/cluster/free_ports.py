"""Ports for programs that start later than their port is chosen.

A port that the system chooses (bind to port 0) is one that it also gives to outgoing connections: it may be the local end of
anybody's connection when the program at last binds it.
"""

from __future__ import annotations

import contextlib
import random
import socket
from collections.abc import Collection, Sequence
from pathlib import Path

from shunter.api.names import port_faults

BELOW_EPHEMERAL = range(20000, 32000)
"""Ports that no outgoing connection gets, unless an administrator has changed the system's range of them: Linux gives 32768 to
60999, macOS 49152 to 65535. Below 20000 are those of well-known servers."""
_LINUX_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")


def is_free(port: int, host: str = "127.0.0.1") -> bool:
    """Whether a program could listen there now; host "" is every address of this machine. False for what is no port, and 0."""
    if port_faults(port):
        return False
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
        return True


def free_port(host: str = "127.0.0.1", taken: Collection[int] = (), among: Sequence[int] = BELOW_EPHEMERAL) -> int:
    """A port that is not used, by chance, so that two who ask at once hardly get the same; none of those taken.

    It stays free until a program asks for exactly this one. Where none of 1,000 is free, or the system gives them to outgoing
    connections, it is one of the system's choice.
    """
    for _ in range(0 if _is_ephemeral(among) else 1000):
        port = random.choice(among)
        if port not in taken and is_free(port, host):
            return port
    while True:
        with socket.socket() as probe:
            probe.bind((host, 0))
            chosen: int = probe.getsockname()[1]
        if chosen not in taken:
            return chosen


def _is_ephemeral(ports: Sequence[int]) -> bool:
    with contextlib.suppress(OSError, ValueError):
        first, last = map(int, _LINUX_RANGE.read_text().split())
        return first <= max(ports) and last >= min(ports)
    return False
