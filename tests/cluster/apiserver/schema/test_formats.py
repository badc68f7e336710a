"""String formats of custom resources, and Go's regular expressions in Python."""

from __future__ import annotations

import pytest

from shunter.cluster.apiserver.schema.formats import FORMATS, go_pattern


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("duration", "1h30m"),
        ("duration", "1.5h"),
        ("duration", "0"),
        ("date", "2024-02-29"),
        ("datetime", "2024-01-01t00:00:00z"),
        ("datetime", "2024-01-01T00:00:00.123456789+01:00"),
        ("uuid", "550E8400-e29b-41d4-a716-446655440000"),
        ("cidr", "10.0.0.1/8"),
        ("cidr", "fd00::/64"),
        ("ipv4", "1.2.3.4"),
        ("ipv6", "::1"),
        ("byte", "YQ=="),
        ("duration", "2 Days 3 hrs"),
        ("duration", "about 5 weeks"),
        ("duration", "-1ms"),
        ("k8sshortname", "a-1"),
        ("k8slongname", "a.b-c"),
        ("password", ""),
    ],
)
def test_what_is_of_a_format(name: str, text: str) -> None:
    assert FORMATS[name](text)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("duration", ""),
        ("duration", "1"),
        ("duration", "5 fortnights"),
        ("byte", ""),
        ("date", "2024-02-30"),
        ("date", "20240101"),
        ("date", "\u0662024-01-01"),
        ("datetime", "2024-01-01T24:00:00Z"),
        ("datetime", "2024-01-01 00:00:00Z"),
        ("datetime", "2024-01-01T00:00:00"),
        ("cidr", "10.0.0.1"),
        ("cidr", "10.0.0.1/255.0.0.0"),
        ("cidr", "10.0.0.1/33"),
        ("cidr", "10.0.0.1/"),
        ("cidr", "fe80::%eth0/64"),
        ("ipv4", "1.2.3.4\n"),
        ("ipv4", "::1"),
        ("ipv6", "1.2.3.4"),
        ("ipv6", "::1%eth0"),
        ("byte", "YQ"),
        ("uri", "a b"),
        ("hostname", "a_b"),
        ("k8sshortname", "A"),
        ("k8sshortname", "a" * 64),
    ],
)
def test_what_is_not(name: str, text: str) -> None:
    assert not FORMATS[name](text)


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [
        ("^a$", "a", True),
        ("^a$", "a\n", False),
        (r"^\d+$", "\u0663", False),
        ("^[[:alpha:]_]+$", "a_b", True),
        ("^[[:alpha:]]+$", "\u00e9", False),
        ("^[^]a]$", "]", False),
        ("^[]a]$", "]", True),
        ("^[$]$", "$", True),
        (r"^a\z", "a\n", False),
    ],
)
def test_a_pattern_means_what_it_means_in_go(pattern: str, text: str, matches: bool) -> None:
    assert (go_pattern(pattern).search(text) is not None) is matches
