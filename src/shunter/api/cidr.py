"""Blocks of addresses as Kubernetes reads them.

Source: k8s.io/utils `net.ParseCIDRSloppy`, which takes leading zeros for what people mean by them, and k8s.io/apimachinery 1.36
`util/validation/ip.go`, which refuses them in new values.
"""

from __future__ import annotations

import ipaddress
import re
from typing import TypeAlias

Block: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network

_WRITTEN = re.compile(r"([0-9A-Fa-f:.]+)/([0-9]{1,3})")


def block(text: str) -> Block | None:
    """The block of addresses, without what stands beyond its prefix; None for what is no CIDR value."""
    match = _WRITTEN.fullmatch(text)
    if match is None:
        return None
    host = match[1] if ":" in match[1] else ".".join(part.lstrip("0") or part[:1] for part in match[1].split("."))
    try:
        return ipaddress.ip_network(f"{host}/{int(match[2])}", strict=False)
    except ValueError:
        return None


def faults(text: str) -> list[str]:
    """What a new CIDR value may not have."""
    found = block(text)
    if found is None:
        return ["must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"]
    host, _, length = text.partition("/")
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return ["must not have leading 0s in IP or prefix length"]
    if length != str(found.prefixlen):
        return ["must not have leading 0s in IP or prefix length"]
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        return ["must not have an IPv4-mapped IPv6 address"]
    return ["must not have bits set beyond the prefix length"] if address != found.network_address else []
