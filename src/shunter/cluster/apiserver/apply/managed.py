"""`metadata.managedFields`: who set which field, kept up to date on every write.

Source: apimachinery `util/managedfields` (Kubernetes 1.36). Entries are the wire's JSON and are shared, never mutated.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal, NamedTuple

from shunter.api.meta import Json, rfc3339
from shunter.cluster.apiserver.apply.compare import changes
from shunter.cluster.apiserver.apply.field_set import FieldSet, difference, difference_with_descendants, fields_at, union
from shunter.cluster.apiserver.apply.fields import FieldTree, UnkeyedItemError

Operation = Literal["Apply", "Update"]

MAX_UPDATE_MANAGERS = 10
"""More entries of operation Update than this are merged, oldest first, into one of the manager `ancient-changes`."""
NOTHING_RESET: FieldSet = {}
_TIMELESS = "scale"
"""Kubernetes translates the entries of scale to the parent object and loses their time on the way."""
_NEVER_OWNED = fields_at(
    ("apiVersion",),
    ("kind",),
    ("metadata",),
    *(
        ("metadata", name)
        for name in (
            "name",
            "namespace",
            "creationTimestamp",
            "selfLink",
            "uid",
            "clusterName",
            "generation",
            "managedFields",
            "resourceVersion",
        )
    ),
)


class Manager(NamedTuple):
    """The key of an entry. An applier keeps its entry whatever apiVersion it applies with."""

    name: str
    operation: Operation
    api_version: str
    subresource: str


class Entry(NamedTuple):
    """One manager's fields; `time` is RFC 3339 or empty."""

    manager: Manager
    api_version: str
    time: str
    fields: FieldSet


Entries = dict[Manager, Entry]


def updated(
    old: Json | None,
    new: Json,
    *,
    tree: FieldTree,
    manager: str,
    subresource: str = "",
    api_version: str,
    now: datetime,
    reset: FieldSet = NOTHING_RESET,
) -> list[Json]:
    """The managedFields of `new`, the object that a create (`old` is None), update or patch is about to store.

    The writer takes over the fields it changed, from every manager; fields that are gone leave all sets; an entry's time changes
    only with its own write. `metadata.managedFields` of `new` counts as what the writer wants the entries to be before that; a
    list that is empty or holds one empty entry forgets them all. `reset` are the fields that this endpoint does not write.
    A list item without its keys makes ownership impossible and empties the list; validation is about to refuse such an object.
    """
    before = entries_to_update(old, new, subresource=subresource)
    if not before and old is not None:
        return []
    after = dict(before)
    try:
        changed, removed = changes(old or {}, new, tree)
    except UnkeyedItemError:
        return []
    if changed or removed:
        changed, removed = difference_with_descendants(changed, reset), difference_with_descendants(removed, reset)
        after = taken_over(after, changed, removed)
        own = owned(changed)
        if own:
            writer = identity(manager, "Update", api_version, subresource)
            previous = after.get(writer)
            fields = union(previous.fields, own) if previous else own
            after[writer] = Entry(writer, api_version, "" if subresource == _TIMELESS else rfc3339(now), fields)
        after = capped(after)
    return encoded(after)


def identity(name: str, operation: Operation, api_version: str, subresource: str) -> Manager:
    """The identity of a writer."""
    return Manager(name or "unknown", operation, "" if operation == "Apply" else api_version, subresource)


def owned(fields: FieldSet) -> FieldSet:
    """The fields without those of metadata that are never owned."""
    return difference(fields, _NEVER_OWNED)


def taken_over(entries: Entries, changed: FieldSet, removed: FieldSet, *, but: Manager | None = None) -> Entries:
    """The entries after a write by somebody else: without the changed and the removed fields, and without emptied entries."""
    result = {}
    for manager, entry in entries.items():
        if manager != but:
            fields = difference(difference(entry.fields, changed), removed)
            if fields is not entry.fields:
                entry = entry._replace(fields=fields)
        if entry.fields:
            result[manager] = entry
    return result


def entries_to_update(old: Json | None, new: Json, *, subresource: str) -> Entries:
    """The entries that an ordinary write starts from: the writer's own list where it sent a valid one, else the stored one."""
    stored = decoded_or_none(_managed_fields(old or {})) or {}
    sent = _managed_fields(new)
    if subresource or sent is None:
        return stored
    if sent == [] or sent == [{}]:
        return {}
    return decoded_or_none(sent) or stored


def decoded_or_none(entries: list[Json] | None) -> Entries | None:
    """The entries by manager; None when one of them is malformed."""
    result = {}
    for entry in entries or ():
        operation, api_version, subresource = entry.get("operation"), entry.get("apiVersion"), entry.get("subresource", "")
        if operation not in ("Apply", "Update") or not api_version or entry.get("fieldsType") != "FieldsV1":
            return None
        manager = Manager(entry.get("manager", ""), operation, "" if operation == "Apply" else api_version, subresource)
        result[manager] = Entry(manager, api_version, entry.get("time") or "", entry.get("fieldsV1") or {})
    return result


def encoded(entries: Entries) -> list[Json]:
    """The wire's list, in Kubernetes' order: by operation, time, manager, apiVersion, subresource."""
    return [_wire(entry) for entry in sorted(entries.values(), key=_order)]


def capped(entries: Entries) -> Entries:
    """At most MAX_UPDATE_MANAGERS entries of operation Update: the oldest of one apiVersion share an entry."""
    updates = [entry for entry in entries.values() if entry.manager.operation == "Update"]
    excess = len(updates) - MAX_UPDATE_MANAGERS
    if excess <= 0:
        return entries
    result = dict(entries)
    first: dict[str, Manager] = {}
    for entry in sorted(updates, key=lambda entry: (entry.time, *entry.manager)):
        if excess <= 0:
            break
        bucket = Manager("ancient-changes", "Update", entry.api_version, "")
        if entry.api_version not in first:
            first[entry.api_version] = entry.manager
            continue
        if bucket not in result:
            result[bucket] = result.pop(first[entry.api_version])
        gathered = union(entry.fields, result[bucket].fields)
        del result[entry.manager]
        result[bucket] = Entry(bucket, entry.api_version, entry.time, gathered)
        excess -= 1
    return result


def with_managed_fields(obj: Json, entries: list[Json]) -> Json:
    """A copy of `obj` with these managedFields; without the field when there are none."""
    metadata = {name: value for name, value in obj.get("metadata", {}).items() if name != "managedFields"}
    if entries:
        metadata["managedFields"] = entries
    return {**obj, "metadata": metadata}


def with_old_times(new: Json, old: Json) -> Json:
    """`new`, or `old` itself when they differ in nothing but times in managedFields: such a write is a no-op."""
    before, after = _managed_fields(old) or [], _managed_fields(new) or []
    if len(before) != len(after) or not after:
        return new
    if [_timeless(entry) for entry in before] != [_timeless(entry) for entry in after]:
        return new
    return old if with_managed_fields(new, before) == old else new


def _timeless(entry: Json) -> Json:
    return {name: value for name, value in entry.items() if name != "time"}


def _managed_fields(obj: Json) -> list[Json] | None:
    return (obj.get("metadata") or {}).get("managedFields")


def _order(entry: Entry) -> tuple[Any, ...]:
    manager = entry.manager
    return (manager.operation, entry.time, manager.name, entry.api_version, manager.subresource)


def _wire(entry: Entry) -> Json:
    result = {
        "manager": entry.manager.name,
        "operation": entry.manager.operation,
        "apiVersion": entry.api_version,
        "time": entry.time,
        "fieldsType": "FieldsV1",
        "fieldsV1": entry.fields,
        "subresource": entry.manager.subresource,
    }
    return {name: value for name, value in result.items() if value != "" or name == "apiVersion"}
