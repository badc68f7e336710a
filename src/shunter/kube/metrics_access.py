"""Who may read metrics: whom the API server lets `get` the path, as controller-runtime's filter asks it."""

from __future__ import annotations

from shunter.kube.client import Client
from shunter.kube.errors import ApiError
from shunter.kube.health import Answer
from shunter.kube.http.request import Request, bearer_token
from shunter.kube.reviews import Reviewer

SECONDS = 60.0
"""For which an answer of the API server is good."""

_UNAUTHORIZED = Answer(401, "Unauthorized\n")


class MetricsAccess:
    """A `Guard` of an EndpointServer."""

    def __init__(self, client: Client) -> None:
        self._reviewer = Reviewer(client, token_seconds=SECONDS, allowed_seconds=SECONDS, denied_seconds=SECONDS)

    async def refusal(self, request: Request) -> Answer | None:
        """None if the API server allows the read; else 401 for a missing or invalid token, 403 if it denies, 500 if it fails."""
        token = bearer_token(request.headers.get("authorization", ""))
        if not token:
            return _UNAUTHORIZED
        try:
            user = await self._reviewer.user(token)
            if user is None:
                return _UNAUTHORIZED
            attributes = {"nonResourceAttributes": {"path": request.path, "verb": request.method.lower()}}
            if await self._reviewer.allows(user, attributes):
                return None
        except ApiError as error:
            return Answer(500, f"The token review by the API server failed: {error.message}\n")
        return Answer(403, f"Authorization denied for user {user.name}\n")
