"""From a request's JSON to an object of its kind: the right kind, no unknown fields, defaults filled in.

What does not decode is refused in kube-apiserver's words, which differ between built-in and custom kinds.
"""

from __future__ import annotations

from functools import cache

from shunter.api.field_errors import invalid as invalid_field
from shunter.api.meta import Json
from shunter.api.resources import Resource
from shunter.cluster.apiserver.kinds import MalformedError
from shunter.cluster.apiserver.negotiation import read
from shunter.cluster.apiserver.object_meta import sent_name
from shunter.cluster.apiserver.packaged_schemas import definition_names
from shunter.cluster.apiserver.registry import ServedKind
from shunter.cluster.apiserver.requests import Call, WriteOptions, write_options
from shunter.cluster.apiserver.schema import golang
from shunter.cluster.apiserver.status import StatusError, bad_request, invalid

_read_metadata = golang.reader("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta")
"""Decodes a custom object's metadata, which its own schema does not describe."""
_OMITTED_WHEN_EMPTY = ("labels", "annotations", "finalizers", "ownerReferences", "namespace", "generateName")


def expect_kind(call: Call, served: ServedKind, document: Json) -> None:
    """Sets kind and apiVersion, or refuses others than the URL's. Built-in kinds may leave them out, custom ones may not."""
    resource = served.resource
    kind, api_version = document.get("kind") or "", document.get("apiVersion") or ""
    if served.custom:
        refusal = _custom_mismatch(call, served, kind, api_version, document)
        if refusal:
            raise refusal
    else:
        _expect_builtin(resource, document)
    document["kind"], document["apiVersion"] = resource.kind, resource.api_version


def _expect_builtin(resource: Resource, document: Json) -> None:
    kind, api_version = document.get("kind") or "", document.get("apiVersion") or ""
    if (kind and kind != resource.kind) or (api_version and api_version != resource.api_version):
        version = api_version.rpartition("/")[2] or resource.version
        what = f'{kind or resource.kind} in version "{version}" cannot be handled as a {resource.kind}'
        raise bad_request(f"{what}: {conversion_fault(resource, kind or resource.kind, api_version)}")


def conversion_fault(resource: Resource, kind: str, api_version: str) -> str:
    """Why an object of one kind does not become one of another."""
    group, _, version = api_version.rpartition("/")
    version = version or resource.version
    if kind == resource.kind and api_version and api_version != resource.api_version:
        shown = api_version if group else version
        return f'no kind "{kind}" is registered for version "{shown}" in scheme "pkg/runtime/scheme.go:111"'
    ours = resource.group.partition(".")[0] or "core"
    return f"converting ({version}.{kind}) to ({ours}.{resource.kind}): unknown conversion"


def _custom_mismatch(call: Call, served: ServedKind, kind: str, api_version: str, document: Json) -> StatusError | None:
    resource = served.resource
    if not kind:
        text = call.body.decode(errors="replace")
        cut = f"{text[:30]} ..." if len(text) > 30 else text
        what = f"the object provided is unrecognized (must be of type {resource.kind})"
        return bad_request(f"{what}: Object 'Kind' is missing in '{text}' ({cut})")
    if api_version != resource.api_version:
        return bad_request(
            f"the API version in the data ({api_version}) does not match the expected API version ({resource.api_version})"
        )
    if kind != resource.kind:
        return invalid(resource.group, kind, sent_name(document), [invalid_field("kind", kind, f"must be {resource.kind}")])
    return None


def prune(call: Call, served: ServedKind, document: Json, duplicates: list[str], options: WriteOptions) -> None:
    """Prunes, in place; unknown and duplicate fields are warned of or, with Strict, refused. Raises 400."""
    resource = served.resource
    what = f'{resource.kind} in version "{resource.version}" cannot be handled as a {resource.kind}'
    try:
        faults = strict_faults(served, document, duplicates)
    except MalformedError as error:
        # What is wrong inside an embedded resource names the kind already.
        text = str(error)
        raise bad_request(text if text.startswith(what) else f"{what}: {text}") from None
    _tell(call, what, faults, options)


def read_as(call: Call, resource: Resource, *, also: str = "") -> Json:
    """The body of a request about a built-in kind that is not stored (a review, a TokenRequest, an Eviction), in Go's form: of
    that kind, which may be left out, and with fields of their types. `also` is an older apiVersion that is taken. Raises 400,
    415 and 422."""
    options = write_options(call.query, call.user_agent, "CreateOptions")
    body = read(call.body, call.content_type, resource.kind)
    document = body.document
    what = f'{resource.kind} in version "{resource.version}" cannot be handled as a {resource.kind}'
    if also and document.get("apiVersion") == also:
        document["apiVersion"] = resource.api_version
    _expect_builtin(resource, document)
    try:
        unknown = _reader(resource)(document)
    except MalformedError as error:
        raise bad_request(f"{what}: {error}") from None
    _tell(call, what, [*(f'unknown field "{path}"' for path in unknown), *_repeated(body.duplicates)], options)
    document["kind"], document["apiVersion"] = resource.kind, resource.api_version
    return document


@cache
def _reader(resource: Resource) -> golang.Reader:
    return golang.reader(definition_names()[resource.group, resource.version, resource.kind])


def _tell(call: Call, what: str, faults: list[str], options: WriteOptions) -> None:
    """Warns of unknown and duplicate fields, or refuses them with Strict."""
    if faults and options.strictness == "Strict":
        raise bad_request(f"{what}: strict decoding error: {', '.join(faults)}")
    if options.strictness == "Warn":
        for fault in faults:
            call.warn(fault)


def _repeated(duplicates: list[str]) -> list[str]:
    return [f'duplicate field "{path}"' for path in duplicates]


def fill_defaults(served: ServedKind, document: Json, old: Json | None = None) -> None:
    """Defaults, in place: those of the schema, then those that are code. `old` as for `Schema.prune`."""
    served.kind.schema().default(document, old)
    served.kind.default(document)


def strict_faults(served: ServedKind, document: Json, duplicates: list[str], old: Json | None = None) -> list[str]:
    """Prunes in place and words what was unknown or stood there twice, in the original's order. Raises MalformedError. `old` as
    for `Schema.prune`."""
    if document.get("metadata") is None:
        document["metadata"] = {}
    resets_owners = document["metadata"].get("managedFields") == [] if isinstance(document["metadata"], dict) else False
    paths = served.kind.schema().prune(document, old)
    if resets_owners:
        document["metadata"]["managedFields"] = []
    if served.custom:
        old_metadata = old["metadata"] if old else None
        paths = [f"metadata.{path}" for path in _read_metadata(document["metadata"], old_metadata)] + paths
    unknown = [f'unknown field "{path}"' for path in paths]
    repeated = _repeated(duplicates)
    metadata = document["metadata"]
    for name in _OMITTED_WHEN_EMPTY:
        if name in metadata and not metadata[name]:
            del metadata[name]
    return repeated + unknown if served.custom else unknown + repeated
