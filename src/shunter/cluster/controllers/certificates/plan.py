"""One look at a CertificateSigningRequest: the certificate, or why there is none, or its removal.

Pure but for the serial number and the signature of a certificate, which are random.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from datetime import datetime, timedelta

import msgspec

from shunter.api.formats.times import moment
from shunter.api.meta import Json, rfc3339
from shunter.api.resources import CERTIFICATE_SIGNING_REQUESTS
from shunter.cluster.controllers.certificates.signers import FAULTS
from shunter.cluster.controllers.certificates.views import SigningRequest
from shunter.kube.controllers.plan import NOTHING, Delete, Plan, Ref, StatusWrite
from shunter.kube.tls.certificates import KeyPair, expires_at
from shunter.kube.tls.requests import signed, subject_of

LONGEST = timedelta(days=365)
SHORTEST = timedelta(minutes=10)
AFTER_DECISION = timedelta(hours=1)
"""How long a request stays that was signed, denied or failed."""
WITHOUT_END = timedelta(hours=24)
"""How long one stays that nobody decides on, or that is approved and not signed."""


class Observed(msgspec.Struct, frozen=True, kw_only=True):
    """A request, and the authority that signs; None signs nothing."""

    request: SigningRequest
    authority: KeyPair | None = None


def plan(observed: Observed, now: datetime) -> Plan:
    """What the controller writes now, and when it looks again."""
    request = observed.request
    ref = Ref.of(CERTIFICATE_SIGNING_REQUESTS, request.metadata)
    end = min(ends(request), default=None)
    if end is not None and end < now:
        return Plan(writes=(Delete(ref=ref),))
    if observed.authority is not None and _is_to_be_signed(request):
        desired = {**request.status, **_answer(request, observed.authority, now)}
        return Plan(status=StatusWrite.over(CERTIFICATE_SIGNING_REQUESTS, request.metadata, request.status, desired))
    return NOTHING if end is None else Plan(requeue_after=(end - now).total_seconds() + 1)


def ends(request: SigningRequest) -> Iterator[datetime]:
    """The times from which on the request is of no use any more."""
    created = request.metadata.creation_timestamp
    if not request.conditions and created is not None:
        yield created + WITHOUT_END
    for condition in request.conditions:
        changed = moment(condition["lastUpdateTime"]) if condition.get("lastUpdateTime") else None
        kind = condition["type"]
        if changed is not None and kind in ("Approved", "Denied", "Failed"):
            is_open = kind == "Approved" and not request.certificate
            yield changed + (WITHOUT_END if is_open else AFTER_DECISION)
        if kind == "Approved" and request.certificate:
            yield expires_at(base64.b64decode(request.certificate))


def _is_to_be_signed(request: SigningRequest) -> bool:
    is_approved = request.has("Approved") and not request.has("Denied") and not request.has("Failed")
    return is_approved and not request.certificate and request.spec.signer_name in FAULTS


def _answer(request: SigningRequest, authority: KeyPair, now: datetime) -> Json:
    """The part of the status that says how it went."""
    spec = request.spec
    if fault := FAULTS[spec.signer_name](subject_of(spec.request), spec.usages):
        failed = {
            "type": "Failed",
            "status": "True",
            "reason": "SignerValidationFailure",
            "message": fault,
            "lastUpdateTime": rfc3339(now),
        }
        return {"conditions": [*request.conditions, failed]}
    certificate = signed(spec.request, authority, spec.usages, _lifetime(spec.expiration_seconds), now)
    return {"certificate": base64.b64encode(certificate).decode()}


def _lifetime(seconds: int | None) -> timedelta:
    """As long as it asks for, within limits."""
    return LONGEST if seconds is None else max(SHORTEST, min(LONGEST, timedelta(seconds=seconds)))
