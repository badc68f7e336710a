"""A pair of SSH keys as a function of random bytes: ECDSA on P-521, in the forms that upstream's pods get."""

from __future__ import annotations

import hashlib

_P521_ORDER = 2**521 - 657877501894328237357444332315020117536923257219387276263472201219398408051703
_SCALAR_BYTES = 88
"""Enough beyond the order's 66 that taking the remainder favours no key."""


def key_pair(randomness: bytes) -> tuple[bytes, bytes]:
    """(private key in PEM, public key as a line of authorized_keys). `randomness`: 32 bytes or more from the system's source."""
    # Not at the top, for the same reason as in curve_certificate.
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

    number = int.from_bytes(hashlib.shake_256(b"ssh" + randomness).digest(_SCALAR_BYTES), "big")
    private = ec.derive_private_key(1 + number % (_P521_ORDER - 1), ec.SECP521R1())
    public = private.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    return private.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption()), public + b"\n"
