"""Server-side apply: merges the configuration of one manager into an object.

The steps are structured-merge-diff's: merge the configuration, remove the fields that this manager applied last time and no
manager applies now, then refuse (or with force take over) changed fields that other managers own. Fields that the endpoint does
not write have no effect on ownership; the caller restores such fields as after any write.
"""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from shunter.api.meta import Json, rfc3339
from shunter.cluster.apiserver.apply import last_applied, managed
from shunter.cluster.apiserver.apply.compare import applied_fields, changes
from shunter.cluster.apiserver.apply.errors import ApplyConflicts, Conflict, malformed, misfit
from shunter.cluster.apiserver.apply.field_set import (
    FieldSet,
    contains,
    difference,
    difference_with_descendants,
    intersection,
    paths,
    union,
)
from shunter.cluster.apiserver.apply.fields import FieldTree
from shunter.cluster.apiserver.apply.managed import Entries, Entry, Manager
from shunter.cluster.apiserver.apply.merge import merged, with_named_parents, without
from shunter.cluster.apiserver.apply.typed import misfits, summary


def apply(
    live: Json | None,
    applied: Json,
    *,
    tree: FieldTree,
    manager: str,
    force: bool,
    subresource: str = "",
    api_version: str,
    now: datetime,
    reset: FieldSet = managed.NOTHING_RESET,
) -> Json:
    """The object after `manager` applied `applied`, with its managedFields; `live` itself when nothing changes.

    A `live` of None creates. `reset` are the fields that this endpoint does not write. The caller sets defaults; then
    `managed.with_old_times` tells whether the object has changed at all. Raises ApplyError.
    """
    _check(applied, tree=tree, api_version=api_version)
    step = _Step(
        live=managed.with_managed_fields(live or {}, []),
        entries=_entries(live, tree=tree, api_version=api_version, subresource=subresource, now=now, reset=reset),
        applied=applied,
        tree=tree,
        writer=managed.identity(manager, "Apply", api_version, subresource),
        api_version=api_version,
        now=now,
        reset=reset,
    )
    try:
        result = step.outcome(force=force)
    except ApplyConflicts as refusal:
        if manager != last_applied.MANAGER:
            raise
        known = last_applied.fields_of_last_apply(step.live, tree=tree, api_version=api_version)
        others = [conflict for conflict in refusal.conflicts if not contains(known, conflict.path)]
        if others:
            raise ApplyConflicts(others) from None
        result = step.outcome(force=True)
    if manager == last_applied.MANAGER:
        result = last_applied.with_current_annotation(result, applied)
    return managed.with_old_times(result, live) if live is not None else result


class _Step(NamedTuple):
    """One apply and its input; `outcome` may be called again with force."""

    live: Json
    entries: Entries
    applied: Json
    tree: FieldTree
    writer: Manager
    api_version: str
    now: datetime
    reset: FieldSet

    def outcome(self, *, force: bool) -> Json:
        """The object after this apply. Raises ApplyConflicts unless forced."""
        own = difference_with_descendants(applied_fields(self.applied, self.tree), self.reset)
        previous = self.entries.get(self.writer)
        entries = {**self.entries, self.writer: Entry(self.writer, self.api_version, previous.time if previous else "", own)}
        obj = self.pruned(merged(self.live, self.applied, self.tree), entries, previous)
        changed, removed = changes(self.live, obj, self.tree)
        changed = difference_with_descendants(changed, self.reset)
        removed = difference_with_descendants(removed, self.reset)
        if not force:
            self.refuse_conflicts(entries, changed)
        entries = managed.taken_over(entries, changed, removed, but=self.writer)
        fields = managed.owned(own)
        if fields:
            time = rfc3339(self.now) if obj != self.live else entries[self.writer].time
            entries[self.writer] = Entry(self.writer, self.api_version, time, fields)
        else:
            entries.pop(self.writer, None)
        return managed.with_managed_fields(obj, managed.encoded(entries))

    def pruned(self, obj: Json, entries: Entries, previous: Entry | None) -> Json:
        """The object without the fields that this manager applied last time, does not apply now, and no other manager owns."""
        if previous is None or not difference(previous.fields, entries[self.writer].fields):
            return obj
        tree = self.tree
        last = with_named_parents(previous.fields, tree)
        everything = with_named_parents(applied_fields(obj, tree), tree)
        wanted: FieldSet = {}
        for entry in entries.values():
            wanted = union(wanted, entry.fields)
        left = with_named_parents(applied_fields(without(obj, last, tree), tree), tree)
        kept = without(obj, difference(everything, union(left, with_named_parents(wanted, tree))), tree)
        left = with_named_parents(applied_fields(kept, tree), tree)
        return without(obj, intersection(difference(everything, left), last), tree)

    def refuse_conflicts(self, entries: Entries, changed: FieldSet) -> None:
        conflicts = [
            Conflict(manager, path)
            for manager in sorted(entries)
            if manager != self.writer
            for path in paths(intersection(entries[manager].fields, changed))
        ]
        if conflicts:
            raise ApplyConflicts(conflicts)


def _entries(
    live: Json | None, *, tree: FieldTree, api_version: str, subresource: str, now: datetime, reset: FieldSet
) -> Entries:
    """The stored entries; what an object without any holds, but for what the endpoint resets, belongs to `before-first-apply`."""
    if live is None:
        return {}
    entries = managed.decoded_or_none(live["metadata"].get("managedFields"))
    if entries is None:
        raise misfit("failed to decode managed fields")
    if not entries:
        held = changes({}, managed.with_managed_fields(live, []), tree).changed
        fields = managed.owned(difference_with_descendants(held, reset))
        writer = managed.identity("before-first-apply", "Update", api_version, subresource)
        return {writer: Entry(writer, api_version, rfc3339(now), fields)}
    return entries


def _check(applied: Json, *, tree: FieldTree, api_version: str) -> None:
    metadata = applied.get("metadata")
    if isinstance(metadata, dict) and metadata.get("managedFields") is not None:
        raise malformed("metadata.managedFields must be nil")
    errors = misfits(applied, tree)
    if errors:
        named = metadata if isinstance(metadata, dict) else {}
        namespace, name = named.get("namespace", ""), named.get("name", "")
        kind = applied.get("kind", "")
        group, _, version = api_version.rpartition("/")
        shown = f"{namespace}/{name}; {group}/{version}, Kind={kind}"
        raise misfit(f"failed to create typed patch object ({shown}): {summary(errors)}")
