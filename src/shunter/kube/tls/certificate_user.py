"""The user and groups that a client certificate authenticates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

AUTHENTICATED = "system:authenticated"
"""The group of everybody whose name is known."""


def user_and_groups(certificate: Mapping[str, Any]) -> tuple[str, tuple[str, ...]]:
    """The last common name (empty: there is none) and the organizations, of a certificate as `ssl.getpeercert()` shows it."""
    names = [pair for attributes in certificate.get("subject", ()) for pair in attributes]
    name = next((value for key, value in reversed(names) if key == "commonName"), "")
    return name, with_authenticated(tuple(value for key, value in names if key == "organizationName"))


def with_authenticated(groups: tuple[str, ...]) -> tuple[str, ...]:
    """The groups and that of everybody who is known, once."""
    return groups if AUTHENTICATED in groups else (*groups, AUTHENTICATED)
