"""What can go wrong between a client and a Kubernetes API server.

    ShunterError
    +-- ApiError                     the server refused a request, or gave no answer; carries its Status
        +-- BadRequest               400
        +-- Unauthorized             401
        +-- Forbidden                403  no permission, quota exceeded, denied by an admission webhook
        +-- NotFound                 404  no such object, or no such kind
        +-- Conflict                 409  the object is not the one, or not the version, that was meant
        +-- AlreadyExists            409
        +-- Gone                     410  a resourceVersion or continue token is too old
        +-- TooLarge                 413
        +-- UnsupportedMediaType     415
        +-- Invalid                  422  the object breaks rules; `status.details.causes` names the fields
        +-- TooManyRequests          429  `retry_after` says how long to wait
        +-- ServerProblem            5xx  among them an admission webhook that does not answer
        |   +-- ServiceUnavailable   503
        |   +-- ServerTimeout        504
        +-- ConnectionProblem        no answer: refused, reset, timed out, TLS failed. The request may have been carried out.

The message is the server's own, since users know and search for those texts.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from shunter.api.formats.digits import whole_number
from shunter.api.meta import Struct
from shunter.errors import ShunterError


class Cause(Struct, frozen=True):
    """One fault inside an object: `field` is a path such as `spec.replicas`."""

    reason: str = ""
    message: str = ""
    field: str = ""


class Details(Struct, frozen=True):
    """Which object a Status is about."""

    name: str = ""
    group: str = ""
    kind: str = ""
    uid: str = ""
    causes: tuple[Cause, ...] = ()
    retry_after_seconds: int = 0


class Status(Struct, frozen=True):
    """metav1.Status: what an API server answers instead of an object. Code 0 means that no server answered."""

    code: int = 0
    reason: str = ""
    message: str = ""
    details: Details | None = None


class ApiError(ShunterError):
    """The API server did not do what was asked."""

    def __init__(self, status: Status, *, retry_after: float | None = None, remedy: str = "") -> None:
        super().__init__(status.message, remedy)
        self.status = status
        self.retry_after = retry_after
        """Seconds the server asks to wait before the same request is sent again; None when it did not say."""

    @property
    def code(self) -> int:
        """The HTTP status, such as 404; 0 when no server answered."""
        return self.status.code

    @property
    def reason(self) -> str:
        """The server's word for what is wrong, such as `AlreadyExists`; may be empty."""
        return self.status.reason


class BadRequest(ApiError):
    """The request makes no sense to the server."""


class Unauthorized(ApiError):
    """The credentials are missing, wrong or expired."""

    exit_code = 3


class Forbidden(ApiError):
    """Known, but not allowed: permissions, quota or an admission webhook."""


class NotFound(ApiError):
    """There is no such object, or the server does not serve such a kind."""


class Conflict(ApiError):
    """A precondition (resourceVersion, uid, field ownership) does not hold: read again and decide again."""


class AlreadyExists(ApiError):
    """An object of that name already exists."""


class Gone(ApiError):
    """The resourceVersion or continue token is older than what the server remembers: list again."""


class TooLarge(ApiError):
    """The object or the request is larger than the server accepts."""


class UnsupportedMediaType(ApiError):
    """The server does not read this content type."""


class Invalid(ApiError):
    """The object breaks rules of its schema or its kind."""


class TooManyRequests(ApiError):
    """The server is busy; nothing was done."""


class ServerProblem(ApiError):
    """The server failed. A write may have been carried out nevertheless."""


class ServiceUnavailable(ServerProblem):
    """The server, or what it depends on, is not ready."""


class ServerTimeout(ServerProblem):
    """The server gave up waiting."""


class ConnectionProblem(ApiError):
    """No answer came. A write may have been carried out nevertheless."""

    exit_code = 3

    def __init__(self, message: str, *, remedy: str = "") -> None:
        super().__init__(Status(reason="ConnectionProblem", message=message), remedy=remedy)


PASSING = (ConnectionProblem, ServerProblem, TooManyRequests)
"""No answer, or none that says anything of the object: the next one may."""

_BY_CODE: dict[int, type[ApiError]] = {
    400: BadRequest,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Gone,
    413: TooLarge,
    415: UnsupportedMediaType,
    422: Invalid,
    429: TooManyRequests,
    503: ServiceUnavailable,
    504: ServerTimeout,
}

_LONGEST_TEXT = 500
"""Characters shown of an answer that is not a Status, such as a proxy's error page."""

_status_decoder = msgspec.json.Decoder(Status)


def from_status(status: Status, *, retry_after: float | None = None) -> ApiError:
    """The error of the tree above for a Status."""
    if status.code == 409 and status.reason == "AlreadyExists":
        return AlreadyExists(status)
    kind = _BY_CODE.get(status.code) or (ServerProblem if status.code >= 500 else ApiError)
    if retry_after is None and status.details and status.details.retry_after_seconds:
        retry_after = float(status.details.retry_after_seconds)
    return kind(status, retry_after=retry_after)


def from_answer(method: str, path: str, code: int, headers: Mapping[str, str], body: bytes) -> ApiError:
    """The error for an HTTP answer of 400 and above, whether or not its body is a Status."""
    status = _decoded(body)
    if status is None or not status.message:
        text = body[:_LONGEST_TEXT].decode(errors="replace").strip()
        status = Status(
            code=code, reason=status.reason if status else "", message=f"{method} {path} was answered {code}: {text or 'no text'}"
        )
    if status.code != code:
        status = msgspec.structs.replace(status, code=code)
    return from_status(status, retry_after=whole_number(headers.get("retry-after", "")))


def _decoded(body: bytes) -> Status | None:
    try:
        return _status_decoder.decode(body)
    except msgspec.DecodeError:
        return None
