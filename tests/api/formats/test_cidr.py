"""Blocks of addresses, as Kubernetes 1.36 reads them."""

from __future__ import annotations

import pytest

from shunter.api.formats import cidr

INVALID = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
ZEROS = "must not have leading 0s in IP or prefix length"


@pytest.mark.parametrize(
    ("text", "read", "faults"),
    [
        ("10.9.8.0/24", "10.9.8.0/24", []),
        ("0.0.0.0/0", "0.0.0.0/0", []),
        ("2001:db8::/64", "2001:db8::/64", []),
        ("2001:0db8:0::/64", "2001:db8::/64", []),
        ("10.9.8.7/24", "10.9.8.0/24", ["must not have bits set beyond the prefix length"]),
        ("010.9.8.0/24", "10.9.8.0/24", [ZEROS]),
        ("10.9.8.0/024", "10.9.8.0/24", [ZEROS]),
        ("::ffff:1.2.3.4/128", "::ffff:1.2.3.4/128", ["must not have an IPv4-mapped IPv6 address"]),
        ("10.9.8.0", None, [INVALID]),
        ("10.9.8.0/255.255.255.0", None, [INVALID]),
        ("10.9.8/24", None, [INVALID]),
        ("10.9..0/24", None, [INVALID]),
        ("10.9.8.0/33", None, [INVALID]),
        ("10.9.8.0/24 ", None, [INVALID]),
        ("fe80::1%eth0/64", None, [INVALID]),
        ("", None, [INVALID]),
    ],
)
def test_blocks(text: str, read: str | None, faults: list[str]) -> None:
    found = cidr.block(text)
    assert (None if found is None else found) == (None if read is None else cidr.block(read))
    assert (found is None) == (read is None)
    assert cidr.faults(text) == faults
