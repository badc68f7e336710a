"""Who may read metrics: whom the API server lets `get` the path, as controller-runtime's filter asks it."""

from __future__ import annotations

from shunter.api.resources import SUBJECT_ACCESS_REVIEWS, TOKEN_REVIEWS
from shunter.kube.client import Client
from shunter.kube.errors import ApiError
from shunter.kube.health import Answer
from shunter.kube.http.request import Request
from shunter.kube.reviews import ReviewCache, User, access_review, reviewed_user, token_review

SECONDS = 60.0
"""For which an answer of the API server is good."""

_UNAUTHORIZED = Answer(401, "Unauthorized\n")


class MetricsAccess:
    """A `Guard` of an EndpointServer."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._users: ReviewCache[User | None] = ReviewCache()
        self._decisions: ReviewCache[bool] = ReviewCache()

    async def refusal(self, request: Request) -> Answer | None:
        """None for whom the API server lets read the path. 401 for no token or one that is not good, 403 for whom it does not
        let, 500 where it could not be asked. Its answers are good for `SECONDS`."""
        match request.headers.get("authorization", "").split():
            case [scheme, token] if scheme.lower() == "bearer":
                pass
            case _:
                return _UNAUTHORIZED
        try:
            user = await self._user(token)
            if user is None:
                return _UNAUTHORIZED
            if await self._is_allowed(user, request):
                return None
        except ApiError as error:
            return Answer(500, f"The token review by the API server failed: {error.message}\n")
        return Answer(403, f"Authorization denied for user {user.name}\n")

    async def _user(self, token: str) -> User | None:
        known = self._users.get(token)
        if known is not None:
            return known[0]
        answer = await self._client.create(TOKEN_REVIEWS, token_review(token))
        user = reviewed_user(answer.get("status") or {})
        self._users.put(token, user, SECONDS)
        return user

    async def _is_allowed(self, user: User, request: Request) -> bool:
        asked = (user, request.method, request.path)
        known = self._decisions.get(asked)
        if known is not None:
            return known[0]
        attributes = {"nonResourceAttributes": {"path": request.path, "verb": request.method.lower()}}
        answer = await self._client.create(SUBJECT_ACCESS_REVIEWS, access_review(user, attributes))
        is_allowed = bool((answer.get("status") or {}).get("allowed"))
        self._decisions.put(asked, is_allowed, SECONDS)
        return is_allowed
