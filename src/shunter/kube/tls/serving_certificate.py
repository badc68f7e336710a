"""The life of a serving certificate that several replicas share, and that clients must never see one without trusting it.

Each certificate comes from an authority of its own whose key is thrown away at once, so no other can ever be issued. Long
before it expires a successor is staged: its authority is published to clients as well. Only when they have for a while it is
served. The old authority stays trusted until it expires, so that a replica that has not noticed yet is still trusted.

Pure: `successor` says what should be stored next; its caller stores it, and calls again until nothing changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

import msgspec

from shunter.kube.tls.certificates import KeyPair, expires_at, fault_of, issue, new_authority, unexpired

LIFETIME = timedelta(days=90)
RENEWAL = timedelta(days=30)
"""A successor is staged when this much is left."""

NAME = "shunter webhooks"

SETTLING = timedelta(hours=1)
"""How long a new authority is published before it is relied on: API servers read their configuration in seconds."""


class ServingCertificate(msgspec.Struct, frozen=True, kw_only=True):
    """What replicas share. `authorities` (PEM) is what clients are to trust: those of both pairs, and earlier ones."""

    serving: KeyPair
    authorities: bytes
    staged: KeyPair | None = None


class Successor(NamedTuple):
    """What should be stored, and why when that differs from what is."""

    certificate: ServingCertificate
    why: str = ""


def successor(current: ServingCertificate | None, hosts: Sequence[str], now: datetime, *, is_trusted: bool = False) -> Successor:
    """The next step from `current`. `is_trusted`: every client is known to trust all of its authorities."""
    if current is None:
        return Successor(_fresh(hosts, now, []), "there is none")
    authorities = unexpired(current.authorities, now)
    if fault := fault_of(current.serving, b"".join(authorities), hosts, now):
        if current.staged and not fault_of(current.staged, b"".join(authorities), hosts, now):
            return Successor(_promoted(current.staged, authorities), f"{fault}; the next certificate is served now")
        return Successor(_fresh(hosts, now, authorities), fault)
    staged = current.staged
    if staged and fault_of(staged, b"".join(authorities), hosts, now):
        staged = None
    if staged is None:
        if expires_at(current.serving.certificate) - now > RENEWAL:
            return _unless_equal(current, ServingCertificate(serving=current.serving, authorities=b"".join(authorities)))
        fresh = _fresh(hosts, now, authorities)
        prepared = ServingCertificate(serving=current.serving, authorities=fresh.authorities, staged=fresh.serving)
        return Successor(prepared, "it expires soon: the next certificate is distributed")
    if is_trusted and now - (expires_at(staged.certificate) - LIFETIME) >= SETTLING:
        return Successor(_promoted(staged, authorities), "it expires soon: the next certificate is served now")
    return _unless_equal(current, ServingCertificate(serving=current.serving, authorities=b"".join(authorities), staged=staged))


def includes(bundle: bytes, authorities: bytes, now: datetime) -> bool:
    """Whether a client that trusts `bundle` trusts all of `authorities` that matter now."""
    return set(unexpired(authorities, now)) <= set(unexpired(bundle, now))


def _fresh(hosts: Sequence[str], now: datetime, trusted: Sequence[bytes]) -> ServingCertificate:
    authority = new_authority(f"{NAME} authority", days=LIFETIME.days, now=now)
    pair = issue(authority, NAME, hosts, days=LIFETIME.days, now=now)
    return ServingCertificate(serving=pair, authorities=b"".join([authority.certificate, *trusted]))


def _promoted(staged: KeyPair, authorities: Sequence[bytes]) -> ServingCertificate:
    return ServingCertificate(serving=staged, authorities=b"".join(authorities))


def _unless_equal(current: ServingCertificate, desired: ServingCertificate) -> Successor:
    return Successor(desired, "" if desired == current else "what expired is dropped")
