"""Admission of a write, built-in, by policies and by webhooks: first mutation, then validation."""

from __future__ import annotations

from typing import Any

from shunter.api.meta import Json
from shunter.api.resources import PODS
from shunter.cluster.apiserver.admission import limit_range, quota, runtime_class, service_account
from shunter.cluster.apiserver.admission.attributes import Attributes, Operation
from shunter.cluster.apiserver.admission.webhooks import Webhooks
from shunter.cluster.apiserver.backend import Backend
from shunter.cluster.apiserver.decoding import fill_defaults
from shunter.cluster.apiserver.kinds import MalformedError, RejectedError
from shunter.cluster.apiserver.registry import ServedKind
from shunter.cluster.apiserver.requests import Call, WriteOptions
from shunter.cluster.apiserver.status import StatusError, internal
from shunter.cluster.apiserver.subresources.scales import SCALES, scale_of

_INTERNAL = 500
"""What the server could not decide; no details say about what."""


def attributes_of(
    call: Call, served: ServedKind, operation: Operation, name: str, old: Json | None, options: WriteOptions
) -> Attributes:
    """The attributes of a write, as policies and webhooks see them."""
    target = call.target
    return Attributes(
        operation=operation,
        resource=served.resource,
        options=_sent_options(call),
        subresource=target.subresource,
        namespace=target.namespace,
        name=name,
        old=old,
        user=call.user,
        dry_run=options.dry_run,
        warn=call.warn,
        **_scale_view(served, target.subresource),
    )


def _sent_options(call: Call) -> Json:
    sent: Json = {name: call.query[name] for name in ("fieldManager", "fieldValidation") if call.query.get(name)}
    return {**sent, "dryRun": ["All"]} if call.query.get("dryRun") else sent


def _scale_view(served: ServedKind, subresource: str) -> Json:
    """Webhooks see a Scale when the subresource `scale` is written."""
    paths = served.kind.scale
    if subresource != "scale" or paths is None:
        return {}
    return {"kind": SCALES, "view": lambda document: scale_of(document, paths)}


async def admitted(
    backend: Backend, served: ServedKind, document: Json, old: Json | None, attributes: Attributes, *, status: bool = False
) -> Json:
    """The object after built-in mutating admission and mutating webhooks."""
    kind = served.kind
    if old is None and service_account.NAME not in backend.disabled_plugins:
        await service_account.admit(backend, served, document)
    if not status:
        try:
            kind.admit(document, old, backend.objects)
            if served.resource == PODS and old is None:
                runtime_class.admit(document, backend.objects)
                limit_range.set_defaults(document, backend.objects)
        except RejectedError as rejection:
            shown = attributes.name or document["metadata"].get("generateName", "")
            raise _rejection(served, shown, rejection) from None
    return document if attributes.subresource == "scale" else await _mutated(backend.webhooks, served, document, attributes)


async def _mutated(webhooks: Webhooks, served: ServedKind, document: Json, attributes: Attributes) -> Json:
    """The object after policies and webhooks, and once more those policies that ask for it where something changed."""
    before, policies = document, webhooks.mutating_policies
    has_policies = policies.concern(attributes, document)
    if has_policies:
        document = policies.mutated(served, attributes, document)
    if webhooks.mutating(attributes, document):
        document = await webhooks.mutate(attributes, document)
        try:
            served.kind.schema().prune(document)
        except MalformedError as error:
            raise internal(str(error)) from None
        fill_defaults(served, document)
    if has_policies and document is not before:
        document = policies.mutated(served, attributes, document, again=True)
    return document


async def reviewed(
    backend: Backend, served: ServedKind, document: Json, old: Json | None, attributes: Attributes, *, status: bool = False
) -> None:
    """Runs the validating webhooks, then built-in validating admission."""
    if backend.webhooks.validates(attributes, document):
        await backend.webhooks.validate(attributes, document)
    if not status:
        try:
            served.kind.review(document, old, backend.objects)
            if served.resource == PODS and old is None:
                runtime_class.review(document, backend.objects)
            if served.resource.namespaced:
                limit_range.review(served.resource, document, old, backend.objects)
                quota.review(served.resource, document, old, backend.objects)
            if not attributes.dry_run:
                served.kind.allocate(document, old, backend.objects)
        except RejectedError as rejection:
            raise _rejection(served, attributes.name, rejection) from None


def _rejection(served: ServedKind, name: str, rejection: RejectedError) -> StatusError:
    if rejection.code == _INTERNAL:
        return StatusError(_INTERNAL, rejection.reason, str(rejection))
    details: dict[str, Any] = {"name": name} if name else {}
    if served.resource.group:
        details["group"] = served.resource.group
    details["kind"] = served.resource.plural
    return StatusError(rejection.code, rejection.reason, str(rejection), details)
