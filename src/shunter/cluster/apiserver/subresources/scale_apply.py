"""Server-side apply of a Scale: who owns the number of replicas of the object that the Scale stands for.

Source: apimachinery `util/managedfields/scalehandler.go`, apiextensions-apiserver for custom kinds.
"""

from __future__ import annotations

from datetime import datetime
from functools import lru_cache

from shunter.api.meta import Json, as_json
from shunter.cluster.apiserver.apply import managed, server_side
from shunter.cluster.apiserver.apply.errors import misfit
from shunter.cluster.apiserver.apply.field_set import FieldSet, difference, fields_at, intersection
from shunter.cluster.apiserver.apply.fields import FieldTree, compile_fields
from shunter.cluster.apiserver.apply.managed import Entries, Entry
from shunter.cluster.apiserver.kinds import ScalePaths
from shunter.cluster.apiserver.packaged_schemas import definitions
from shunter.cluster.apiserver.registry import ServedKind
from shunter.cluster.apiserver.requests import WriteOptions
from shunter.cluster.apiserver.subresources.scales import SCALES, scale_of

_REPLICAS = fields_at(("spec", "replicas"))


@lru_cache(maxsize=1)
def _fields() -> FieldTree:
    """The fields of a Scale, compiled when the first is applied."""
    return compile_fields(definitions()["io.k8s.api.autoscaling.v1.Scale"], definitions())


def apply_scale(served: ServedKind, paths: ScalePaths, live: Json, applied: Json, options: WriteOptions, now: datetime) -> Json:
    """The Scale after the manager of the request applied `applied` to that of `live`, an object of the served kind. Its
    managedFields are those that the object has to have then. Raises ApplyError."""
    entries = managed.decoded_or_none(live["metadata"].get("managedFields"))
    if entries is None:
        raise misfit("failed to decode managed fields")
    replicas = fields_at(tuple(paths.spec_replicas.split(".")))
    shown = managed.with_managed_fields(scale_of(live, paths), managed.encoded(_entries_of_scale(entries, replicas)))
    result = server_side.apply(
        shown,
        applied,
        tree=_fields(),
        manager=options.manager,
        force=options.force,
        subresource="scale",
        api_version=SCALES.api_version,
        now=now,
    )
    if served.custom and result != shown:
        # The original does not get further with a custom kind.
        named = applied["metadata"]
        what = f"{named.get('namespace', '')}/{named.get('name', '')}; {SCALES.api_version}, Kind=Scale"
        why = f"request to convert CR to an invalid group/version: {SCALES.api_version}"
        raise misfit(f"failed to convert new object ({what}) to proper version: {why}")
    after = managed.decoded_or_none(result["metadata"].get("managedFields")) or {}
    kept = _entries_of_object(entries, after, replicas, served.resource.api_version)
    return as_json(managed.with_managed_fields(result, managed.encoded(kept)))


def _entries_of_scale(entries: Entries, replicas: FieldSet) -> Entries:
    """The entries of an object that own its replicas, as entries of its Scale."""
    result: Entries = {}
    for entry in entries.values():
        if intersection(entry.fields, replicas):
            manager = entry.manager
            owner = managed.identity(manager.name, manager.operation, SCALES.api_version, manager.subresource)
            result[owner] = Entry(owner, SCALES.api_version, entry.time, _REPLICAS)
    return result


def _entries_of_object(before: Entries, of_scale: Entries, replicas: FieldSet, api_version: str) -> Entries:
    """The entries of an object whose Scale has these: they alone own its replicas. Those that own nothing else, as they are of
    the Scale alone, lose their time on the way."""
    result: Entries = {}
    shared = {manager for manager, entry in before.items() if manager in of_scale and intersection(entry.fields, replicas)}
    for manager, entry in before.items():
        left = entry.fields if manager in shared else difference(entry.fields, replicas)
        if left:
            result[manager] = entry._replace(fields=left)
    for manager, entry in of_scale.items():
        if manager not in shared and intersection(entry.fields, _REPLICAS):
            result[manager] = Entry(manager, api_version, "", replicas)
    return result
