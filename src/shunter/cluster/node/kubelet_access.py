"""Who may use the node's HTTPS server: a guard decides about each request.

On the embedded cluster everybody who is known is an administrator. On any other cluster the API server is asked, as kubelet's
webhook mode does: TokenReview says who a token belongs to, SubjectAccessReview whether they may use `nodes/proxy` of this node.
Source: kubelet 1.36 `pkg/kubelet/server/auth.go` and its cache times.
"""

from __future__ import annotations

import hmac
import time
from collections.abc import Hashable, Mapping
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from shunter.api.meta import Json
from shunter.api.resources import NODES, SUBJECT_ACCESS_REVIEWS, TOKEN_REVIEWS
from shunter.kube.certificates import KeyPair
from shunter.kube.client import Client
from shunter.kube.errors import ApiError

TOKEN_SECONDS = 120.0
ALLOWED_SECONDS = 300.0
DENIED_SECONDS = 30.0
_CACHE_SIZE = 1000
_VERBS = {"POST": "create", "GET": "get", "HEAD": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_SUBRESOURCE = "proxy"
"""What logs, exec, attach and port forwarding are to kubelet's authorization: all that this server has."""

V = TypeVar("V")


class Approach(NamedTuple):
    """Who stands behind a request, as far as they showed it: `certificate` is a verified one as `ssl.getpeercert()` shows it,
    `token` a bearer token that nobody has looked at yet."""

    method: str
    certificate: Mapping[str, Any] | None
    token: str


class Refusal(NamedTuple):
    """An HTTP status and the words that go with it."""

    status: int
    message: str


UNAUTHORIZED = Refusal(401, "Unauthorized")


class Guard(Protocol):
    """Decides about requests."""

    async def refusal(self, approach: Approach) -> Refusal | None:
        """Why a request is not allowed; None when it is."""


class KubeletAccess(NamedTuple):
    """The server's certificate, the authority whose client certificates it takes (PEM; empty takes none), and its guard."""

    serving: KeyPair
    client_ca: bytes
    guard: Guard


class KnownCallers:
    """Allows everything to whoever has a client certificate of the authority or one of these tokens."""

    def __init__(self, tokens: frozenset[str] = frozenset()) -> None:
        self._tokens = [token.encode() for token in tokens]

    async def refusal(self, approach: Approach) -> Refusal | None:
        shown = approach.token.encode(errors="surrogateescape")
        known = approach.certificate or any(hmac.compare_digest(shown, token) for token in self._tokens)
        return None if known else UNAUTHORIZED


class User(NamedTuple):
    """Somebody the API server may be asked about."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()


class ReviewedCallers:
    """Allows what the API server's authorizers allow; remembers its answers for a while."""

    def __init__(self, client: Client, node: str) -> None:
        self._client = client
        self._node = node
        self._users: _Cache[User | None] = _Cache()
        self._decisions: _Cache[bool] = _Cache()

    async def refusal(self, approach: Approach) -> Refusal | None:
        try:
            user = user_of_certificate(approach.certificate or {}) or await self._user_of_token(approach.token)
            if user is None:
                return UNAUTHORIZED
            verb = _VERBS.get(approach.method, "")
            if await self._is_allowed(user, verb):
                return None
        except ApiError as error:
            return Refusal(500, f"the API server could not be asked about this request: {error.message}")
        return Refusal(403, f"Forbidden (user={user.name}, verb={verb}, resource=nodes, subresource(s)=[{_SUBRESOURCE}])\n")

    async def _user_of_token(self, token: str) -> User | None:
        if not token:
            return None
        known = self._users.get(token)
        if known is not None:
            return known[0]
        review = {"apiVersion": TOKEN_REVIEWS.api_version, "kind": TOKEN_REVIEWS.kind, "spec": {"token": token}}
        answer = await self._client.create(TOKEN_REVIEWS, review, view=dict)
        user = reviewed_user(answer.get("status") or {})
        self._users.put(token, user, TOKEN_SECONDS)
        return user

    async def _is_allowed(self, user: User, verb: str) -> bool:
        known = self._decisions.get((user, verb))
        if known is not None:
            return known[0]
        answer = await self._client.create(SUBJECT_ACCESS_REVIEWS, access_review(user, verb, self._node), view=dict)
        allowed = bool((answer.get("status") or {}).get("allowed"))
        self._decisions.put((user, verb), allowed, ALLOWED_SECONDS if allowed else DENIED_SECONDS)
        return allowed


def user_of_certificate(certificate: Mapping[str, Any]) -> User | None:
    """The common name is the user, the organizations are the groups; None without a common name."""
    names = [pair for attributes in certificate.get("subject", ()) for pair in attributes]
    name = next((value for key, value in names if key == "commonName"), "")
    groups = tuple(value for key, value in names if key == "organizationName")
    return User(name, groups=(*groups, "system:authenticated")) if name else None


def reviewed_user(status: Json) -> User | None:
    """Whom a TokenReview found; None for a token that is not good."""
    user = status.get("user") or {}
    if not status.get("authenticated") or not user.get("username"):
        return None
    return User(user["username"], user.get("uid", ""), tuple(user.get("groups") or ()))


def access_review(user: User, verb: str, node: str) -> Json:
    """The SubjectAccessReview that asks whether a user may use a node's server."""
    return {
        "apiVersion": SUBJECT_ACCESS_REVIEWS.api_version,
        "kind": SUBJECT_ACCESS_REVIEWS.kind,
        "spec": {
            "user": user.name,
            "uid": user.uid,
            "groups": list(user.groups),
            "resourceAttributes": {
                "verb": verb,
                "version": NODES.version,
                "resource": NODES.plural,
                "subresource": _SUBRESOURCE,
                "name": node,
            },
        },
    }


class _Cache(Generic[V]):
    """Answers that are good for a while. `get` gives a tuple, since an answer may be None."""

    def __init__(self) -> None:
        self._answers: dict[Hashable, tuple[float, V]] = {}

    def get(self, key: Hashable) -> tuple[V] | None:
        found = self._answers.get(key)
        return (found[1],) if found is not None and found[0] > time.monotonic() else None

    def put(self, key: Hashable, answer: V, seconds: float) -> None:
        if len(self._answers) >= _CACHE_SIZE:
            now = time.monotonic()
            self._answers = {key: kept for key, kept in self._answers.items() if kept[0] > now}
            while len(self._answers) >= _CACHE_SIZE:
                del self._answers[next(iter(self._answers))]
        self._answers[key] = (time.monotonic() + seconds, answer)
