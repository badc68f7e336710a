"""Addresses of the pods on this machine. Pure but for `choose_network`."""

from __future__ import annotations

import hashlib
import ipaddress
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from shunter.errors import EnvironmentProblem

PREFIX = 24
PLACES = range(2, 255)
"""The last numbers of the pods' addresses; the first of the subnet is the gateway's."""
_ROUTES = Path("/proc/net/route")


class Network(NamedTuple):
    """One cluster's bridge and subnet. Names derive from the state directory, so several clusters share a machine."""

    bridge: str
    subnet: str
    """The first three numbers, e.g. `10.87.12`."""

    @property
    def gateway(self) -> str:
        """The bridge's own address, e.g. `10.87.12.1`."""
        return f"{self.subnet}.1"

    def host_end(self, address: str) -> str:
        """The name of the host's end of a pod's cable (at most 15 characters)."""
        return f"{self.bridge}-{address.rpartition('.')[2]}"

    def free_address(self, taken: Iterable[str]) -> str:
        """The lowest address no pod has. Raises EnvironmentProblem when all are taken."""
        used = set(taken)
        for last in PLACES:
            if (address := f"{self.subnet}.{last}") not in used:
                return address
        raise EnvironmentProblem(f"All {len(PLACES)} pod addresses of {self.subnet}.0/{PREFIX} are taken.", "Delete pods.")


def owner_name(state_dir: Path) -> str:
    """The name that everything of this cluster on the machine carries: bridge, cables, cgroups."""
    return "sh" + hashlib.sha256(str(state_dir.resolve()).encode()).hexdigest()[:8]


def choose_network(state_dir: Path, routes: Path = _ROUTES) -> Network:
    """A bridge name and a 10.x.y.0/24 that no route of this machine touches. The same state directory gets the same one, unless
    it is taken."""
    taken = list(_routed(routes))
    name = owner_name(state_dir)
    start = int(name[2:], 16)
    for step in range(256 * 256):
        number = (start + step) % (256 * 256)
        subnet = f"10.{number // 256}.{number % 256}"
        if not any(ipaddress.ip_network(f"{subnet}.0/{PREFIX}").overlaps(route) for route in taken):
            return Network(name, subnet)
    raise EnvironmentProblem("Routes of this machine cover all of 10.0.0.0/8.", "Use --level plain.")


def _routed(routes: Path) -> Iterator[ipaddress.IPv4Network]:
    for line in routes.read_text().splitlines()[1:]:
        fields = line.split()
        destination, mask = (int.from_bytes(bytes.fromhex(fields[column]), "little") for column in (1, 7))
        if mask:
            yield ipaddress.IPv4Network((destination, str(ipaddress.IPv4Address(mask))))
