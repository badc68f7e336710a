"""The bridge from `kubectl apply` to `kubectl apply --server-side`: the last-applied annotation.

Only for the manager `kubectl`: fields that kubectl applied before, according to the annotation, are no conflict for it now, and
an existing annotation is updated with each apply. Source: apimachinery `managedfields` (lastappliedmanager, lastappliedupdater).
"""

from __future__ import annotations

import msgspec

from shunter.api.meta import LAST_APPLIED, Json, annotations_of
from shunter.cluster.apiserver.apply.compare import applied_fields, changes
from shunter.cluster.apiserver.apply.field_set import FieldSet, difference
from shunter.cluster.apiserver.apply.fields import FieldTree
from shunter.cluster.apiserver.apply.typed import misfits

MANAGER = "kubectl"


def fields_of_last_apply(live: Json, *, tree: FieldTree, api_version: str) -> FieldSet:
    """The fields that `kubectl apply` set and nobody changed since; empty without a readable annotation of this version."""
    try:
        last = msgspec.json.decode(_annotation(live), type=dict)
    except msgspec.DecodeError:
        return {}
    if last.get("apiVersion") != api_version or misfits(last, tree):
        return {}
    changed, removed = changes(last, live, tree)
    return difference(difference(applied_fields(last, tree), changed), removed)


def with_current_annotation(obj: Json, applied: Json) -> Json:
    """`obj` with the annotation, if it has one, saying that `applied` was applied."""
    if not _annotation(obj):
        return obj
    recorded = applied
    metadata = applied.get("metadata") or {}
    if metadata.get("annotations") is not None:
        annotations = {name: value for name, value in metadata["annotations"].items() if name != LAST_APPLIED}
        recorded = {**applied, "metadata": {**metadata, "annotations": annotations}}
    text = msgspec.json.encode(recorded, order="sorted").decode() + "\n"
    live = obj["metadata"]
    return {**obj, "metadata": {**live, "annotations": {**live["annotations"], LAST_APPLIED: text}}}


def _annotation(obj: Json) -> str:
    return annotations_of(obj).get(LAST_APPLIED) or ""
