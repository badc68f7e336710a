"""Whether a token lets its bearer report about a job.

It must be a service account's of the job's namespace, meant for this job's status and nothing else, and the API server must say
that it is good (TokenReview): signature, expiry, and that its account still exists. What the token says of itself is looked at
before the API server is asked, so strangers cost it nothing; its answers are remembered for a while. A pod's token is good no
longer than the pod, and for the job that the pod belongs to (`pods`).
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Callable
from typing import NamedTuple

from shunter.api.meta import Json
from shunter.api.resources import TOKEN_REVIEWS
from shunter.kube.client import Client
from shunter.kube.controllers.plan import Key
from shunter.kube.reviews import Pod, ReviewCache, bound_pod, reviewed_user, token_review, unverified_claims
from shunter.operator.trainer.statusserver.place import audience
from shunter.operator.trainer.statusserver.pods import ReportingPods

GOOD_SECONDS = 120.0
BAD_SECONDS = 10.0
MOST_AT_ONCE = 32
"""Reviews in progress."""


class _Bearer(NamedTuple):
    """The valid bearer of a token, and the pod that the token is bound to, if any."""

    pod: Pod | None


class TokenReviewer:
    """Reviews bearer tokens and caches the results; one per replica. `now` returns Unix time."""

    def __init__(self, client: Client, pods: ReportingPods, *, now: Callable[[], float] = time.time) -> None:
        self._client = client
        self._pods = pods
        self._now = now
        self._known: ReviewCache[_Bearer | None] = ReviewCache()
        self._reviews_under_way: dict[bytes, asyncio.Task[_Bearer | None]] = {}
        self._turns = asyncio.Semaphore(MOST_AT_ONCE)

    async def may_report(self, token: str, namespace: str, name: str) -> bool:
        """Raises ApiError when the API server cannot be asked."""
        expected_audience = audience(namespace, name)
        if not could_be_good(unverified_claims(token), namespace, expected_audience, self._now()):
            return False
        digest = hashlib.sha256(f"{expected_audience} {token}".encode()).digest()
        known = self._known.get(digest)
        bearer = known[0] if known is not None else await self._shared_review(digest, token, namespace, expected_audience)
        if bearer is None or bearer.pod is None:
            return bearer is not None
        return await self._pods.may_report(bearer.pod, Key(namespace, name))

    async def _shared_review(self, digest: bytes, token: str, namespace: str, expected_audience: str) -> _Bearer | None:
        review = self._reviews_under_way.get(digest)
        if review is None:
            review = self._reviews_under_way[digest] = asyncio.create_task(
                self._review(digest, token, namespace, expected_audience)
            )
            review.add_done_callback(lambda _: self._reviews_under_way.pop(digest))
        # A client that disconnects must not cancel the review for the others that wait for it.
        return await asyncio.shield(review)

    async def _review(self, digest: bytes, token: str, namespace: str, expected_audience: str) -> _Bearer | None:
        async with self._turns:
            answer = await self._client.create(TOKEN_REVIEWS, token_review(token, [expected_audience]))
        status = answer.get("status") or {}
        bearer = _Bearer(bound_pod(status, namespace)) if is_reporter(status, namespace, expected_audience) else None
        self._known.put(digest, bearer, GOOD_SECONDS if bearer else BAD_SECONDS)
        return bearer


def could_be_good(claims: Json, namespace: str, expected_audience: str, now: float) -> bool:
    """Whether the unverified claims of a token (audience, expiry, namespace) allow it to be valid."""
    audiences, expiry, ours = claims.get("aud"), claims.get("exp"), claims.get("kubernetes.io")
    return (
        (expected_audience in audiences if isinstance(audiences, list) else expected_audience == audiences)
        and isinstance(expiry, int | float)
        and expiry > now
        and isinstance(ours, dict)
        and ours.get("namespace") == namespace
    )


def is_reporter(status: Json, namespace: str, expected_audience: str) -> bool:
    """Whether a TokenReview accepts the token. A status without audiences is from a server that did not check them."""
    user = reviewed_user(status)
    is_account = user is not None and user.name.startswith(f"system:serviceaccount:{namespace}:")
    return is_account and expected_audience in (status.get("audiences") or ())
