"""What these controllers read of requests."""

from __future__ import annotations

from collections.abc import Sequence

from shunter.api.meta import Json, ObjectMeta, Struct


class RequestSpec(Struct, frozen=True):
    """`request` is PEM; user, groups and the rest are who made it."""

    request: bytes = b""
    signer_name: str = ""
    expiration_seconds: int | None = None
    usages: tuple[str, ...] = ()
    username: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Json = {}


class SigningRequest(Struct, frozen=True):
    """A CertificateSigningRequest."""

    metadata: ObjectMeta
    spec: RequestSpec = RequestSpec()
    status: Json = {}

    @property
    def conditions(self) -> Sequence[Json]:
        """The conditions of its status."""
        return self.status.get("conditions") or ()

    @property
    def certificate(self) -> str:
        """Base64 of PEM; empty before it is signed."""
        return self.status.get("certificate") or ""

    def has(self, kind: str) -> bool:
        """Whether there is a condition of this type: Approved, Denied and Failed are never false."""
        return any(one["type"] == kind for one in self.conditions)
