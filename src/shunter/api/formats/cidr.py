"""Addresses, and blocks of them, as Kubernetes reads them.

Source: k8s.io/utils `net.ParseCIDRSloppy`, which takes leading zeros for what people mean by them, and k8s.io/apimachinery 1.36
`util/validation/ip.go`, which refuses them in new values.
"""

from __future__ import annotations

import ipaddress
from typing import TypeAlias

from shunter.api.late_patterns import late_pattern

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
Block: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network

_WRITTEN = late_pattern(r"([0-9A-Fa-f:.]+)/([0-9]{1,3})")


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


def address(text: str) -> Address | None:
    """The IP address; None for what is none."""
    whole = block(f"{text}/{128 if ':' in text else 32}")
    return None if whole is None else whole.network_address


def address_faults(text: str) -> list[str]:
    """What a new IP address may not have."""
    if address(text) is None:
        return ["must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"]
    try:
        found = ipaddress.ip_address(text)
    except ValueError:
        return ["must not have leading 0s"]
    is_mapped = isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped is not None
    return ["must not be an IPv4-mapped IPv6 address"] if is_mapped else []


def faults(text: str) -> list[str]:
    """What a new CIDR value may not have."""
    found = block(text)
    if found is None:
        return ["must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"]
    host, _, length = text.partition("/")
    try:
        host_address = ipaddress.ip_address(host)
    except ValueError:
        return ["must not have leading 0s in IP or prefix length"]
    if length != str(found.prefixlen):
        return ["must not have leading 0s in IP or prefix length"]
    if isinstance(host_address, ipaddress.IPv6Address) and host_address.ipv4_mapped is not None:
        return ["must not have an IPv4-mapped IPv6 address"]
    return ["must not have bits set beyond the prefix length"] if host_address != found.network_address else []
