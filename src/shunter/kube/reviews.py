"""Asking an API server about the bearer token of another client: whose it is, and what they may do."""

from __future__ import annotations

import base64
import time
from collections.abc import Hashable, Sequence
from typing import Generic, NamedTuple, TypeVar

import msgspec

from shunter.api.meta import Json
from shunter.api.resources import SUBJECT_ACCESS_REVIEWS, TOKEN_REVIEWS
from shunter.kube.client import Client

_CACHE_SIZE = 4096

V = TypeVar("V")


class User(NamedTuple):
    """A user as the API server identifies one."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()


class Pod(NamedTuple):
    """The pod that a token is bound to."""

    namespace: str
    name: str
    uid: str


def bound_pod(status: Json, namespace: str) -> Pod | None:
    """The pod that a TokenReview found the token bound to, which is of its account's namespace; None for a token of none."""
    extra = (status.get("user") or {}).get("extra") or {}
    name, uid = (next(iter(extra.get(f"authentication.kubernetes.io/pod-{field}") or ()), "") for field in ("name", "uid"))
    return Pod(namespace, name, uid) if name and uid else None


def token_review(token: str, audiences: Sequence[str] = ()) -> Json:
    """The TokenReview that asks whose token it is; without audiences it must be meant for the API server itself."""
    spec: Json = {"token": token, **({"audiences": list(audiences)} if audiences else {})}
    return TOKEN_REVIEWS.typed({"spec": spec})


def reviewed_user(status: Json) -> User | None:
    """The user that a TokenReview found; None for an invalid token."""
    user = status.get("user") or {}
    if not status.get("authenticated") or not user.get("username"):
        return None
    return User(user["username"], user.get("uid", ""), tuple(user.get("groups") or ()))


def access_review(user: User, attributes: Json) -> Json:
    """The SubjectAccessReview that asks whether a user may do this; `attributes` is `resourceAttributes` or
    `nonResourceAttributes` with its key."""
    spec = {"user": user.name, "uid": user.uid, "groups": list(user.groups), **attributes}
    return SUBJECT_ACCESS_REVIEWS.typed({"spec": spec})


def unverified_claims(token: str) -> Json:
    """What a JSON web token says of itself; its signature is not checked here. Empty for what is none, also for one that is
    nested without end."""
    try:
        body = token.split(".")[1]
        claims = msgspec.json.decode(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
    except (IndexError, ValueError, RecursionError):
        return {}
    return claims if isinstance(claims, dict) else {}


class ReviewCache(Generic[V]):
    """A cache of answers with a time to live. `get` returns a tuple, since an answer may be None."""

    def __init__(self) -> None:
        self._answers: dict[Hashable, tuple[float, V]] = {}

    def get(self, key: Hashable) -> tuple[V] | None:
        """A tuple of the answer; None where there is none that is still good."""
        found = self._answers.get(key)
        return (found[1],) if found is not None and found[0] > time.monotonic() else None

    def put(self, key: Hashable, answer: V, seconds: float) -> None:
        """Keeps the answer for so many seconds. If the cache is full, expired answers are dropped, then the oldest."""
        if len(self._answers) >= _CACHE_SIZE:
            now = time.monotonic()
            self._answers = {key: kept for key, kept in self._answers.items() if kept[0] > now}
            while len(self._answers) >= _CACHE_SIZE:
                del self._answers[next(iter(self._answers))]
        self._answers[key] = (time.monotonic() + seconds, answer)


class Reviewer:
    """Asks the API server whose a token is and what users may do, and remembers its answers for so many seconds."""

    def __init__(self, client: Client, *, token_seconds: float, allowed_seconds: float, denied_seconds: float) -> None:
        self._client = client
        self._token_seconds = token_seconds
        self._allowed_seconds = allowed_seconds
        self._denied_seconds = denied_seconds
        self._users: ReviewCache[User | None] = ReviewCache()
        self._decisions: ReviewCache[bool] = ReviewCache()

    async def user(self, token: str) -> User | None:
        """The user of the token; None for an invalid one. Raises ApiError."""
        known = self._users.get(token)
        if known is not None:
            return known[0]
        answer = await self._client.create(TOKEN_REVIEWS, token_review(token), view=dict)
        user = reviewed_user(answer.get("status") or {})
        self._users.put(token, user, self._token_seconds)
        return user

    async def allows(self, user: User, attributes: Json) -> bool:
        """Whether the user may do this; `attributes` as for `access_review`. Raises ApiError."""
        review = access_review(user, attributes)
        key = msgspec.json.encode(review)
        known = self._decisions.get(key)
        if known is not None:
            return known[0]
        answer = await self._client.create(SUBJECT_ACCESS_REVIEWS, review, view=dict)
        is_allowed = bool((answer.get("status") or {}).get("allowed"))
        self._decisions.put(key, is_allowed, self._allowed_seconds if is_allowed else self._denied_seconds)
        return is_allowed
