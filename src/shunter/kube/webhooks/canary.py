"""Checks that admission requests reach the webhooks, end to end.

A canary is an object that is only ever created in a dry run, with an annotation by which the webhooks know it. The mutating ones
mark it, the validating ones refuse it with words that say so. Whoever reads those words in the API server's answer has seen the
whole way: configuration, Service, certificate, server, and back. Nothing could be stored even if the dry run were not one.
"""

from __future__ import annotations

import secrets
import ssl
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from shunter.api.meta import Json, annotations_of
from shunter.api.resources import Resource
from shunter.kube.client import Client
from shunter.kube.errors import PASSING, ApiError, NotFound
from shunter.kube.http.client import HttpClient
from shunter.kube.http.connection import Origin
from shunter.kube.tls.certificates import verifying
from shunter.kube.webhooks.registration import Configuration
from shunter.kube.webhooks.server import AdmissionRequest, AdmissionResponse, Handler, denied, mutated

ANNOTATION = "shunter.dev/webhook-canary"
MARK = "shunter.dev/webhook-canary-mark"
NAME = "shunter-webhook-canary"
TIMEOUT = 10.0
UNKNOWN_PATH = "the server could not find the requested resource"
"""In the API server's words about a webhook server that answered 404."""
_REFUSED_BY_OTHERS = ("denied the request", "denied request", "is being terminated")
"""In its words about a webhook or policy that is not ours, and a namespace that goes."""


def answering(routes: Mapping[str, Handler], configurations: Sequence[Configuration]) -> Mapping[str, Handler]:
    """The routes, with canaries answered before the functions behind them are asked."""
    mutating = {
        hook.path for configuration in configurations if configuration.kind == "mutating" for hook in configuration.webhooks
    }
    return {path: _answering(handler, _mark if path in mutating else _refuse) for path, handler in routes.items()}


def canary(resource: Resource, namespace: str, spec: Json) -> Json:
    """An object that the webhooks know; `spec` must be good for the kind's schema."""
    metadata = {"name": NAME, "namespace": namespace, "annotations": {ANNOTATION: secrets.token_hex(8)}}
    return resource.typed({"metadata": metadata, "spec": spec})


async def problem_through_api_server(client: Client, resource: Resource, body: Json, *, is_mutated: bool) -> str:
    """Why the API server does not ask the webhooks about this canary, or gets no answer; empty when it does, and when that cannot
    be known: it does not serve the kind, has no such namespace, or others refused the canary, perhaps before the webhooks were
    asked. ApiError when the server itself is in trouble."""
    kind = f"{resource.kind} in namespace {body['metadata']['namespace']}"
    try:
        await client.create(resource, body, dry_run=True)
    except NotFound:
        return ""
    except ApiError as error:
        wanted = _words(body, is_mutated)
        if wanted in error.message:
            return ""
        if _words(body, False) in error.message:
            return f"a new {kind} is not given to the mutating webhooks; are their configurations installed?"
        about_webhook = "failed calling webhook" in error.message
        if not about_webhook and any(words in error.message for words in _REFUSED_BY_OTHERS):
            return ""
        if isinstance(error, PASSING) and not about_webhook:
            raise
        return f"a dry run of a new {kind}: {error.message}"
    return f"a new {kind} is not given to the validating webhooks; are their configurations installed?"


async def problem_on_direct_call(address: tuple[str, int], server_name: str, authorities: bytes, path: str, body: Json) -> str:
    """Why a client that trusts `authorities` gets no answer from the webhook server at this address; else empty."""
    try:
        tls = verifying(authorities)
    except (ValueError, ssl.SSLError):
        return "the caBundle that is registered is no certificate"
    request = {"uid": "canary", "operation": "CREATE", "dryRun": True, "object": body}
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    client = HttpClient(Origin(*address, tls, server_name), connect_seconds=TIMEOUT)
    try:
        headers = [("Content-Type", "application/json")]
        answer = await client.request("POST", path, headers, msgspec.json.encode(review), seconds=TIMEOUT)
    except OSError as error:
        return f"this replica's own server, as {server_name}: {error or type(error).__name__}"
    finally:
        client.close()
    text = answer.body.decode(errors="replace")
    return "" if _words(body, False) in text else f"this replica's own server answered a review with {text[:200]!r}"


def _answering(handler: Handler, answer: Any) -> Handler:
    def handle(request: AdmissionRequest) -> Any:
        return answer(request.object) if request.dry_run and _token(request.object) else handler(request)

    return handle


def _mark(body: Json) -> AdmissionResponse:
    metadata = body["metadata"]
    annotations = {**metadata["annotations"], MARK: metadata["annotations"][ANNOTATION]}
    return mutated(body, {**body, "metadata": {**metadata, "annotations": annotations}})


def _refuse(body: Json) -> AdmissionResponse:
    return denied(_words(body, body["metadata"]["annotations"].get(MARK) == _token(body)), code=422)


def _words(body: Json, is_mutated: bool) -> str:
    return f"webhook canary {_token(body)} was seen{' and marked' if is_mutated else ''}"


def _token(body: Json | None) -> str:
    return annotations_of(body or {}).get(ANNOTATION) or ""
