"""Authorization of the node's HTTPS server: a guard decides about each request.

On the embedded cluster every authenticated user is an administrator. On any other cluster the API server is asked, as kubelet's
webhook mode does: TokenReview says who a token belongs to, SubjectAccessReview whether they may use `nodes/proxy` or
`nodes/stats` of this node.
Source: kubelet 1.36 `pkg/kubelet/server/auth.go` and its cache times.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from shunter.api.meta import Json
from shunter.api.resources import NODES
from shunter.kube.client import Client
from shunter.kube.errors import ApiError
from shunter.kube.reviews import Reviewer, User
from shunter.kube.tls.certificate_user import user_and_groups
from shunter.kube.tls.certificates import KeyPair

TOKEN_SECONDS = 120.0
ALLOWED_SECONDS = 300.0
DENIED_SECONDS = 30.0
_VERBS = {"POST": "create", "GET": "get", "HEAD": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_PROXY = "proxy"
"""What logs, exec, attach and port forwarding are to kubelet's authorization."""


class AccessRequest(NamedTuple):
    """The credentials and target of a request: `certificate` is verified (from `ssl.getpeercert()`), `token` is an unverified
    bearer token, `subresource` the requested subresource of the node."""

    method: str
    certificate: Mapping[str, Any] | None
    token: str
    subresource: str = _PROXY


class Refusal(NamedTuple):
    """An HTTP status and its message."""

    status: int
    message: str


UNAUTHORIZED = Refusal(401, "Unauthorized")


class Guard(Protocol):
    """Decides about requests."""

    async def refusal(self, request: AccessRequest) -> Refusal | None:
        """Why a request is not allowed; None when it is."""


class KubeletAccess(NamedTuple):
    """The server's certificate, the authority whose client certificates it takes (PEM; empty takes none), and its guard."""

    serving: KeyPair
    client_ca: bytes
    guard: Guard


class CredentialGuard:
    """Allows every request with a client certificate of the authority or one of these tokens."""

    def __init__(self, tokens: frozenset[str] = frozenset()) -> None:
        self._tokens = [token.encode() for token in tokens]

    async def refusal(self, request: AccessRequest) -> Refusal | None:
        """Status 401 without valid credentials, whatever the request."""
        token = request.token.encode(errors="surrogateescape")
        is_valid = request.certificate or any(hmac.compare_digest(token, one) for one in self._tokens)
        return None if is_valid else UNAUTHORIZED


class ReviewGuard:
    """Allows what the API server's authorizers allow; remembers its answers for a while."""

    def __init__(self, client: Client, node: str) -> None:
        self._node = node
        self._reviewer = Reviewer(
            client, token_seconds=TOKEN_SECONDS, allowed_seconds=ALLOWED_SECONDS, denied_seconds=DENIED_SECONDS
        )

    async def refusal(self, request: AccessRequest) -> Refusal | None:
        """Status 401 without valid credentials, 403 for a denied request, and 500 where the API server does not answer. A
        certificate takes precedence over a token."""
        try:
            user = user_of_certificate(request.certificate or {})
            if user is None and request.token:
                user = await self._reviewer.user(request.token)
            if user is None:
                return UNAUTHORIZED
            verb, wanted = _VERBS.get(request.method, ""), request.subresource
            if await self._reviewer.allows(user, node_access(verb, self._node, wanted)):
                return None
        except ApiError as error:
            return Refusal(500, f"the authorization request to the API server failed: {error.message}")
        return Refusal(403, f"Forbidden (user={user.name}, verb={verb}, resource=nodes, subresource(s)=[{wanted}])\n")


def user_of_certificate(certificate: Mapping[str, Any]) -> User | None:
    """The user that a certificate names; None without a name."""
    name, groups = user_and_groups(certificate)
    return User(name, groups=groups) if name else None


def subresource(path: str) -> str:
    """The subresource of the node for a path of its server."""
    return "stats" if path.startswith("/stats/") else _PROXY


def node_access(verb: str, node: str, wanted: str) -> Json:
    """The attributes of a SubjectAccessReview for the use of a node's server."""
    resource = {"verb": verb, "version": NODES.version, "resource": NODES.plural, "subresource": wanted, "name": node}
    return {"resourceAttributes": resource}
