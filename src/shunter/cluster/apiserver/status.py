"""Refusals as kube-apiserver words them: one exception that carries a `Status`, and a maker for each reason.

Sources: k8s.io/apimachinery `api/errors`; every text here was seen in answers of a real kube-apiserver 1.36.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from shunter.api.field_errors import FieldError, aggregate
from shunter.api.formats.go_values import go_quoted
from shunter.api.meta import Json
from shunter.api.resources import Resource


class StatusError(Exception):
    """A refusal; `status()` is the body of the answer, `code` its HTTP status."""

    def __init__(self, code: int, reason: str, message: str, details: Json | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details

    def status(self) -> Json:
        """The Status object as JSON. An empty reason and absent details are left out, but not empty details."""
        body: Json = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": self.message}
        if self.reason:
            body["reason"] = self.reason
        if self.details is not None:
            body["details"] = self.details
        body["code"] = self.code
        return body

    @property
    def retry_after(self) -> int | None:
        """Seconds for the `Retry-After` header."""
        seconds: int | None = (self.details or {}).get("retryAfterSeconds")
        return seconds


def quoted(texts: Iterable[str]) -> str:
    """A list of texts as Go prints it."""
    return f"[{' '.join(map(go_quoted, texts))}]"


def qualified_kind(resource: Resource) -> str:
    """`Pod`, `Job.batch`: how messages name a kind."""
    return f"{resource.kind}.{resource.group}" if resource.group else resource.kind


def _details(resource: Resource, name: str, kind: str | None = None) -> Json:
    details: Json = {}
    if name:
        details["name"] = name
    if resource.group:
        details["group"] = resource.group
    details["kind"] = kind or resource.plural
    return details


def bad_request(message: str) -> StatusError:
    """HTTP 400, without details."""
    return StatusError(400, "BadRequest", message)


def unauthorized() -> StatusError:
    """HTTP 401; the text does not say whether credentials are missing or wrong."""
    return StatusError(401, "Unauthorized", "Unauthorized")


def not_found(resource: Resource, name: str) -> StatusError:
    """HTTP 404: `jobs.batch "train" not found`."""
    return StatusError(404, "NotFound", f'{resource.full_name} "{name}" not found', _details(resource, name))


def already_exists(resource: Resource, name: str) -> StatusError:
    """HTTP 409 of a create: `jobs.batch "train" already exists`."""
    return StatusError(409, "AlreadyExists", f'{resource.full_name} "{name}" already exists', _details(resource, name))


MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"


def conflict(resource: Resource, name: str, why: str = MODIFIED) -> StatusError:
    """HTTP 409 with the reason Conflict: of an update of what has changed meanwhile, unless `why` says otherwise."""
    message = f'Operation cannot be fulfilled on {resource.full_name} "{name}": {why}'
    return StatusError(409, "Conflict", message, _details(resource, name))


def precondition_failed(resource: Resource, name: str, why: str) -> StatusError:
    """A DELETE whose precondition does not hold; unlike `conflict` it names the kind, as the original does."""
    message = f'Operation cannot be fulfilled on {qualified_kind(resource)} "{name}": {why}'
    return StatusError(409, "Conflict", message, _details(resource, name, resource.kind))


def forbidden(resource: Resource, name: str, why: str, causes: Sequence[Json] = ()) -> StatusError:
    """HTTP 403 of admission and the like; that of a missing permission is `auth.authz.forbidden`. An empty name is left out."""
    what = f'{resource.full_name} "{name}"' if name else resource.full_name
    details = _details(resource, name)
    if causes:
        details["causes"] = list(causes)
    return StatusError(403, "Forbidden", f"{what} is forbidden: {why}", details)


def invalid(group: str, kind: str, name: str, errors: list[FieldError]) -> StatusError:
    """422 with one cause per fault."""
    what = f"{kind}.{group}" if group else kind
    details: Json = {"name": name} if name else {}
    if group:
        details["group"] = group
    if kind:
        details["kind"] = kind
    details["causes"] = [{"reason": e.reason, "message": e.body, "field": e.field} for e in errors]
    return StatusError(422, "Invalid", f'{what} "{name}" is invalid: {aggregate(errors)}', details)


def expired(message: str) -> StatusError:
    """HTTP 410: the requested revision is no longer available."""
    return StatusError(410, "Expired", message)


def no_such_path() -> StatusError:
    """A group that is served, but no such resource or subresource in it."""
    return StatusError(404, "NotFound", "the server could not find the requested resource", {})


def method_not_allowed() -> StatusError:
    """HTTP 405, which does not name the method."""
    return StatusError(405, "MethodNotAllowed", "the server does not allow this method on the requested resource", {})


def crd_terminating(resource: Resource) -> StatusError:
    """Nothing is created of a custom kind whose CRD is being deleted."""
    message = "create not allowed while custom resource definition is terminating"
    return StatusError(405, "MethodNotAllowed", message, {"group": resource.group, "kind": resource.plural})


def unsupported_body(accepted: Sequence[str]) -> StatusError:
    """HTTP 415 that lists the accepted media types; what was sent is not named."""
    listed = ", ".join(accepted)
    message = f"the body of the request was in an unknown format - accepted media types include: {listed}"
    return StatusError(415, "UnsupportedMediaType", message)


def unsupported_patch() -> StatusError:
    """HTTP 415 for a media type that is no patch, without a list of those that are."""
    return StatusError(415, "UnsupportedMediaType", "415: Unsupported Media Type", {})


def not_acceptable(available: Sequence[str]) -> StatusError:
    """HTTP 406 for an `Accept` header without a form that can be given; `available` lists those that can."""
    return StatusError(406, "NotAcceptable", "406: Not Acceptable\n\nAvailable representations: " + ", ".join(available), {})


def revision_too_large(asked: int, current: int) -> StatusError:
    """HTTP 504, to be tried again after 1 second: the client asks for a revision that is not reached yet."""
    details: Json = {
        "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
        "retryAfterSeconds": 1,
    }
    return StatusError(504, "Timeout", f"Timeout: Too large resource version: {asked}, current: {current}", details)


def too_large(limit: int) -> StatusError:
    """HTTP 413 for a request body; the limit is in bytes."""
    return StatusError(413, "RequestEntityTooLarge", f"Request entity too large: limit is {limit}")


def insufficient_storage(message: str) -> StatusError:
    """Not an answer of the original: etcd without room is an internal error there."""
    return StatusError(507, "InsufficientStorage", message)


def internal(message: str) -> StatusError:
    """HTTP 500; the message is its only cause, too."""
    return StatusError(500, "InternalError", f"Internal error occurred: {message}", {"causes": [{"message": message}]})


def plain(code: int, message: str) -> StatusError:
    """The few refusals of the original that have no reason."""
    return StatusError(code, "", message)


def success(details: Json) -> Json:
    """The body of an answer without an object, such as that of a deletion; `details` say of what."""
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}


def created() -> Json:
    """What binding and eviction answer with 201."""
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}
