"""Certificate signing requests (PKCS#10): what one asks for, and the certificate that an authority makes of it.

`cryptography` is imported on first use, as in certificates.py. Sources: Go's `encoding/pem` and `crypto/x509`, k8s.io/kubernetes
1.36 `controller/certificates/authority`.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Collection, Iterator
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from shunter.kube.tls.certificates import KeyPair

if TYPE_CHECKING:
    from cryptography import x509

REQUEST = "CERTIFICATE REQUEST"
CERTIFICATE = "CERTIFICATE"
BACKDATE = timedelta(minutes=5)
"""Certificates are valid from this long before they are signed."""
SHORT = timedelta(hours=8)
"""A lifetime below this is counted from the signing, a longer one from the certificate's first moment."""
_BLOCK = re.compile(rb"^-----BEGIN ([^\n]*?)-----[ \t]*\r?\n(.*?)^-----END \1-----[ \t\r]*$", re.DOTALL | re.MULTILINE)
_KEY_USAGES = {"digital signature": "digital_signature", "key encipherment": "key_encipherment"}
_PURPOSES = {"server auth": "1.3.6.1.5.5.7.3.1", "client auth": "1.3.6.1.5.5.7.3.2"}
_ALL_KEY_USAGES = (
    *("digital_signature", "content_commitment", "key_encipherment", "data_encipherment", "key_agreement"),
    *("key_cert_sign", "crl_sign", "encipher_only", "decipher_only"),
)


class PemBlock(NamedTuple):
    """A block between a BEGIN and an END line."""

    type: str
    has_headers: bool
    content: bytes
    """Decoded: DER."""


class Subject(NamedTuple):
    """What a request wants to have certified."""

    common_name: str
    organizations: tuple[str, ...]
    dns_names: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()
    emails: tuple[str, ...] = ()
    uris: tuple[str, ...] = ()


class RequestError(ValueError):
    """It is no certificate signing request, or not signed with the key that it is for."""


def pem_blocks(text: bytes) -> Iterator[PemBlock]:
    """The blocks in their order; what is around them, and what is not base64, is passed over."""
    for match in _BLOCK.finditer(text):
        lines = match[2].splitlines()
        headers = next((at for at, line in enumerate(lines) if b":" not in line), len(lines))
        try:
            content = base64.b64decode(b"".join(line.strip() for line in lines[headers:]), validate=True)
        except binascii.Error:
            continue
        yield PemBlock(match[1].decode(errors="replace"), headers > 0, content)


def is_certificate(der: bytes) -> bool:
    """Whether the content of a block is a certificate."""
    from cryptography import x509

    try:
        x509.load_der_x509_certificate(der)
    except ValueError:
        return False
    return True


def subject_of(request: bytes) -> Subject:
    """What a request in PEM wants. Raises RequestError, also where its signature is wrong."""
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    parsed = _parsed(request)

    def texts(oid: x509.ObjectIdentifier) -> tuple[str, ...]:
        return tuple(str(attribute.value) for attribute in parsed.subject.get_attributes_for_oid(oid))

    names = _alternative_names(parsed)
    return Subject(
        common_name=(texts(NameOID.COMMON_NAME) or ("",))[-1],
        organizations=texts(NameOID.ORGANIZATION_NAME),
        dns_names=tuple(names.get_values_for_type(x509.DNSName)) if names else (),
        addresses=tuple(map(str, names.get_values_for_type(x509.IPAddress))) if names else (),
        emails=tuple(names.get_values_for_type(x509.RFC822Name)) if names else (),
        uris=tuple(names.get_values_for_type(x509.UniformResourceIdentifier)) if names else (),
    )


def signed(request: bytes, authority: KeyPair, usages: Collection[str], lifetime: timedelta, now: datetime) -> bytes:
    """A certificate (PEM) with the subject and the names of the request, for these usages of Kubernetes' API, which are of
    `_KEY_USAGES` and `_PURPOSES`; it ends with the authority's at the latest. Raises RequestError, also where the authority has
    expired."""
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.serialization import Encoding, load_pem_private_key

    parsed = _parsed(request)
    issuer = x509.load_pem_x509_certificate(authority.certificate)
    issuer_key = load_pem_private_key(authority.key, password=None)
    assert isinstance(issuer_key, ec.EllipticCurvePrivateKey), "authorities are made by certificates.new_authority"
    if now >= issuer.not_valid_after_utc:
        raise RequestError(f"the CA has expired on {issuer.not_valid_after_utc:%Y-%m-%d}")
    ends = now + (lifetime if lifetime < SHORT else lifetime - BACKDATE)
    purposes = [x509.ObjectIdentifier(_PURPOSES[usage]) for usage in sorted(usages) if usage in _PURPOSES]
    chosen = {_KEY_USAGES[usage] for usage in usages if usage in _KEY_USAGES}
    builder = (
        x509.CertificateBuilder()
        .subject_name(parsed.subject)
        .issuer_name(issuer.subject)
        .public_key(parsed.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - BACKDATE)
        .not_valid_after(min(ends, issuer.not_valid_after_utc))
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()), critical=False)
    )
    if chosen:
        builder = builder.add_extension(x509.KeyUsage(**{name: name in chosen for name in _ALL_KEY_USAGES}), critical=True)
    if purposes:
        builder = builder.add_extension(x509.ExtendedKeyUsage(purposes), critical=False)
    if (names := _alternative_names(parsed)) is not None:
        builder = builder.add_extension(names, critical=False)
    return builder.sign(issuer_key, SHA256()).public_bytes(Encoding.PEM)


def _parsed(request: bytes) -> x509.CertificateSigningRequest:
    from cryptography import x509
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric import ec, rsa

    block = next(pem_blocks(request), None)
    if block is None or block.type != REQUEST:
        raise RequestError(f"PEM block type must be {REQUEST}")
    try:
        parsed = x509.load_der_x509_csr(block.content)
        _alternative_names(parsed)
        key = parsed.public_key()
        is_valid = parsed.is_signature_valid
    except UnsupportedAlgorithm:
        raise RequestError("x509: cannot verify signature: algorithm unimplemented") from None
    except ValueError as error:
        raise RequestError(f"it cannot be read: {error}") from None
    if is_valid:
        return parsed
    if isinstance(key, rsa.RSAPublicKey):
        raise RequestError("crypto/rsa: verification error")
    kind = "ECDSA" if isinstance(key, ec.EllipticCurvePublicKey) else "Ed25519"
    raise RequestError(f"x509: {kind} verification failure")


def _alternative_names(parsed: x509.CertificateSigningRequest) -> x509.SubjectAlternativeName | None:
    from cryptography import x509

    try:
        return parsed.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return None
