"""Parses the answer of a webhook: an AdmissionReview of version v1 for this request, each field of its type.

Anything else is an error. Source: k8s.io/apiserver `admission/plugin/webhook/request`, also for the messages.
"""

from __future__ import annotations

import base64
import binascii
from typing import Annotated

import msgspec

from shunter.api.formats.go_values import go_quoted
from shunter.api.meta import Json, without_nulls
from shunter.api.resources import Resource
from shunter.cluster.apiserver.admission.webhook_calls import CallError
from shunter.cluster.apiserver.decoding import conversion_fault
from shunter.cluster.apiserver.status import StatusError

_REVIEWS = Resource("admission.k8s.io", "v1", "AdmissionReview", "admissionreviews")
_CODES = range(400, 600)
"""The codes of HTTP errors, which a denial may have."""


class _Cause(msgspec.Struct, rename="camel"):
    reason: str | None = None
    message: str | None = None
    field: str | None = None


class _Details(msgspec.Struct, rename="camel"):
    name: str | None = None
    group: str | None = None
    kind: str | None = None
    uid: str | None = None
    causes: list[_Cause] | None = None
    retry_after_seconds: Annotated[int, msgspec.Meta(ge=-(2**31), lt=2**31)] | None = None


class _Status(msgspec.Struct, rename="camel"):
    code: Annotated[int, msgspec.Meta(ge=-(2**31), lt=2**31)] | None = None
    reason: str | None = None
    message: str | None = None
    status: str | None = None
    details: _Details | None = None


class _Response(msgspec.Struct, rename="camel"):
    uid: str | None = None
    allowed: bool | None = None
    status: _Status | None = None
    patch: str | None = None
    patch_type: str | None = None
    warnings: list[str | None] | None = None
    audit_annotations: dict[str, str | None] | None = None


class _Review(msgspec.Struct, rename="camel"):
    api_version: str | None = None
    kind: str | None = None
    response: _Response | None = None


_decode = msgspec.json.Decoder(_Review).decode


class Answer(msgspec.Struct, frozen=True):
    """A valid answer. `patch` is a JSON patch, empty if the webhook changes nothing."""

    allowed: bool
    patch: bytes
    warnings: list[str]
    status: Json


def answer(status: int, body: bytes, uid: str, *, mutating: bool) -> Answer:
    """The answer to the AdmissionRequest with this uid. Raises CallError."""
    if status != 200 and not (200 < status < 207 and body):
        raise CallError(f"failed to call webhook: {_http_fault(status, body)}")
    review = _review(body)
    response = review.response
    if response is None:
        raise CallError(_invalid("webhook response was absent"))
    if (response.uid or "") != uid:
        raise CallError(_invalid(f'expected response.uid="{uid}", got "{response.uid or ""}"'))
    if (review.api_version, review.kind) != (_REVIEWS.api_version, _REVIEWS.kind):
        raise CallError(_invalid("expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got /, Kind="))
    return Answer(
        allowed=bool(response.allowed),
        patch=_patch(response, mutating=mutating),
        warnings=[warning or "" for warning in response.warnings or ()],
        status=without_nulls(msgspec.to_builtins(response.status)) if response.status else {},
    )


def _invalid(why: str) -> str:
    return f"received invalid webhook response: {why}"


def _review(body: bytes) -> _Review:
    try:
        document = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise CallError(f"failed to call webhook: {_NO_REVIEW}") from None
    if document is None:
        return _Review()
    if not isinstance(document, dict):
        raise CallError(f"failed to call webhook: {_NO_REVIEW.replace('string into', 'array into', 1)}")
    kind, api_version = document.get("kind"), document.get("apiVersion")
    for given, expected in ((kind, _REVIEWS.kind), (api_version, _REVIEWS.api_version)):
        if given and given != expected:
            shown = kind if isinstance(kind, str) else "", api_version if isinstance(api_version, str) else ""
            raise CallError(f"failed to call webhook: {conversion_fault(_REVIEWS, *shown)}")
    try:
        return _decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise CallError(f"failed to call webhook: {error}") from None


def _patch(response: _Response, *, mutating: bool) -> bytes:
    """The patch, decoded; a validating webhook may not send one."""
    try:
        patch = base64.b64decode(response.patch or "", validate=True)
    except (binascii.Error, ValueError) as error:
        raise CallError(f"failed to call webhook: {error}") from None
    if not mutating:
        for name, value in (("patch", patch), ("patchType", response.patch_type)):
            if value:
                raise CallError(_invalid(f"validating webhook may not return response.{name}"))
        return b""
    if patch and response.patch_type is None:
        raise CallError(_invalid("webhook returned response.patch but not response.patchType"))
    if not patch and response.patch_type is not None:
        raise CallError(_invalid("webhook returned response.patchType but not response.patch"))
    if patch and not response.patch_type:
        raise CallError(_invalid(f'webhook returned invalid response.patchType of "{response.patch_type}"'))
    if response.patch_type not in (None, "JSONPatch") and patch.strip() != b"[]":
        raise CallError(f'unsupported patch type "{response.patch_type}"')
    return patch


def refusal(name: str, status: Json) -> StatusError:
    """The error for a denied request; 400 if the webhook's code is no HTTP error."""
    code = status.get("code") or 400
    denied_by = f'admission webhook "{name}" denied the request'
    why = status.get("message") or status.get("reason")
    message = f"{denied_by}: {why}" if why else f"{denied_by} without explanation"
    return StatusError(code if code in _CODES else 400, status.get("reason") or "", message, status.get("details"))


_NO_REVIEW = (
    "couldn't get version/kind; json parse error: json: cannot unmarshal string into Go value of type struct "
    '{ APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
)
_MESSAGES = {
    404: "the server could not find the requested resource",
    429: "the server has received too many requests and has asked us to try again later",
    503: "the server is currently unable to handle the request",
}


def _http_fault(code: int, body: bytes) -> str:
    """client-go's message for an answer that is no success."""
    if code < 300:
        return f"0-length response with status code: {code} and content type: text/plain; charset=utf-8"
    if code < 400:
        return f"the server responded with the status code {code} but did not return more information"
    text = body[:500].decode(errors="replace")
    return _MESSAGES.get(code) or f"an error on the server ({go_quoted(text)}) has prevented the request from succeeding"
