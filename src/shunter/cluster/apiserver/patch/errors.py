"""Why a patch was refused: a Status with kube-apiserver's code and words."""

from __future__ import annotations

from shunter.api.meta import Json
from shunter.cluster.apiserver.status import StatusError


class PatchError(StatusError):
    """The patch cannot be read, or does not apply. `why` says it where kube-apiserver keeps it from the client."""

    def __init__(self, code: int, reason: str, message: str, details: Json | None = None, *, why: str = "") -> None:
        super().__init__(code, reason, message, details)
        self.why = why or message


class FailedTestError(PatchError):
    """A test in a JSON patch that the object does not pass."""


def malformed(message: str) -> PatchError:
    """400: no patch of its format."""
    return PatchError(400, "BadRequest", message)


def inapplicable(why: str, of: type[PatchError] = PatchError) -> PatchError:
    """422: a patch that this object does not take. The original answers all of them with one text."""
    return of(422, "Invalid", "the server rejected our request due to an error in our request", {}, why=why)


def unexpected(message: str) -> PatchError:
    """500: what the original did not think of."""
    return PatchError(500, "", message)
