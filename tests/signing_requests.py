"""Certificate signing requests for tests, as `openssl req` makes them."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

Key = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey | ed25519.Ed25519PrivateKey


def new_key() -> ec.EllipticCurvePrivateKey:
    """A new private key."""
    return ec.generate_private_key(ec.SECP256R1())


def key_pem(key: Key) -> bytes:
    """PKCS#8, not encrypted."""
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def request_pem(common_name: str, *organizations: str, hosts: Sequence[str] = (), key: Key | None = None) -> bytes:
    """A request for this subject and these DNS names and addresses, signed with the key or with a new one."""
    key = key or new_key()
    names = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, one) for one in organizations]
    builder = x509.CertificateSigningRequestBuilder(x509.Name([*names, x509.NameAttribute(NameOID.COMMON_NAME, common_name)]))
    if hosts:
        builder = builder.add_extension(x509.SubjectAlternativeName([_host(one) for one in hosts]), critical=False)
    signed = builder.sign(key, None) if isinstance(key, ed25519.Ed25519PrivateKey) else builder.sign(key, SHA256())
    return signed.public_bytes(Encoding.PEM)


def _host(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
