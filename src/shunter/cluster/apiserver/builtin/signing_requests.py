"""CertificateSigningRequests: who makes one, what of it is ever changed, and the way it is approved.

Source: k8s.io/kubernetes 1.36 `registry/certificates/certificates`; the admission plugin CertificateSubjectRestriction.
"""

from __future__ import annotations

import base64
from datetime import UTC, datetime

from shunter.api.meta import Json, rfc3339
from shunter.api.names import path_segment_faults
from shunter.api.resources import CERTIFICATE_SIGNING_REQUESTS
from shunter.cluster.apiserver.builtin.rules.signing_requests import DECISIONS, request_errors, status_errors
from shunter.cluster.apiserver.builtin.typed import typed
from shunter.cluster.apiserver.kinds import Kind, Objects, RejectedError
from shunter.cluster.apiserver.requests import User
from shunter.kube.tls.requests import subject_of

CLIENT_SIGNER = "kubernetes.io/kube-apiserver-client"
_MASTERS = "system:masters"
_OF_THE_USER = ("username", "uid", "groups", "extra")


def kind() -> Kind:
    """CertificateSigningRequest, of which nothing but metadata, conditions and the certificate changes."""
    return typed(
        CERTIFICATE_SIGNING_REQUESTS,
        short_names=("csr",),
        has_status=True,
        selectable_fields=("spec.signerName",),
        prepare=_prepare,
        made_by=_made_by,
        validate=request_errors,
        name_faults=path_segment_faults,
        review=_review,
        prepare_status=_prepare_status,
        validate_status=status_errors,
        tracks_generation=False,
    )


def take_only_approval(request: Json, old: Json | None) -> None:
    """Puts back everything of the stored request but its metadata and conditions, in place."""
    assert old is not None, "a subresource is of something that is there"
    _with_times(request, old)
    conditions = (request.get("status") or {}).get("conditions")
    request["spec"] = old["spec"]
    kept = {name: value for name, value in (old.get("status") or {}).items() if name != "conditions"}
    request["status"] = {"conditions": conditions, **kept} if conditions else kept


def _prepare(request: Json, old: Json | None) -> None:
    if old is not None:
        request["spec"] = old["spec"]


def _made_by(request: Json, user: User) -> None:
    spec = request["spec"]
    for name in _OF_THE_USER:
        spec.pop(name, None)
    given = {"username": user.name, "uid": user.uid, "groups": list(user.groups)}
    spec |= {name: value for name, value in given.items() if value}
    if user.extra:
        spec["extra"] = {name: list(values) for name, values in user.extra.items()}


def _review(request: Json, old: Json | None, objects: Objects) -> None:
    """Nobody asks for a certificate of a group that may do everything."""
    spec = request["spec"]
    if old is not None or spec["signerName"] != CLIENT_SIGNER:
        return
    if _MASTERS in subject_of(base64.b64decode(spec["request"])).organizations:
        why = f"use of {CLIENT_SIGNER} signer with {_MASTERS} group is not allowed"
        name = request["metadata"]["name"]
        raise RejectedError(f'{CERTIFICATE_SIGNING_REQUESTS.full_name} "{name}" is forbidden: {why}')


def _prepare_status(request: Json, old: Json | None) -> None:
    assert old is not None, "a status is of something that is there"
    conditions, before = _conditions(request), _conditions(old)
    for decision in DECISIONS:
        kept = [one for one in before if one["type"] == decision]
        places = [at for at, one in enumerate(conditions) if one["type"] == decision]
        if len(kept) == len(places):
            for at, one in zip(places, kept, strict=True):
                conditions[at] = one
    _with_times(request, old)


def _with_times(request: Json, old: Json) -> None:
    """Fills the times that conditions lack, in place: that of a change stays where type and status do."""
    now = rfc3339(datetime.now(UTC))
    for one in _conditions(request):
        if not one.get("lastUpdateTime"):
            one["lastUpdateTime"] = now
        if not one.get("lastTransitionTime"):
            same = [other for other in _conditions(old) if (other["type"], other["status"]) == (one["type"], one["status"])]
            one["lastTransitionTime"] = next((other["lastTransitionTime"] for other in same if other["lastTransitionTime"]), now)


def _conditions(request: Json) -> list[Json]:
    conditions: list[Json] = (request.get("status") or {}).get("conditions") or []
    return conditions
