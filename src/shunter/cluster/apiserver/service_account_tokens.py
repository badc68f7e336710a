"""Tokens of service accounts: JWTs signed with the server's own key, so they stay valid over restarts and need no storage."""

from __future__ import annotations

import base64
import binascii
import time
from collections.abc import Collection, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from shunter.api.meta import Json
from shunter.cluster.apiserver.requests import User

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

ISSUER = "https://kubernetes.default.svc"
API_AUDIENCES = frozenset([ISSUER])
"""Whom tokens for this server are meant for."""


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
        bound_to: Json | None = None,
    ) -> tuple[str, int]:
        """A token for a service account, and when it expires (Unix seconds)."""
        now = int(time.time())
        claims: Json = {"namespace": namespace, "serviceaccount": {"name": account, "uid": uid}}
        if bound_to:
            claims[bound_to.get("kind", "").lower()] = {"name": bound_to.get("name", ""), "uid": bound_to.get("uid", "")}
        payload: Json = {
            "aud": list(audiences),
            "exp": now + seconds,
            "iat": now,
            "nbf": now,
            "iss": ISSUER,
            "sub": f"system:serviceaccount:{namespace}:{account}",
            "kubernetes.io": claims,
        }
        signed = b".".join((_segment({"alg": self._algorithm, "typ": "JWT"}), _segment(payload)))
        return b".".join((signed, _base64(self._sign(signed)))).decode(), now + seconds

    def claims(self, token: str) -> Json | None:
        """The claims of a token that we signed and that has not expired, else None."""
        parts = token.split(".")
        if len(parts) != 3:
            return None
        try:
            payload = msgspec.json.decode(_bytes(parts[1]))
            signature = _bytes(parts[2])
        except (ValueError, binascii.Error):
            return None
        if not isinstance(payload, dict) or not self._verifies(token.rpartition(".")[0].encode(), signature):
            return None
        return payload if payload.get("exp", 0) > time.time() else None

    def user(self, token: str, audiences: Collection[str] = API_AUDIENCES) -> User | None:
        """Whom a token stands for, if it is meant for one of these audiences."""
        claims = self.claims(token)
        return user_of(claims) if claims and not set(claims["aud"]).isdisjoint(audiences) else None

    def audiences(self, token: str) -> frozenset[str]:
        """Whom a good token is meant for."""
        claims = self.claims(token)
        return frozenset(claims["aud"]) if claims else frozenset()

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
    """The user that a service account token stands for."""
    ours = claims["kubernetes.io"]
    namespace, account = ours["namespace"], ours["serviceaccount"]
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated")
    pod = ours.get("pod")
    extra = {f"authentication.kubernetes.io/pod-{field}": (pod[field],) for field in ("name", "uid")} if pod else {}
    return User(claims["sub"], groups, account["uid"], extra)


def _segment(value: Any) -> bytes:
    return _base64(msgspec.json.encode(value))


def _base64(value: bytes) -> bytes:
    return base64.urlsafe_b64encode(value).rstrip(b"=")


def _bytes(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
