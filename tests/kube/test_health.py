"""Addresses to listen on, and what /healthz and /readyz answer."""

from __future__ import annotations

import pytest

from shunter.errors import InputError
from shunter.kube.health import Address, Answer, checked, parse_address


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("0", None),
        ("", None),
        (":8080", ("", 8080)),
        (":0", ("", 0)),
        ("127.0.0.1:1", ("127.0.0.1", 1)),
        ("localhost:65535", ("localhost", 65535)),
        ("[::1]:443", ("::1", 443)),
        ("[::]:443", ("::", 443)),
        ("[fe80::1%eth0]:443", ("fe80::1%eth0", 443)),
    ],
)
def test_addresses_are_read_as_in_gos_flags(text: str, address: tuple[str, int] | None) -> None:
    assert parse_address(text) == address


@pytest.mark.parametrize("text", ["8080", "host:port", ":70000", ":", "host:", "host:-1", "host:+1", "host: 1", " :80", "a b:80"])
def test_an_address_that_is_none_is_the_users_mistake(text: str) -> None:
    with pytest.raises(InputError, match="is not an address"):
        parse_address(text)


@pytest.mark.parametrize(
    "text", ["::1", "::1:8080", "fe80::8080", "[::1]", "[::1:8080", "::1]:8080", "[[::1]]:80", "http://a:80"]
)
def test_a_host_with_colons_stands_in_brackets(text: str) -> None:
    """`::1` alone would be port 1 of a host `:`. Go's net.SplitHostPort: too many colons in address."""
    with pytest.raises(InputError, match="is not an address"):
        parse_address(text)


@pytest.mark.parametrize("text", [":8080", "127.0.0.1:1", "[::1]:443"])
def test_an_address_is_written_as_it_is_read(text: str) -> None:
    assert str(parse_address(text)) == text
    assert parse_address(str(Address("::", 1))) == Address("::", 1)


def test_a_process_is_healthy_while_all_its_checks_pass() -> None:
    endpoints = checked("/readyz", {"caches": lambda: "", "leader": lambda: ""})
    assert endpoints["/readyz"]() == Answer(200, "ok")
    assert endpoints["/readyz?verbose"]() == Answer(200, "[+]caches ok\n[+]leader ok\n/readyz check passed\n")


@pytest.mark.parametrize("path", ["/readyz", "/readyz?verbose"])
def test_a_check_that_fails_is_named_with_its_reason_beside_the_others(path: str) -> None:
    endpoints = checked("/readyz", {"caches": lambda: "pods are not listed yet", "leader": lambda: ""})
    assert endpoints[path]() == Answer(500, "[-]caches failed: pods are not listed yet\n[+]leader ok\n")


def test_checks_are_asked_at_each_request() -> None:
    problems = ["not yet"]
    ready = checked("/readyz", {"caches": lambda: problems[0]})["/readyz"]
    assert ready().status == 500
    problems[0] = ""
    assert ready().status == 200


def test_a_process_without_checks_is_healthy() -> None:
    assert checked("/healthz", {})["/healthz"]() == Answer(200, "ok")
