"""PATCH: the four formats, each turned into a new object that takes the way of any other write."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from shunter.api.field_errors import invalid as invalid_field
from shunter.api.meta import Json, as_json
from shunter.api.resources import Resource
from shunter.cluster.apiserver import object_meta
from shunter.cluster.apiserver.apply import server_side
from shunter.cluster.apiserver.apply.errors import ApplyError
from shunter.cluster.apiserver.apply.reset import reset_fields
from shunter.cluster.apiserver.backend import Backend
from shunter.cluster.apiserver.decoding import conversion_fault, fill_defaults, strict_faults
from shunter.cluster.apiserver.kinds import MalformedError
from shunter.cluster.apiserver.negotiation import Body, decoded, go_type, media_type, read
from shunter.cluster.apiserver.packaged_schemas import definitions
from shunter.cluster.apiserver.patch import json_patch, strategic
from shunter.cluster.apiserver.registry import ServedKind
from shunter.cluster.apiserver.requests import Call, WriteOptions, write_options
from shunter.cluster.apiserver.schema import nesting
from shunter.cluster.apiserver.status import (
    StatusError,
    bad_request,
    conflict,
    invalid,
    not_found,
    unsupported_body,
    unsupported_patch,
)
from shunter.cluster.apiserver.writes import Outcome, create_document, modify
from shunter.kube.merge_patch import merge_patch

JSON_PATCH = "application/json-patch+json"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"


async def patch(backend: Backend, call: Call, served: ServedKind) -> Outcome:
    """PATCH of an object or its status."""
    media = media_type(call.content_type)
    if media == APPLY:
        return await _apply(backend, call, served)
    options = write_options(call.query, call.user_agent, "PatchOptions")
    patched = patcher(call, served, media)
    shares = media in (MERGE, STRATEGIC) and call.target.subresource == "status"

    def change(old: Json) -> Json:
        document = patched(old)
        metadata: Any = document.get("metadata")
        if shares and metadata is old["metadata"]:
            # What follows writes into metadata.
            document["metadata"] = dict(metadata)
        _decode_patched(call, served, document, options, old if shares else None)
        object_meta.check_identity(document["metadata"], call.target.name, call.target.namespace)
        return document

    return await modify(backend, call, served, options, change, shares=shares)


def patcher(call: Call, served: ServedKind, media: str) -> Callable[[Json], Json]:
    """The function that applies the request's patch to an object. Raises 400 or 415 for what is no patch."""
    if media == JSON_PATCH:
        operations = _decoded_patch(call.body)
        return lambda document: json_patch.apply(document, operations)
    if media == MERGE:
        changes = _merge_changes(call.body)
        return lambda document: merge_patch(document, changes)
    if media == STRATEGIC and not served.custom:
        changes = _strategic_changes(call.body)
        schema = served.kind.schema().openapi
        return lambda document: strategic.apply(document, changes, schema, definitions())
    if served.custom:
        raise unsupported_body((JSON_PATCH, MERGE, APPLY))
    raise unsupported_patch()


_PREFIX = "error decoding patch: "


def _decoded_patch(body: bytes, prefix: str = _PREFIX) -> Any:
    try:
        patch = decoded(body)
    except (RecursionError, nesting.TooDeepError):
        raise bad_request(f"{prefix}invalid character '[' {nesting.TOO_DEEP}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        why = "unexpected end of JSON input" if "truncated" in str(error) else str(error)
        raise bad_request(f"{prefix}{why}") from None
    return patch


def _merge_changes(body: bytes) -> Json:
    patch = _decoded_patch(body)
    if patch is None:
        raise bad_request("Invalid JSON Patch")
    return _object(patch, _PREFIX)


def _strategic_changes(body: bytes) -> Json:
    """`null` changes nothing, other than in a merge patch; errors have no prefix."""
    patch = _decoded_patch(body, "")
    return {} if patch is None else _object(patch, "")


def _object(patch: Any, prefix: str) -> Json:
    if not isinstance(patch, dict):
        found = go_type(patch)
        raise bad_request(f"{prefix}json: cannot unmarshal {found} into Go value of type map[string]interface {{}}")
    return patch


def _decode_patched(call: Call, served: ServedKind, document: Json, options: WriteOptions, old: Json | None = None) -> None:
    """Prunes and defaults the patched object, in place; what does not decode is refused as the original does, patch and all.
    `old` is the object that it shares parts with."""
    text = msgspec.json.encode(dict(sorted(document.items())))
    try:
        nesting.check(document, text)
    except nesting.TooDeepError:
        raise bad_request(f"error decoding patch: {nesting.TOO_DEEP}") from None
    shown = text.decode()
    _check_kind(served, document, shown)
    try:
        faults = strict_faults(served, document, [], old)
    except MalformedError as error:
        raise _strict_refusal(shown, str(error)) from None
    if faults and options.strictness == "Strict":
        raise _strict_refusal(shown, f"strict decoding error: {', '.join(faults)}")
    if options.strictness == "Warn":
        for fault in faults:
            call.warn(fault)
    fill_defaults(served, document, old)


def _check_kind(served: ServedKind, document: Json, shown: str) -> None:
    """No patch changes what an object is; one that removes it from an object of Kubernetes' own kinds changes nothing."""
    resource = served.resource
    kind, api_version = document.get("kind"), document.get("apiVersion")
    if (kind, api_version) == (resource.kind, resource.api_version):
        return
    if not served.custom and not (kind or api_version):
        document["kind"], document["apiVersion"] = resource.kind, resource.api_version
        return
    if not served.custom:
        raise _strict_refusal(shown, conversion_fault(resource, str(kind or ""), str(api_version or "")))
    group, _, _ = str(api_version).rpartition("/")
    wrong = "kind" if kind != resource.kind else "apiVersion"
    expected = resource.kind if wrong == "kind" else resource.api_version
    raise invalid(
        group, str(kind), object_meta.sent_name(document), [invalid_field(wrong, document.get(wrong), f"must be {expected}")]
    )


def _strict_refusal(shown: str, why: str) -> StatusError:
    return invalid("", "", "", [invalid_field("patch", shown, why)])


async def _apply(backend: Backend, call: Call, served: ServedKind) -> Outcome:
    options = write_options(call.query, call.user_agent, "PatchOptions", applies=True)
    applied = expect_applied(call, served.resource, options, custom=served.custom)
    metadata = applied["metadata"]
    if metadata.get("name") and (refusal := object_meta.name_on_url(metadata, call.target.name)):
        raise refusal
    object_meta.in_namespace(dict(metadata), call.target.namespace if served.resource.namespaced else "")
    collection, target = backend.collection(served), call.target
    if collection.head(target.namespace, target.name) is None:
        try:
            return await _create_by_apply(backend, call, served, applied, options)
        except StatusError as refusal:
            # Somebody else was faster: this is applied to what they made, as if it had come after them.
            if refusal.reason != "AlreadyExists" or collection.head(target.namespace, target.name) is None:
                raise

    def change(old: Json) -> Json:
        document = _applied(backend, call, served, old, applied, options)
        _decode_patched(call, served, document, options)
        object_meta.check_identity(document["metadata"], call.target.name, call.target.namespace)
        return document

    return await modify(backend, call, served, options, change, owns_fields=False)


async def _create_by_apply(backend: Backend, call: Call, served: ServedKind, applied: Json, options: WriteOptions) -> Outcome:
    if call.target.subresource:
        raise not_found(served.resource, call.target.name)
    metadata = applied["metadata"]
    if refusal := object_meta.name_on_url(metadata, call.target.name):
        raise refusal
    if metadata.get("uid"):
        raise conflict(
            served.resource,
            call.target.name,
            f"uid mismatch: the provided object specified uid {metadata['uid']}, and no existing object was found",
        )
    document = _applied(backend, call, served, None, applied, options)
    return await create_document(backend, call, served, Body(document, []), options, operation="Apply")


def expect_applied(call: Call, resource: Resource, options: WriteOptions, *, custom: bool = False) -> Json:
    """The configuration in the body of an apply. Raises 400 for none of this kind."""
    body = read(call.body, "application/yaml", resource.kind, custom=custom)
    applied = body.document
    kind, api_version = applied.get("kind", ""), applied.get("apiVersion", "")
    if kind != resource.kind or api_version != resource.api_version:
        group, _, version = str(api_version).rpartition("/")
        raise bad_request(f"invalid object type: {group}/{version}, Kind={kind}")
    metadata = applied.setdefault("metadata", {})
    if not isinstance(metadata, dict):
        raise bad_request("metadata must be an object")
    if body.duplicates and options.strictness == "Strict":
        faults = ", ".join(f'duplicate field "{path}"' for path in body.duplicates)
        raise bad_request(f"strict decoding error: {faults}")
    return applied


def _applied(backend: Backend, call: Call, served: ServedKind, live: Json | None, applied: Json, options: WriteOptions) -> Json:
    try:
        result = server_side.apply(
            live,
            applied,
            tree=served.tree,
            manager=options.manager,
            force=options.force,
            subresource=call.target.subresource,
            api_version=served.resource.api_version,
            now=backend.now(),
            reset=reset_fields(served.kind, call.target.subresource),
        )
    except ApplyError as refusal:
        raise StatusError(refusal.code, refusal.reason, str(refusal), refusal.details) from None
    return as_json(result)
