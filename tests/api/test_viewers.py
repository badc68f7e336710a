"""Users and origins that a proxy may name to the page."""

from __future__ import annotations

import pytest

from shunter.api.viewers import is_origin, is_reserved


@pytest.mark.parametrize(
    ("name", "reserved"),
    [
        ("system:masters", True),
        ("System:Masters", True),
        ("SYSTEM:x", True),
        ("system", False),
        ("my-system:x", False),
        ("", False),
    ],
)
def test_users_of_the_cluster_itself_are_reserved_in_any_case(name: str, *, reserved: bool) -> None:
    assert is_reserved(name) is reserved


@pytest.mark.parametrize(
    ("text", "origin"),
    [
        ("https://a.example", True),
        ("http://127.0.0.1:8642", True),
        ("https://a.example/", False),
        ("https://a.example/x", False),
        ("https://u@a.example", False),
        ("https://a.example:", False),
        ("https://*.example", False),
        ("https://a.example; script-src *", False),
        ("https://a.example\n", False),
        ("ftp://a.example", False),
    ],
)
def test_an_origin_is_scheme_host_and_port_alone(text: str, *, origin: bool) -> None:
    assert is_origin(text) is origin
