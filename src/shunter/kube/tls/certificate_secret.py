"""A serving certificate in a Secret, shared by replicas: read by all, written by whichever comes first.

Never a Secret that another made: what has not our label is left alone. Each write is the whole next step and has a precondition,
so replicas cannot undo each other, and one that is killed leaves a state that the next look goes on from.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Sequence
from datetime import datetime
from logging import getLogger

from shunter.api.meta import ObjectMeta, Struct
from shunter.api.resources import SECRETS
from shunter.errors import EnvironmentProblem
from shunter.kube.client import Client
from shunter.kube.controllers.leader import process_identity
from shunter.kube.errors import AlreadyExists, Conflict, NotFound
from shunter.kube.tls.certificates import KeyPair, fault_of
from shunter.kube.tls.serving_certificate import ServingCertificate, includes, successor

log = getLogger(__name__)

MANAGED_BY = "app.kubernetes.io/managed-by"
OWNER = "shunter-operator"
TYPE = "kubernetes.io/tls"
FIELDS = {"certificate": "tls.crt", "key": "tls.key"}
STAGED_FIELDS = {"certificate": "next.tls.crt", "key": "next.tls.key"}
AUTHORITIES = "ca.crt"
ATTEMPTS = 10


class SecretProblem(EnvironmentProblem):
    """The Secret cannot be used as it is; an administrator has to decide about it."""


class StoredSecret(Struct, frozen=True):
    """A Secret, as far as it is looked at here; the values of `data` are base64."""

    metadata: ObjectMeta
    type: str = ""
    data: dict[str, str] | None = None


class CertificateSecret:
    """The Secret as one replica sees it; `hosts` are the names under which the replicas are called."""

    def __init__(self, client: Client, namespace: str, name: str, hosts: Sequence[str], *, now: Callable[[], datetime]) -> None:
        self._client = client
        self._namespace = namespace
        self._name = name
        self._hosts = hosts
        self._now = now
        # A replica of its own in managedFields: of two that create at once the second then gets a Conflict.
        self._creator = f"{client.field_manager}-{process_identity()}"[:128]
        self._known: ServingCertificate | None = None

    async def sync(self, bundles: Sequence[bytes]) -> ServingCertificate:
        """What is to be served and trusted now, stored. `bundles` is what each client trusts, read before this call: from a
        bundle that is older than the Secret nothing wrong follows, the other way round a client could be made to forget.

        SecretProblem when the Secret belongs to another owner; ApiError when the server refuses.
        """
        for _ in range(ATTEMPTS):
            secret = await self._read()
            stored = self._parsed(secret) if secret else None
            now = self._now()
            is_trusted = stored is not None and bool(bundles) and all(includes(b, stored.authorities, now) for b in bundles)
            desired, why = successor(self._usable(stored, now), self._hosts, now, is_trusted=is_trusted)
            if desired == stored:
                self._known = stored
                return stored
            try:
                await self._write(secret, desired)
            except (Conflict, AlreadyExists, NotFound):
                continue
            log.info("wrote the webhooks' certificate to Secret %s/%s: %s", self._namespace, self._name, why or "it was lost")
            self._known = desired
            return desired
        raise SecretProblem(f"Secret {self._namespace}/{self._name} changes each time it is to be written.")

    def _usable(self, stored: ServingCertificate | None, now: datetime) -> ServingCertificate | None:
        """What is stored; when that is no good what this replica serves, if that is: the others then stay trusted."""
        known = self._known
        is_stored_good = stored is not None and not self._fault(stored, now)
        return stored if is_stored_good or known is None or self._fault(known, now) else known

    def _fault(self, certificate: ServingCertificate, now: datetime) -> str:
        return fault_of(certificate.serving, certificate.authorities, self._hosts, now)

    async def _read(self) -> StoredSecret | None:
        try:
            secret = await self._client.get(SECRETS, self._name, self._namespace, view=StoredSecret)
        except NotFound:
            return None
        self._refuse_foreign(secret.metadata)
        return secret

    def _refuse_foreign(self, metadata: ObjectMeta) -> None:
        if metadata.labels.get(MANAGED_BY) == OWNER:
            return
        maker = "cert-manager's" if "cert-manager.io/certificate-name" in metadata.annotations else "not created by this operator"
        raise SecretProblem(
            f"Secret {self._namespace}/{self._name} is {maker} (no label {MANAGED_BY}={OWNER}); it is left as it is.",
            "Mount it and name the directory with --webhook-cert-dir, or name another with --webhook-secret, or delete it.",
        )

    def _parsed(self, secret: StoredSecret) -> ServingCertificate | None:
        """None when it holds nothing that could be used."""
        data = secret.data or {}
        try:
            content = {field: base64.b64decode(text, validate=True) for field, text in data.items()}
            serving = _pair(content, FIELDS)
            if serving is None or AUTHORITIES not in content:
                raise ValueError(f"{', '.join([*FIELDS.values(), AUTHORITIES])} are not all there")
        except (ValueError, binascii.Error) as error:
            log.warning("Secret %s/%s is damaged and will be replaced: %s", self._namespace, self._name, error)
            return None
        return ServingCertificate(serving=serving, authorities=content[AUTHORITIES], staged=_pair(content, STAGED_FIELDS))

    async def _write(self, secret: StoredSecret | None, desired: ServingCertificate) -> None:
        data = _encoded(desired)
        if secret is None:
            metadata = {"name": self._name, "namespace": self._namespace, "labels": {MANAGED_BY: OWNER}}
            body = SECRETS.typed({"metadata": metadata, "type": TYPE, "data": data})
            # Applied, not posted: the role then can name the one Secret that may be created.
            await self._client.apply(SECRETS, body, force=False, field_manager=self._creator)
            return
        version = {"uid": secret.metadata.uid, "resourceVersion": secret.metadata.resource_version}
        dropped = dict.fromkeys(secret.data or {})
        await self._client.patch(SECRETS, self._name, self._namespace, {"metadata": version, "data": {**dropped, **data}})


def _pair(content: dict[str, bytes], fields: dict[str, str]) -> KeyPair | None:
    certificate, key = (content.get(field, b"") for field in fields.values())
    return KeyPair(certificate, key) if certificate and key else None


def _encoded(desired: ServingCertificate) -> dict[str, str]:
    content = {
        FIELDS["certificate"]: desired.serving.certificate,
        FIELDS["key"]: desired.serving.key,
        AUTHORITIES: desired.authorities,
    }
    if desired.staged:
        content |= {STAGED_FIELDS["certificate"]: desired.staged.certificate, STAGED_FIELDS["key"]: desired.staged.key}
    return {field: base64.b64encode(text).decode() for field, text in content.items()}
