"""Where a webhook server's certificate comes from when no Secret is shared: files that others renew, or this process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple, Protocol

from shunter.errors import InputError
from shunter.kube.tls.certificate_secret import CertificateSecret
from shunter.kube.tls.certificates import KeyPair
from shunter.kube.tls.serving_certificate import ServingCertificate, includes, successor


class ServedCertificate(NamedTuple):
    """What to serve (a directory is followed by the server itself) and the authorities (PEM) that clients are to trust."""

    certificate: KeyPair | Path
    authorities: bytes


class Source(Protocol):
    """What gives a server its certificate; asked again, since the certificate and its authorities may change."""

    async def offer(self, bundles: Sequence[bytes]) -> ServedCertificate:
        """What is to be served now. `bundles`: what each client trusts, read before this call."""


class NotifyingSource:
    """Another source, whose authorities are also passed to `callback`."""

    def __init__(self, source: Source, callback: Callable[[bytes], None]) -> None:
        self._source = source
        self._callback = callback

    async def offer(self, bundles: Sequence[bytes]) -> ServedCertificate:
        """What the other source offers, after `callback` was called with its authorities."""
        offer = await self._source.offer(bundles)
        self._callback(offer.authorities)
        return offer


class SharedCertificate:
    """From the Secret that all replicas share."""

    def __init__(self, secret: CertificateSecret) -> None:
        self._secret = secret

    async def offer(self, bundles: Sequence[bytes]) -> ServedCertificate:
        """What the Secret holds, after the next step of its renewal where one is due. SecretProblem when the Secret belongs to
        another owner; ApiError when the server refuses."""
        certificate = await self._secret.sync(bundles)
        return ServedCertificate(certificate.serving, certificate.authorities)


class OwnCertificate:
    """Made by this process for itself, and renewed while it runs."""

    def __init__(self, hosts: Sequence[str], *, now: Callable[[], datetime]) -> None:
        self._hosts = hosts
        self._now = now
        self._current: ServingCertificate | None = None

    async def offer(self, bundles: Sequence[bytes]) -> ServedCertificate:
        """The certificate made before, or the next step of its renewal where one is due. It is in memory only: after a restart
        its authority is another."""
        now, current = self._now(), self._current
        is_trusted = current is not None and bool(bundles) and all(includes(b, current.authorities, now) for b in bundles)
        self._current = successor(current, self._hosts, now, is_trusted=is_trusted).certificate
        return ServedCertificate(self._current.serving, self._current.authorities)


class CertificateFiles:
    """tls.crt, tls.key and ca.crt in a directory, as cert-manager's Secrets are mounted."""

    def __init__(self, directory: Path, *, is_authority_needed: bool) -> None:
        self._directory = directory
        self._is_authority_needed = is_authority_needed

    async def offer(self, bundles: Sequence[bytes]) -> ServedCertificate:
        """The directory, and ca.crt where it is needed, else no authority. InputError when ca.crt cannot be read."""
        path = self._directory / "ca.crt"
        try:
            authorities = path.read_bytes() if self._is_authority_needed else b""
        except OSError as error:
            raise InputError(
                f"The CA of the serving certificate must be published: {path}: {error.strerror}.",
                "Put ca.crt into --webhook-cert-dir, or leave out --register-webhooks and the feature gate TrainJobStatus.",
            ) from error
        return ServedCertificate(self._directory, authorities)
