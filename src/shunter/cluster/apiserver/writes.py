"""Create, update and patch: one path for every kind, built-in or custom, and for its status.

The order of the steps is kube-apiserver's, because each of them sees what the earlier ones did: decode, prune, default, ownership
of fields, built-in admission, mutating webhooks, the kind's preparation, validation, validating webhooks, review, store. A write
that changes nothing keeps its resourceVersion; one whose base was changed meanwhile starts again, unless it names a version.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from shunter.api.field_errors import FieldError
from shunter.api.field_errors import invalid as invalid_field
from shunter.api.meta import Json, rfc3339
from shunter.cluster.apiserver import object_meta
from shunter.cluster.apiserver.admission.chain import admitted, attributes_of, reviewed
from shunter.cluster.apiserver.apply import managed
from shunter.cluster.apiserver.apply.reset import reset_fields
from shunter.cluster.apiserver.auth import escalation, signers
from shunter.cluster.apiserver.backend import Backend
from shunter.cluster.apiserver.custom_resources import crd_lifecycle
from shunter.cluster.apiserver.decoding import expect_kind, fill_defaults, prune
from shunter.cluster.apiserver.negotiation import Body, read
from shunter.cluster.apiserver.registry import ServedKind
from shunter.cluster.apiserver.requests import Call, WriteOptions, revision_to_replace, unsigned_fault, write_options
from shunter.cluster.apiserver.status import (
    StatusError,
    already_exists,
    conflict,
    crd_terminating,
    invalid,
    not_found,
    plain,
)
from shunter.cluster.apiserver.storage.store import Entry, StaleError

_STATUS_IN_BODY = re.compile(r": status\.?(?=.* in body )")
_ATTEMPTS = 5
"""As often as kube-apiserver retries a patch whose base changed."""


class Outcome(NamedTuple):
    """The answer to a write: an object that was stored, or one that a dry run or a deletion leaves."""

    code: int
    entry: Entry | None
    document: Json | None = None


async def create(backend: Backend, call: Call, served: ServedKind) -> Outcome:
    """POST to a collection."""
    if served.is_terminating:
        raise crd_terminating(served.resource)
    options = write_options(call.query, call.user_agent, "CreateOptions")
    body = read(call.body, call.content_type, served.resource.kind, custom=served.custom)
    return await create_document(backend, call, served, body, options)


async def create_document(
    backend: Backend, call: Call, served: ServedKind, body: Body, options: WriteOptions, *, operation: str = "Update"
) -> Outcome:
    """Creates the decoded object; `operation` is how its fields are owned (Apply: managedFields are already in it)."""
    document = body.document
    kind, resource = served.kind, served.resource
    expect_kind(call, served, document)
    prune(call, served, document, body.duplicates, options)
    if kind.has_status:
        document.pop("status", None)
    fill_defaults(served, document)
    if served.custom and kind.has_status:
        document.pop("status", None)
    metadata = document["metadata"]
    object_meta.in_namespace(metadata, call.target.namespace if resource.namespaced else "")
    if operation == "Apply":
        revision_to_replace(metadata)  # raises where it is no number, which an ordinary creation passes over
    asked_revision = metadata.pop("resourceVersion", "")
    asked_name = metadata.get("name", "")
    if resource.namespaced:
        refusal = backend.refuse_without_namespace(served, metadata["namespace"], asked_name or metadata.get("generateName", ""))
        if refusal:
            raise refusal
    now = backend.now()
    for field in ("selfLink", "deletionTimestamp", "deletionGracePeriodSeconds"):
        metadata.pop(field, None)
    for field in ("uid", "creationTimestamp"):
        metadata.pop(field, None)
    _without_duplicate_owners(call, metadata)
    if operation == "Update":
        _own_fields(backend, served, None, document, options, subresource="")
    attributes = attributes_of(call, served, "CREATE", asked_name, None, options)
    document = await admitted(backend, served, document, None, attributes)
    metadata = document["metadata"]
    name = metadata.get("name", "") or _generated_name(backend, served, metadata)
    attributes = replace(attributes, name=name)
    metadata["uid"] = object_meta.new_uid()
    metadata["creationTimestamp"] = rfc3339(now)
    if kind.tracks_generation:
        metadata["generation"] = 1
    kind.prepare(document, None)
    kind.made_by(document, call.user)
    if served.resource.plural == crd_lifecycle.PLURAL:
        crd_lifecycle.prepare(document, None, now)
    escalation.check(backend.authorizer, call, served, document, None)
    _refuse_invalid(served, document, None)
    _warn(call, backend, served, document, None)
    _check_may_create(backend, call)
    await reviewed(backend, served, document, None, attributes)
    if options.dry_run:
        if backend.collection(served).head(metadata.get("namespace", ""), name):
            raise already_exists(resource, name)
        if asked_revision:
            metadata["resourceVersion"] = asked_revision
        return Outcome(201, None, document)
    if operation == "Update" and not unsigned_fault(asked_revision) and int(asked_revision):
        raise plain(500, "resourceVersion should not be set on objects to be created")
    if kind.durable and (refused := backend.room.refusal()):
        raise refused
    try:
        entry = await backend.write(served, document, None)
    except StaleError:
        raise already_exists(resource, name) from None
    return Outcome(201, entry)


def _check_may_create(backend: Backend, call: Call) -> None:
    """Raises 403 where an update or an apply would create what its user may only change."""
    refusal = None if call.verb == "create" else backend.authorizer.refusal(replace(call, verb="create"))
    if refusal:
        raise refusal


def _generated_name(backend: Backend, served: ServedKind, metadata: Json) -> str:
    """A name that nobody has, made from generateName and set in the metadata; nothing without one."""
    base = metadata.get("generateName", "")
    if not base:
        return ""
    collection, namespace = backend.collection(served), metadata.get("namespace", "")
    name = object_meta.generated_name(base)
    while collection.head(namespace, name) is not None:
        name = object_meta.generated_name(base)
    metadata["name"] = name
    return name


async def update(backend: Backend, call: Call, served: ServedKind) -> Outcome:
    """PUT of an object or its status."""
    options = write_options(call.query, call.user_agent, "UpdateOptions")
    if served.kind.created_by_update and not call.target.subresource:
        target = call.target
        if backend.collection(served).head(target.namespace, target.name) is None:
            return await _create_by_update(backend, call, served, options)

    def decoded() -> Json:
        body = read(call.body, call.content_type, served.resource.kind, custom=served.custom)
        document = body.document
        expect_kind(call, served, document)
        prune(call, served, document, body.duplicates, options)
        fill_defaults(served, document)
        object_meta.check_identity(document["metadata"], call.target.name, call.target.namespace)
        return document

    # What is wrong with the body is said even where there is no object to update. Each further try changes one of its own.
    first = [decoded()]

    def sent(old: Json) -> Json:
        document = first.pop() if first else decoded()
        uid = document["metadata"].get("uid")
        if uid and uid != old["metadata"]["uid"]:
            raise conflict(served.resource, call.target.name, _uid_precondition(served, old, uid))
        return document

    return await modify(backend, call, served, options, sent)


async def _create_by_update(backend: Backend, call: Call, served: ServedKind, options: WriteOptions) -> Outcome:
    body = read(call.body, call.content_type, served.resource.kind, custom=served.custom)
    metadata = body.document.get("metadata")
    if metadata is None:
        metadata = body.document["metadata"] = {}
    if isinstance(metadata, dict):  # What is none does not decode.
        metadata.pop("resourceVersion", None)
        object_meta.check_identity(body.document["metadata"], call.target.name, call.target.namespace)
    return await create_document(backend, call, served, body, options)


def _uid_precondition(served: ServedKind, old: Json, uid: str) -> str:
    metadata = old["metadata"]
    place = "/".join(part for part in (metadata.get("namespace", ""), metadata["name"]) if part)
    group = f"{served.resource.group}/" if served.custom else ""
    return (
        f"StorageError: invalid object, Code: 4, Key: /registry/{group}{served.resource.plural}/{place}, ResourceVersion: 0, "
        f"AdditionalErrorMsg: Precondition failed: UID in precondition: {uid}, UID in object meta: {metadata['uid']}"
    )


async def modify(
    backend: Backend,
    call: Call,
    served: ServedKind,
    options: WriteOptions,
    change: Callable[[Json], Json],
    *,
    owns_fields: bool = True,
    shares: bool = False,
) -> Outcome:
    """Stores what `change` makes of the newest version, as often as needed until nobody was faster. Raises 404.

    `change` gets a copy that it may alter, and returns the whole new object, decoded and defaulted. A resourceVersion in it must
    be that of the version it was made from. `owns_fields` is False when managedFields are already right (apply). With `shares`,
    which is for status only, `change` alters nothing and what it returns shares with what it got all that it leaves as it is:
    pruning, validation and ownership pass over that.
    """
    target = call.target
    collection = backend.collection(served)
    for _ in range(_ATTEMPTS):
        entry = collection.head(target.namespace, target.name)
        if entry is None:
            raise not_found(served.resource, target.name)
        old = served.document(entry)
        document = change(old if shares else served.document(entry))
        pinned = revision_to_replace(document["metadata"])
        if pinned and pinned != entry.revision:
            raise conflict(served.resource, target.name)
        if not pinned and (served.custom or served.kind.updates_need_revision):
            missing = invalid_field("metadata.resourceVersion", 0, "must be specified for an update")
            raise invalid(served.resource.group, served.resource.plural, target.name, [missing])
        try:
            return await _replace(backend, call, served, options, entry, old, document, owns_fields)
        except StaleError:
            if call.verb == "update" and pinned:
                break
    raise conflict(served.resource, target.name)


async def _replace(
    backend: Backend,
    call: Call,
    served: ServedKind,
    options: WriteOptions,
    entry: Entry,
    old: Json,
    document: Json,
    owns_fields: bool,
) -> Outcome:
    kind, subresource = served.kind, call.target.subresource
    metadata = document["metadata"]
    object_meta.in_namespace(metadata, old["metadata"].get("namespace", ""))
    _keep_system_fields(metadata, old["metadata"])
    if subresource == "status":
        document = _status_only(served, document, old)
    elif kind.has_status:
        _keep(document, old, "status")
    _without_duplicate_owners(call, document["metadata"])
    if owns_fields:
        _own_fields(backend, served, old, document, options, subresource=subresource)
    attributes = attributes_of(call, served, "UPDATE", call.target.name, old, options)
    if _without_revision(managed.with_old_times(document, old)) == _without_revision(old):
        if not backend.webhooks.asks(attributes, document):
            signers.check(backend.authorizer, call, served, document, old)
            return Outcome(200, entry)
        document = managed.with_old_times(document, old)
    document = await admitted(backend, served, document, old, attributes, status=subresource == "status")
    if subresource == "status":
        document = _status_only(served, document, old)
        kind.prepare_status(document, old)
    else:
        kind.prepare(document, old)
        if served.resource.plural == crd_lifecycle.PLURAL:
            crd_lifecycle.prepare(document, old, backend.now())
        if not _same(document, old, ("metadata", "status") if kind.has_status else ("metadata",)):
            _count_generation(served, document, old)
    escalation.check(backend.authorizer, call, served, document, old)
    _refuse_invalid(served, document, old, status=subresource == "status")
    if subresource != "status":
        _warn(call, backend, served, document, old)
    signers.check(backend.authorizer, call, served, document, old)
    await reviewed(backend, served, document, old, attributes, status=subresource == "status")
    document["metadata"]["resourceVersion"] = old["metadata"]["resourceVersion"]
    if _without_revision(managed.with_old_times(document, old)) == _without_revision(old):
        return Outcome(200, entry)
    if options.dry_run:
        return Outcome(200, None, document)
    if _is_finished(document, old):
        await backend.store.remove(backend.collection(served), served.stored(old), previous=entry, durable=kind.durable)
        return Outcome(200, None, document)
    return Outcome(200, await backend.write(served, document, entry))


def _warn(call: Call, backend: Backend, served: ServedKind, document: Json, old: Json | None) -> None:
    for text in served.kind.warnings(document, old, backend.objects):
        call.warn(text)


def _is_finished(document: Json, old: Json) -> bool:
    """Whether this write takes away the last thing that a pending deletion waited for."""
    metadata = document["metadata"]
    return (
        "deletionTimestamp" in old["metadata"]
        and not metadata.get("finalizers")
        and not (document.get("spec") or {}).get("finalizers")
        and not metadata.get("deletionGracePeriodSeconds")
        and not old["metadata"].get("deletionGracePeriodSeconds")
    )


def _keep_system_fields(metadata: Json, old: Json) -> None:
    metadata.setdefault("uid", old["uid"])
    for name in ("creationTimestamp", "generation", "selfLink"):
        if name in old:
            metadata[name] = old[name]
        else:
            metadata.pop(name, None)
    if "deletionTimestamp" in old:
        metadata["deletionTimestamp"] = old["deletionTimestamp"]
    if "deletionGracePeriodSeconds" in old:
        metadata.setdefault("deletionGracePeriodSeconds", old["deletionGracePeriodSeconds"])
    else:
        metadata.pop("deletionGracePeriodSeconds", None)


def _keep(document: Json, old: Json, field: str) -> None:
    if field in old:
        document[field] = old[field]
    else:
        document.pop(field, None)


def _status_only(served: ServedKind, document: Json, old: Json) -> Json:
    """`old` with the status of `document`; of metadata, custom kinds take over managedFields only, built-in kinds everything
    but owners."""
    metadata = document["metadata"]
    if served.custom:
        metadata = {**old["metadata"], "managedFields": metadata.get("managedFields")}
        if metadata["managedFields"] is None:
            del metadata["managedFields"]
    else:
        metadata = dict(metadata)
        _keep(metadata, old["metadata"], "ownerReferences")
    result = {**old, "metadata": metadata}
    if "status" in document:
        result["status"] = document["status"]
    else:
        result.pop("status", None)
    return result


def _same(document: Json, old: Json, but: tuple[str, ...]) -> bool:
    names = (document.keys() | old.keys()).difference(but)
    return all(document.get(name) == old.get(name) for name in names)


def _count_generation(served: ServedKind, document: Json, old: Json) -> None:
    if served.kind.tracks_generation:
        document["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1


def _without_revision(document: Json) -> Json:
    metadata = {name: value for name, value in document["metadata"].items() if name != "resourceVersion"}
    return {**document, "metadata": metadata}


def _without_duplicate_owners(call: Call, metadata: Json) -> None:
    if repeated := object_meta.without_duplicate_owners(metadata):
        call.warn(
            ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, "
            "and may reject such requests as early as 1.24; please fix your requests; "
            f"duplicate UID(s) observed: {', '.join(dict.fromkeys(repeated))}"
        )


def _own_fields(
    backend: Backend, served: ServedKind, old: Json | None, document: Json, options: WriteOptions, *, subresource: str
) -> None:
    """Sets `metadata.managedFields`, in place. Times that are not set stand in built-in kinds as null, which nobody owns."""
    entries = managed.updated(
        old,
        document if served.custom else {name: value for name, value in document.items() if value is not None and value != ""},
        tree=served.tree,
        manager=options.manager,
        subresource=subresource,
        api_version=served.resource.api_version,
        now=backend.now(),
        reset=reset_fields(served.kind, subresource),
    )
    if entries:
        document["metadata"]["managedFields"] = entries
    else:
        document["metadata"].pop("managedFields", None)


def _refuse_invalid(served: ServedKind, document: Json, old: Json | None, *, status: bool = False) -> None:
    kind = served.kind
    metadata, namespaced = document["metadata"], served.resource.namespaced
    if old is None:
        errors = object_meta.creation_errors(metadata, namespaced=namespaced, name_faults=kind.name_faults)
    else:
        errors = object_meta.update_errors(metadata, old["metadata"], namespaced=namespaced)
    if not served.custom and served.resource.plural != crd_lifecycle.PLURAL:
        errors += object_meta.builtin_finalizer_errors(metadata)
    errors += kind.rule_errors(document, old, status=status)
    found = kind.schema().validate(document, old)
    errors += _about_status(found) if status and served.custom else found
    if errors:
        raise _invalid(served, document["metadata"].get("name", ""), errors)


def _about_status(errors: list[FieldError]) -> list[FieldError]:
    """A write of a custom object's status is held to the schema of the status only, by which its faults are named."""
    return [
        error._replace(body=_STATUS_IN_BODY.sub(": ", error.body)) if " in body " in error.body else error
        for error in errors
        if error.field.lstrip(".").partition(".")[0].partition("[")[0] in ("status", "", "<nil>")
    ]


def _invalid(served: ServedKind, name: str, errors: list[FieldError]) -> StatusError:
    return invalid(served.key[0], served.resource.kind, name, errors)
