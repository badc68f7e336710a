"""Authorities and serving certificates, ECDSA P-256: made in milliseconds, by the embedded cluster and the webhook server.

`cryptography` is imported on first use: most processes only pass key pairs around.
"""

from __future__ import annotations

import ipaddress
import re
import ssl
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey, EllipticCurvePublicKey

AUTHORITY_DAYS = 3650
CLOCK_SKEW = timedelta(minutes=1)
"""Certificates are valid from this long ago, so that a peer whose clock is a little behind accepts them."""

_PEM_BLOCK = re.compile(rb"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)


class KeyPair(NamedTuple):
    """A certificate and its private key, both PEM (the key as unencrypted PKCS#8)."""

    certificate: bytes
    key: bytes


def load_pair(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    """Lets a TLS context show this certificate (PEM). ssl.SSLError when the key is not its own."""
    # ssl reads certificates from files only.
    with tempfile.NamedTemporaryFile() as file:
        file.write(certificate + b"\n" + key)
        file.flush()
        context.load_cert_chain(file.name)


def verifying(authorities: bytes) -> ssl.SSLContext:
    """A client's TLS context that trusts these authorities (PEM), or the system's when there are none, as clients in Go do.

    From 3.13 on Python asks for extensions that the certificates of many clusters have not (Missing Authority Key Identifier);
    before, it wanted to see the root above an authority. ValueError or ssl.SSLError when they are no certificates.
    """
    context = ssl.create_default_context(cadata=authorities.decode() if authorities else None)
    context.verify_flags = (context.verify_flags & ~ssl.VERIFY_X509_STRICT) | ssl.VERIFY_X509_PARTIAL_CHAIN
    return context


def new_authority(common_name: str, *, days: int = AUTHORITY_DAYS, now: datetime | None = None) -> KeyPair:
    """A self-signed certificate authority; its time starts `now`, by default at present."""
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    subject = _subject(common_name, ())
    builder = (
        _builder(subject, subject, key.public_key(), days, now or datetime.now(UTC))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_key_usage(authority=True), critical=True)
    )
    return _signed(builder, subject_key=key, signing_key=key)


def issue(
    authority: KeyPair,
    common_name: str,
    hosts: Sequence[str],
    *,
    organizations: Sequence[str] = (),
    days: int = 365,
    now: datetime | None = None,
) -> KeyPair:
    """A certificate for `hosts` (DNS names or IP addresses), good for servers and for clients; `now` as for `new_authority`.

    To Kubernetes a client's common name is its user name and its organizations are its groups.
    """
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.serialization import load_pem_private_key
    from cryptography.x509.oid import ExtendedKeyUsageOID

    issuer = x509.load_pem_x509_certificate(authority.certificate)
    issuer_key = load_pem_private_key(authority.key, password=None)
    assert isinstance(issuer_key, ec.EllipticCurvePrivateKey)
    key = ec.generate_private_key(ec.SECP256R1())
    usages = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
    builder = (
        _builder(_subject(common_name, organizations), issuer.subject, key.public_key(), days, now or datetime.now(UTC))
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_key_usage(authority=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage(usages), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()), critical=False)
    )
    if hosts:
        builder = builder.add_extension(x509.SubjectAlternativeName([_host(name) for name in hosts]), critical=False)
    return _signed(builder, subject_key=key, signing_key=issuer_key)


def expires_at(certificate: bytes) -> datetime:
    """When the first certificate of a PEM file stops being valid."""
    from cryptography import x509

    return x509.load_pem_x509_certificate(certificate).not_valid_after_utc


def fault_of(pair: KeyPair, authorities: bytes, hosts: Sequence[str], now: datetime) -> str:
    """Why a server with this pair is not accepted under one of these names by clients that trust `authorities`; else empty."""
    from cryptography import x509
    from cryptography.hazmat.primitives.serialization import load_pem_private_key
    from cryptography.x509.verification import PolicyBuilder, Store, VerificationError

    try:
        certificate = x509.load_pem_x509_certificate(pair.certificate)
        key = load_pem_private_key(pair.key, password=None)
        trusted = x509.load_pem_x509_certificates(authorities)
    except (ValueError, TypeError) as error:
        return f"it cannot be read: {error}"
    if key.public_key() != certificate.public_key():
        return "the key is not the certificate's"
    builder = PolicyBuilder().store(Store(trusted)).time(now)
    for host in hosts:
        try:
            builder.build_server_verifier(_host(host)).verify(certificate, [])  # type: ignore[arg-type]
        except VerificationError as error:
            return f"it is not good for {host}: {error}"
    return ""


def unexpired(authorities: bytes, now: datetime) -> list[bytes]:
    """The certificates (PEM) of a bundle that are still valid, each once, in their order; what cannot be read is left out."""
    from cryptography import x509
    from cryptography.hazmat.primitives.serialization import Encoding

    found: dict[bytes, None] = {}
    for block in _PEM_BLOCK.findall(authorities):
        try:
            certificate = x509.load_pem_x509_certificate(block)
        except ValueError:
            continue
        if certificate.not_valid_after_utc > now:
            found[certificate.public_bytes(Encoding.PEM)] = None
    return list(found)


def _subject(common_name: str, organizations: Sequence[str]) -> x509.Name:
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    names = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, organization) for organization in organizations]
    return x509.Name([*names, x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _host(name: str) -> x509.GeneralName:
    from cryptography import x509

    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _key_usage(*, authority: bool) -> x509.KeyUsage:
    from cryptography import x509

    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=authority,
        crl_sign=authority,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _builder(
    subject: x509.Name, issuer: x509.Name, key: EllipticCurvePublicKey, days: int, now: datetime
) -> x509.CertificateBuilder:
    from cryptography import x509

    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - CLOCK_SKEW)
        .not_valid_after(now + timedelta(days=days))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


def _signed(
    builder: x509.CertificateBuilder, *, subject_key: EllipticCurvePrivateKey, signing_key: EllipticCurvePrivateKey
) -> KeyPair:
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    return KeyPair(
        builder.sign(signing_key, SHA256()).public_bytes(Encoding.PEM),
        subject_key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()),
    )
