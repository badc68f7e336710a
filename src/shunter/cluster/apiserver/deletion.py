"""DELETE of one object or of many: preconditions, finalizers, graceful deletion, propagation.

Dependents are the garbage collector's business; here an owner only gets the finalizer that asks for it. Source: k8s.io/apiserver
`registry/generic/registry/store.go` and `registry/rest/delete.go`.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Literal, NamedTuple

from shunter.api.core import FINISHED_PHASES
from shunter.api.field_errors import FieldError
from shunter.api.formats.times import moment
from shunter.api.meta import Json, grace_period, rfc3339
from shunter.api.resources import JOBS, NAMESPACES
from shunter.cluster.apiserver.admission.attributes import Attributes
from shunter.cluster.apiserver.backend import Backend
from shunter.cluster.apiserver.custom_resources import crd_lifecycle
from shunter.cluster.apiserver.kinds import Kind, MalformedError
from shunter.cluster.apiserver.negotiation import read
from shunter.cluster.apiserver.object_meta import FOREGROUND, ORPHAN
from shunter.cluster.apiserver.reads import page, rendered_list
from shunter.cluster.apiserver.registry import ServedKind
from shunter.cluster.apiserver.requests import Call, Query, dry_run_errors, number
from shunter.cluster.apiserver.schema import golang
from shunter.cluster.apiserver.status import (
    StatusError,
    bad_request,
    forbidden,
    invalid,
    method_not_allowed,
    not_found,
    precondition_failed,
    success,
)
from shunter.cluster.apiserver.storage.store import Entry, StaleError
from shunter.cluster.apiserver.writes import Outcome
from shunter.kube.http.request import flag

_read_options = golang.reader("io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions")
_ORPHANS = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set "
    "propagationPolicy=Orphan to suppress this warning"
)
_EXPECTED = re.compile(r"^the object provided is unrecognized \(must be of type DeleteOptions\): ")
_SHOWN = re.compile(r" \([^()]*\)$")
_PROTECTED_NAMESPACES = ("default", "kube-system", "kube-public")


class DeleteOptions(NamedTuple):
    """`metav1.DeleteOptions`, from the body or the query."""

    grace_seconds: int | None = None
    propagation: str = ""
    """`Foreground`, `Background`, `Orphan`, or nothing for what the object itself says."""
    uid: str | None = None
    resource_version: str | None = None
    dry_run: bool = False
    sent: Json = {}
    """What of it was sent, as webhooks are shown it."""


def delete_options(call: Call) -> DeleteOptions:
    """The options of a DELETE. Raises 400 or 422."""
    body = _sent_options(call) if call.body else {}
    query = call.query
    dry_run = body.get("dryRun") or ([query["dryRun"]] if "dryRun" in query else [])
    propagation = body.get("propagationPolicy") or query.get("propagationPolicy") or ""
    grace = body["gracePeriodSeconds"] if "gracePeriodSeconds" in body else number(query, "gracePeriodSeconds")
    asked = flag(query, "orphanDependents") if query.get("orphanDependents") else None
    orphan = body.get("orphanDependents", asked)
    check_delete_options({"dryRun": dry_run, "propagationPolicy": propagation, "orphanDependents": orphan})
    preconditions = body.get("preconditions") or {}
    if orphan is not None:
        propagation = "Orphan" if orphan else "Background"
    return DeleteOptions(
        grace_seconds=grace,
        propagation=propagation,
        uid=preconditions.get("uid"),
        resource_version=preconditions.get("resourceVersion"),
        dry_run=bool(dry_run),
        sent=_shown(body, query, dry_run, grace),
    )


def check_delete_options(options: Json) -> None:
    """Raises 422 for values that no DeleteOptions may have."""
    dry_run, orphan = options.get("dryRun") or [], options.get("orphanDependents")
    propagation = options.get("propagationPolicy") or ""
    errors: list[FieldError] = []
    if orphan is not None and propagation:
        text = f'Invalid value: "{propagation}": orphanDependents and deletionPropagation cannot be both set'
        errors.append(FieldError("FieldValueInvalid", "propagationPolicy", text))
    if propagation not in ("", "Foreground", "Background", "Orphan"):
        supported = '"Foreground", "Background", "Orphan", "nil"'
        text = f'Unsupported value: "{propagation}": supported values: {supported}'
        errors.append(FieldError("FieldValueNotSupported", "propagationPolicy", text))
    errors += dry_run_errors(dry_run)
    if errors:
        raise invalid("meta.k8s.io", "DeleteOptions", "", errors)


def _shown(body: Json, query: Query, dry_run: list[str], grace: int | None) -> Json:
    names = ("propagationPolicy", "orphanDependents", "preconditions")
    shown = {name: body[name] for name in names if name in body}
    if "propagationPolicy" in query:
        shown.setdefault("propagationPolicy", query["propagationPolicy"])
    if dry_run:
        shown["dryRun"] = dry_run
    return shown if grace is None else {**shown, "gracePeriodSeconds": grace}


def _sent_options(call: Call) -> Json:
    try:
        body = read(call.body, call.content_type, "DeleteOptions").document
    except StatusError as refusal:
        # The original decodes these without saying what it expected, and without showing what it got.
        message = _EXPECTED.sub("", _SHOWN.sub("", refusal.message))
        raise StatusError(refusal.code, refusal.reason, message) from None
    kind, version = body.get("kind", "DeleteOptions"), body.get("apiVersion", "v1")
    if kind != "DeleteOptions":
        raise bad_request(f'no kind "{kind}" is registered for version "{version}" in scheme "pkg/runtime/scheme.go:111"')
    try:
        _read_options(body)
    except MalformedError as error:
        raise bad_request(str(error)) from None
    return body


async def delete(backend: Backend, call: Call, served: ServedKind, *, asks_webhooks: bool = True) -> Outcome:
    """DELETE of one object: its last state when it is gone or waits for something, with 200; a Status where kube-apiserver gives
    one. Raises 404 and 409."""
    options = delete_options(call)
    target = call.target
    if served.resource == JOBS and not options.propagation:
        call.warn(_ORPHANS)
    collection = backend.collection(served)
    while True:
        entry = collection.head(target.namespace, target.name)
        if entry is None:
            raise not_found(served.resource, target.name)
        try:
            return await _delete_entry(backend, call, served, entry, options, asks_webhooks=asks_webhooks)
        except StaleError:
            continue


async def delete_many(backend: Backend, call: Call, served: ServedKind) -> bytes:
    """deletecollection: deletes every object that a LIST with this query would show, and answers with that list. Namespaces go
    one by one. Raises 405."""
    if served.key == (NAMESPACES.group, NAMESPACES.plural):
        raise method_not_allowed()
    options = delete_options(call)
    collection = backend.collection(served)
    found = page(backend, call, served)
    for entry in found.entries:
        current: Entry | None = entry
        while current is not None and current.uid == entry.uid:
            try:
                await _delete_entry(backend, call, served, current, options, is_named=False)
                break
            except StaleError:
                current = collection.head(entry.namespace, entry.name)
    metadata = found.metadata
    return rendered_list(served, found.entries, {"continue": "", **metadata} if served.custom else metadata)


async def _delete_entry(
    backend: Backend,
    call: Call,
    served: ServedKind,
    entry: Entry,
    options: DeleteOptions,
    *,
    asks_webhooks: bool = True,
    is_named: bool = True,
) -> Outcome:
    """`is_named`: the request names the object, and so do the questions to webhooks."""
    resource = served.resource
    old = served.document(entry)
    document = served.document(entry)
    check_preconditions(served, document, options)
    if resource.plural == "namespaces" and not resource.group and entry.name in _PROTECTED_NAMESPACES:
        raise forbidden(resource, entry.name, "this namespace may not be deleted")
    attributes = Attributes(
        operation="DELETE",
        resource=resource,
        options=options.sent,
        subresource="",
        namespace=entry.namespace,
        name=entry.name if is_named else "",
        old=old,
        user=call.user,
        dry_run=options.dry_run,
        warn=call.warn,
    )
    if asks_webhooks and backend.webhooks.mutating(attributes, None):
        await backend.webhooks.mutate(attributes, None)
    if asks_webhooks and backend.webhooks.validates(attributes, None):
        await backend.webhooks.validate(attributes, None)
    now = backend.now()
    if served.kind.graceful_deletion:
        mark = _graceful_mark(served.kind, document, options, now)
        if mark == "pending":
            return Outcome(200, entry)
        if mark == "marked":
            if options.dry_run:
                return Outcome(200, None, document)
            return Outcome(200, await backend.write(served, document, entry))
    _set_propagation(served.kind, document["metadata"], options)
    if _waits(served, document):
        _mark_deleting(document, now)
        if document == old:
            return Outcome(200, entry)
        if options.dry_run:
            return Outcome(200, None, document)
        return Outcome(200, await backend.write(served, document, entry))
    if not options.dry_run:
        await backend.store.remove(
            backend.collection(served), served.stored(document), previous=entry, durable=served.kind.durable
        )
    if served.kind.graceful_deletion or served.kind.returns_deleted:
        return Outcome(200, None, document)
    details: Json = {"name": entry.name}
    if resource.group:
        details["group"] = resource.group
    return Outcome(200, None, success({**details, "kind": resource.plural, "uid": entry.uid}))


def check_preconditions(served: ServedKind, document: Json, options: DeleteOptions) -> None:
    """Raises 409 where the object is not the one, or not the version, that the options name."""
    metadata = document["metadata"]
    if options.uid is not None and options.uid != metadata["uid"]:
        raise precondition_failed(
            served.resource,
            metadata["name"],
            f"the UID in the precondition ({options.uid}) does not match the UID in record ({metadata['uid']}). "
            "The object might have been deleted and then recreated",
        )
    if options.resource_version is not None and options.resource_version != metadata["resourceVersion"]:
        raise precondition_failed(
            served.resource,
            metadata["name"],
            f"the ResourceVersion in the precondition ({options.resource_version}) does not match the ResourceVersion in record "
            f"({metadata['resourceVersion']}). The object might have been modified",
        )


def _graceful_mark(kind: Kind, document: Json, options: DeleteOptions, now: datetime) -> Literal["now", "marked", "pending"]:
    """How a pod goes: marked for its node with the seconds it gets, already on its way, or at once."""
    metadata, spec, status = document["metadata"], document.get("spec") or {}, document.get("status") or {}
    grace_seconds = options.grace_seconds
    if grace_seconds is not None and grace_seconds < 0:
        grace_seconds = 1
    if metadata.get("deletionTimestamp"):
        current = metadata.get("deletionGracePeriodSeconds") or 0
        if current == 0:
            return "now"
        if grace_seconds is None or grace_seconds >= current:
            return "pending"
        if grace_seconds == 0:
            metadata["deletionTimestamp"] = rfc3339(now)
            metadata["deletionGracePeriodSeconds"] = 0
            return "now"
        started = moment(metadata["deletionTimestamp"]) - grace_period(current)
        until = started + grace_period(grace_seconds)
        if until < now:
            until, grace_seconds = now, 1
        metadata["deletionTimestamp"] = rfc3339(until)
        metadata["deletionGracePeriodSeconds"] = grace_seconds
        return "marked"
    period = grace_seconds if grace_seconds is not None else spec.get("terminationGracePeriodSeconds") or 0
    if not spec.get("nodeName") or status.get("phase") in FINISHED_PHASES:
        period = 0
    metadata["deletionTimestamp"] = rfc3339(now + grace_period(period))
    metadata["deletionGracePeriodSeconds"] = period
    if metadata.get("generation"):
        metadata["generation"] += 1
    if period == 0:
        return "now"
    _set_propagation(kind, metadata, options)
    return "marked"


def _set_propagation(kind: Kind, metadata: Json, options: DeleteOptions) -> None:
    """The finalizers that tell the garbage collector what to do with dependents: as asked, else as the finalizers there say, else
    as the kind does by itself."""
    finalizers = metadata.get("finalizers", [])
    kept = [name for name in finalizers if name not in (ORPHAN, FOREGROUND)]
    propagation = options.propagation
    if not propagation:
        earlier = [policy for policy, name in (("Orphan", ORPHAN), ("Foreground", FOREGROUND)) if name in finalizers]
        propagation = earlier[0] if earlier else kind.default_propagation
    if propagation == "Orphan":
        kept.append(ORPHAN)
    elif propagation == "Foreground":
        kept.append(FOREGROUND)
    if kept:
        metadata["finalizers"] = kept
    else:
        metadata.pop("finalizers", None)


def _waits(served: ServedKind, document: Json) -> bool:
    """Whether something has to happen before the object may go."""
    if document["metadata"].get("finalizers"):
        return True
    return served.resource.kind == "Namespace" and bool((document.get("spec") or {}).get("finalizers"))


def _mark_deleting(document: Json, now: datetime) -> None:
    metadata = document["metadata"]
    own_way = document["kind"] in ("Namespace", "CustomResourceDefinition")
    if not metadata.get("deletionTimestamp"):
        if metadata.get("generation") and not own_way:
            metadata["generation"] += 1
        metadata["deletionTimestamp"] = rfc3339(now)
        if document["kind"] == "Namespace":
            document["status"] = {**(document.get("status") or {}), "phase": "Terminating"}
        if document["kind"] == "CustomResourceDefinition":
            crd_lifecycle.mark_terminating(document, now)
    if not own_way:
        metadata["deletionGracePeriodSeconds"] = 0
