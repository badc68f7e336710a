"""GET of an object and of a list, answered from memory: any revision that is still in the window, page by page if asked.

Source: k8s.io/apiserver `storage/etcd3` (continue tokens) and apimachinery's validation of ListOptions; texts are theirs.
"""

from __future__ import annotations

import base64
import binascii
import posixpath
import string
from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from shunter.api.field_errors import FieldError, forbidden, not_supported
from shunter.api.meta import Json
from shunter.cluster.apiserver.backend import Backend
from shunter.cluster.apiserver.negotiation import Form, encoded
from shunter.cluster.apiserver.printers.tables import check_include, partial, partial_json, table
from shunter.cluster.apiserver.registry import ServedKind
from shunter.cluster.apiserver.requests import Call, Query, number, revision
from shunter.cluster.apiserver.selectors import Selector, Term, field_terms, label_requirements
from shunter.cluster.apiserver.status import StatusError, bad_request, expired, invalid, revision_too_large
from shunter.cluster.apiserver.storage.store import Collection, Entry, ExpiredError


def selector(call: Call, served: ServedKind) -> Selector:
    """The selectors of a request. Raises 400."""
    labels, fields, kind = call.query.get("labelSelector", ""), call.query.get("fieldSelector", ""), served.kind
    terms: tuple[Term, ...] = ()
    if fields:
        terms = field_terms(fields, _known_fields(served), stored=kind.stored_fields, unsupported=_unsupported_field(served))
    return Selector(label_requirements(labels) if labels else (), terms)


def _known_fields(served: ServedKind) -> tuple[str, ...]:
    """The fields that selectors may name. Kinds with fields of their own, and custom ones, have a namespace only if they are in
    one."""
    own = served.kind.selectable_fields
    has_namespace = served.resource.namespaced or not (own or served.custom)
    return ("metadata.name", *(("metadata.namespace",) if has_namespace else ()), *own)


def _unsupported_field(served: ServedKind) -> str:
    """The error for a field that is not selectable; empty where the general message is used."""
    if served.key == ("batch", "jobs"):
        return 'field label "{}" not supported for Job'
    return "field label not supported: {}" if served.custom or served.kind.selectable_fields else ""


def get(backend: Backend, call: Call, served: ServedKind, form: Form) -> bytes:
    """One object. Raises 404, or 504 when the client has seen a newer state than there is."""
    asked = revision(call.query.get("resourceVersion", ""), watch=True)
    if asked > backend.store.revision:
        raise revision_too_large(asked, backend.store.revision)
    entry = backend.entry(served, call.target.namespace, call.target.name)
    return shown(backend, call, served, entry, form)


def shown(backend: Backend, call: Call, served: ServedKind, entry: Entry, form: Form) -> bytes:
    """A stored object in the form the client asked for. Raises 406 for the form of a list."""
    if form.shape == "table":
        return shown_document(backend, call, served, served.document(entry), form)
    _refuse_list_form(served, form)
    return _in_syntax(partial_json(entry.metadata, form.version) if form.shape == "metadata" else served.body(entry), form)


def shown_document(backend: Backend, call: Call, served: ServedKind, document: Json, form: Form) -> bytes:
    """A document in the form the client asked for. Raises 400 for an `includeObject` that there is not, 406 for the form of a
    list."""
    if form.shape == "table":
        include = call.query.get("includeObject", "")
        refusal = check_include(include)
        if refusal:
            raise refusal
        metadata = {"resourceVersion": document["metadata"].get("resourceVersion", "")}
        document = table(served, [document], backend.now(), metadata=metadata, include=include, version=form.version)
    elif form.shape == "metadata":
        _refuse_list_form(served, form)
        document = partial(document, form.version)
    return encoded(document, form)


def _refuse_list_form(served: ServedKind, form: Form) -> None:
    if form.shape == "metadata" and form.of_lists:
        what = "unstructured.Unstructured" if served.custom else _go_type(served)
        raise StatusError(
            406, "NotAcceptable", f"you requested PartialObjectMetadataList, but the requested object is not a list (*{what})"
        )


def _go_type(served: ServedKind) -> str:
    return f"{served.resource.group.partition('.')[0] or 'core'}.{served.resource.kind}"


class Page(NamedTuple):
    """One page of a LIST: entries of one revision, and the token for the next page."""

    entries: list[Entry]
    revision: int
    next: str = ""
    remaining: int = 0

    @property
    def metadata(self) -> Json:
        """The list's own; `continue` and `remainingItemCount` each only where it is not empty."""
        metadata: Json = {"resourceVersion": str(self.revision)}
        if self.next:
            metadata["continue"] = self.next
        if self.remaining:
            metadata["remainingItemCount"] = self.remaining
        return metadata


def list_(backend: Backend, call: Call, served: ServedKind, form: Form) -> bytes:
    """A list. Raises 400, 410, 422 and 504."""
    if form.shape == "metadata" and not form.of_lists:
        what = "unstructured.UnstructuredList" if served.custom else f"{_go_type(served)}List"
        raise StatusError(
            406, "NotAcceptable", f"you requested PartialObjectMetadata, but the requested object is a list (*{what})"
        )
    found = page(backend, call, served)
    metadata = found.metadata
    if served.custom and form.shape == "object":
        metadata = {"continue": "", **metadata}
    if form.shape == "table":
        documents = (served.document(entry) for entry in found.entries)
        include = call.query.get("includeObject", "")
        refusal = check_include(include)
        if refusal:
            raise refusal
        return encoded(table(served, documents, backend.now(), metadata=metadata, include=include, version=form.version), form)
    if form.shape == "metadata":
        return _in_syntax(_partial_list(found.entries, metadata, form.version), form)
    return _in_syntax(rendered_list(served, found.entries, metadata), form)


def _in_syntax(body: bytes, form: Form) -> bytes:
    """The JSON in the syntax asked for."""
    return body if form.syntax == "json" else encoded(msgspec.json.decode(body), form)


def _partial_list(entries: Iterable[Entry], metadata: Json, version: str) -> bytes:
    items = b",".join(partial_json(entry.metadata, version) for entry in entries)
    head = f'{{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/{version}","metadata":'.encode()
    return b"".join((head, msgspec.json.encode(metadata), b',"items":', b"[%b]" % items if items else b"null", b"}"))


def rendered_list(served: ServedKind, entries: Iterable[Entry], metadata: Json) -> bytes:
    """A list in JSON, put together from the stored bytes."""
    resource = served.resource
    head = f'{{"kind":"{resource.kind}List","apiVersion":"{resource.api_version}","metadata":'.encode()
    items = b",".join(served.item(entry) for entry in entries)
    return b"".join((head, msgspec.json.encode(metadata), b',"items":[', items, b"]}"))


def page(backend: Backend, call: Call, served: ServedKind) -> Page:
    """The entries that a LIST, or the deletion of a collection, selects. Raises 400, 410, 422 and 504."""
    query, collection, namespace = call.query, backend.collection(served), call.target.namespace
    errors = list_errors(query)
    if errors:
        raise invalid("meta.k8s.io", "ListOptions", "", errors)
    selection = selector(call, served)
    number(query, "timeoutSeconds")
    limit = max(number(query, "limit") or 0, 0)
    if query.get("resourceVersion") == "0" and not query.get("continue"):
        limit = 0
    at, start = _start(backend, query)
    try:
        entries: Iterable[Entry] | None = _named(collection, namespace, selection) if at == backend.store.revision else None
        if entries is None:
            entries = collection.entries_at(at, namespace)
    except ExpiredError as error:
        raise _expired_list(query, at, error.floor) from None
    if start:
        entries = [entry for entry in entries if entry.key >= start]
    found = list(entries) if selection.is_empty else [entry for entry in entries if selection.matches(entry)]
    if not limit or len(found) <= limit:
        return Page(found, at)
    remaining = len(found) - limit if selection.is_empty else 0
    return Page(found[:limit], at, _token(at, found[limit - 1].key + "\0"), remaining)


def _named(collection: Collection, namespace: str, selection: Selector) -> list[Entry] | None:
    """The one object that a selector on metadata.name in a namespace can match; None for other selectors."""
    name = next((term.value for term in selection.terms if term.path == "metadata.name" and not term.negated), "")
    if not name or not namespace:
        return None
    entry = collection.get(namespace, name)
    return [entry] if entry else []


def list_errors(query: Query) -> list[FieldError]:
    """What is wrong with the ListOptions of a request without `watch=true`."""
    errors: list[FieldError] = []
    match, asked = query.get("resourceVersionMatch", ""), query.get("resourceVersion", "")
    if match:
        if not asked:
            errors.append(
                forbidden("resourceVersionMatch", "resourceVersionMatch is forbidden unless resourceVersion is provided")
            )
        if query.get("continue"):
            errors.append(forbidden("resourceVersionMatch", "resourceVersionMatch is forbidden when continue is provided"))
        if match not in ("Exact", "NotOlderThan"):
            errors.append(not_supported("resourceVersionMatch", match, ["Exact", "NotOlderThan", ""]))
        if match == "Exact" and asked == "0":
            errors.append(forbidden("resourceVersionMatch", 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'))
    if "sendInitialEvents" in query:
        errors.append(forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"))
    return errors


def _start(backend: Backend, query: Query) -> tuple[int, str]:
    """The revision to list, and the key to start at."""
    current = backend.store.revision
    asked = query.get("resourceVersion", "")
    if query.get("continue"):
        at, start = _read_token(query["continue"])
        if asked not in ("", "0"):
            raise bad_request("specifying resource version is not allowed when using continue")
        return (at if at > 0 else current), start
    at = revision(asked, watch=False)
    if at > current:
        raise revision_too_large(at, current)
    if query.get("resourceVersionMatch") == "Exact":
        return at, ""
    if at and number(query, "limit") and query.get("resourceVersionMatch") != "NotOlderThan":
        return at, ""
    return current, ""


def _expired_list(query: Query, at: int, floor: int) -> Exception:
    if query.get("continue"):
        return expired(
            "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
            "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "
            "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or "
            "deleted between the time the first chunk was returned and now may show up in the list."
        )
    return expired(f"The resourceVersion for the provided list is too old: {at} ({floor})")


_BASE64 = frozenset(string.ascii_letters + string.digits + "-_")


class _Token(msgspec.Struct):
    """A continue token's content, as kube-apiserver writes it."""

    v: str = ""
    rv: int = 0
    start: str = ""


def _token(at: int, start: str) -> str:
    content = msgspec.json.encode(_Token("meta.k8s.io/v1", at, start))
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def _read_token(token: str) -> tuple[int, str]:
    fault = "invalid continue token: continue key is not valid"
    wrong = next((index for index, character in enumerate(token) if character not in _BASE64), len(token) - 1)
    if wrong < len(token) - 1 or len(token) % 4 == 1:
        raise bad_request(f"{fault}: illegal base64 data at input byte {wrong}")
    try:
        content = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
        decoded = msgspec.json.decode(content, type=_Token)
    except (binascii.Error, msgspec.DecodeError, UnicodeDecodeError, ValueError) as error:
        raise bad_request(f"{fault}: {error}") from None
    if decoded.v != "meta.k8s.io/v1":
        raise bad_request(f"{fault}: server does not recognize this encoded version {decoded.v}")
    if not decoded.rv:
        raise bad_request(f"{fault}: incorrect encoded start resourceVersion (version {decoded.v})")
    if not decoded.start:
        raise bad_request(f"{fault}: encoded start key empty (version {decoded.v})")
    if posixpath.normpath(f"/{decoded.start.removeprefix('/')}") != f"/{decoded.start.removeprefix('/')}":
        raise bad_request(f"{fault}: {decoded.start}")
    return decoded.rv, decoded.start
