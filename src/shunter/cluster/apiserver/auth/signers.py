"""Who may approve and sign requests for certificates: those who have the verb `approve` or `sign` on the request's signer.

Source: k8s.io/kubernetes 1.36 admission plugins CertificateApproval and CertificateSigning, `pkg/certauthorization`.
"""

from __future__ import annotations

from shunter.api.meta import Json
from shunter.api.resources import CERTIFICATE_SIGNING_REQUESTS
from shunter.cluster.apiserver.auth.authz import Authorizer
from shunter.cluster.apiserver.auth.rbac import Action
from shunter.cluster.apiserver.registry import ServedKind
from shunter.cluster.apiserver.requests import Call, User
from shunter.cluster.apiserver.status import forbidden

_VERBS = {"approval": "approve", "status": "sign"}
"""By the subresource that is written."""


def check(authorizer: Authorizer, call: Call, served: ServedKind, document: Json, old: Json) -> None:
    """Raises 403 where the write approves, denies or signs a request of a signer that its user has no right to."""
    verb = _VERBS.get(call.target.subresource)
    if verb is None or served.resource != CERTIFICATE_SIGNING_REQUESTS or call.user.is_admin:
        return
    if verb == "sign" and (document.get("status") or {}) == (old.get("status") or {}):
        return
    signer = old["spec"]["signerName"]
    if not _may(authorizer, call.user, verb, signer):
        raise forbidden(served.resource, call.target.name, f'user not permitted to {verb} requests with signerName "{signer}"')


def _may(authorizer: Authorizer, user: User, verb: str, signer: str) -> bool:
    """By the signer's name, or that of all signers of its domain: `kubernetes.io/*`."""
    names = (signer, f"{signer.partition('/')[0]}/*")
    group = CERTIFICATE_SIGNING_REQUESTS.group
    return any(authorizer.decision(user, Action(verb, group, "signers", name=name)).allowed for name in names)
