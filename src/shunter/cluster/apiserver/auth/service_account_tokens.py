"""Tokens of service accounts: JWTs signed with the server's own key, so they stay valid over restarts and need no storage.

`token_objects` checks that the objects they are bound to still exist."""

from __future__ import annotations

import base64
import time
import uuid
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import msgspec

from shunter.api.meta import Json
from shunter.cluster.apiserver.requests import User

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

ISSUER = "https://kubernetes.default.svc"
API_AUDIENCES = frozenset([ISSUER])
"""The audiences of tokens for this server."""
_EXTRA = "authentication.kubernetes.io"


class TokenError(Exception):
    """An invalid token. The text says why; it is empty for a token that this server did not sign."""


class TokenIssuer:
    """Issues and checks tokens. `key_file` is a PEM private key, RSA or elliptic curve; loaded on first use."""

    def __init__(self, key_file: Path) -> None:
        self._key_file = key_file

    @cached_property
    def _key(self) -> RSAPrivateKey | EllipticCurvePrivateKey:
        from cryptography.hazmat.primitives.serialization import load_pem_private_key

        return load_pem_private_key(self._key_file.read_bytes(), None)  # type: ignore[return-value]

    def issue(
        self,
        *,
        namespace: str,
        account: str,
        uid: str,
        audiences: Sequence[str],
        seconds: int,
        objects: Mapping[str, Json] = MappingProxyType({}),
    ) -> tuple[str, int]:
        """A token for a service account, and when it expires (Unix seconds). `objects` has name and uid of what it is bound to,
        by kind (`pod`, `secret`, `node`)."""
        now = int(time.time())
        claims: Json = {"namespace": namespace, "serviceaccount": {"name": account, "uid": uid}, **objects}
        payload: Json = {
            "aud": list(audiences),
            "exp": now + seconds,
            "iat": now,
            "jti": str(uuid.uuid4()),
            "nbf": now,
            "iss": ISSUER,
            "sub": f"system:serviceaccount:{namespace}:{account}",
            "kubernetes.io": claims,
        }
        signed = b".".join((_segment({"alg": self._algorithm, "typ": "JWT"}), _segment(payload)))
        return b".".join((signed, _base64(self._sign(signed)))).decode(), now + seconds

    def claims(self, token: str) -> Json:
        """The claims of a token that we signed and that has not expired. Raises TokenError."""
        parts = token.split(".")
        if len(parts) != 3:
            raise TokenError
        try:
            signature = _bytes(parts[2])
        except ValueError:
            raise TokenError from None
        if not self._verifies(token.rpartition(".")[0].encode(), signature):
            raise TokenError
        # Read after that only: what strangers send may be nested without end.
        payload: Json = msgspec.json.decode(_bytes(parts[1]))
        if payload.get("exp", 0) <= time.time():
            raise TokenError("service account token has expired")
        return payload

    @property
    def _algorithm(self) -> str:
        from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

        return "RS256" if isinstance(self._key, RSAPrivateKey) else "ES256"

    def _sign(self, message: bytes) -> bytes:
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.asymmetric import ec, padding
        from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
        from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

        if isinstance(self._key, RSAPrivateKey):
            return self._key.sign(message, padding.PKCS1v15(), hashes.SHA256())
        r, s = decode_dss_signature(self._key.sign(message, ec.ECDSA(hashes.SHA256())))
        return r.to_bytes(32, "big") + s.to_bytes(32, "big")

    def _verifies(self, message: bytes, signature: bytes) -> bool:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.asymmetric import ec, padding
        from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
        from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

        try:
            if isinstance(self._key, RSAPrivateKey):
                self._key.public_key().verify(signature, message, padding.PKCS1v15(), hashes.SHA256())
            else:
                half = len(signature) // 2
                pair = (int.from_bytes(signature[:half], "big"), int.from_bytes(signature[half:], "big"))
                self._key.public_key().verify(encode_dss_signature(*pair), message, ec.ECDSA(hashes.SHA256()))
        except InvalidSignature:
            return False
        return True


def user_of(claims: Json) -> User:
    """The user that a service account token authenticates."""
    ours = claims["kubernetes.io"]
    namespace, account = ours["namespace"], ours["serviceaccount"]
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated")
    extra = {f"{_EXTRA}/credential-id": (f"JTI={claims['jti']}",)} if "jti" in claims else {}
    for kind in ("node", "pod"):
        extra |= {f"{_EXTRA}/{kind}-{field}": (value,) for field, value in ours.get(kind, {}).items() if value}
    return User(claims["sub"], groups, account["uid"], extra)


def _segment(value: Any) -> bytes:
    return _base64(msgspec.json.encode(value))


def _base64(value: bytes) -> bytes:
    return base64.urlsafe_b64encode(value).rstrip(b"=")


def _bytes(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
